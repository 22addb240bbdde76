"""The commands of ``wald``, one file each, and what they share.

``rows`` reads data files, ``models`` model files; ``options`` are the words that several commands know, ``answers`` is
how they print, warn and fail, ``facts`` what there is to say about a certificate and a plan. They need the extra
``cli``.
"""
