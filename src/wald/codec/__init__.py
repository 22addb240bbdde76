"""Values and arrays as files hold them, read without trust: each is taken with the type that it must have.

Families of models encode and decode their own terms with it; `wald.persistence` puts the whole into a file.
"""
