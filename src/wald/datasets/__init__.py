"""Data for examples, tests and benchmarks: real data sets, and made-up walks and sequences.

A `fetch_` function reads its files from the folder in the environment variable ``WALD_DATA`` or from the user's cache,
or else downloads them from the publisher, and checks their content.
"""

from .chains import make_chains
from .flights import fetch_flights
from .gisette import make_gisette_like
from .mnist import fetch_mnist
from .newsgroups import fetch_20newsgroups_binary
from .ocr import fetch_ocr
from .treebank import fetch_treebank, make_trees
from .walks import make_walks

__all__ = [
    "fetch_20newsgroups_binary",
    "fetch_flights",
    "fetch_mnist",
    "fetch_ocr",
    "fetch_treebank",
    "make_chains",
    "make_gisette_like",
    "make_trees",
    "make_walks",
]
