"""Facts about a fitted estimator as plain values, and promises that rows refute.

Reports and commands show them. Modules load NumPy when they are called, so that commands start fast.
"""
