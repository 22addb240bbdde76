"""Data for examples, tests and benchmarks: real data sets, and made-up walks and sequences.

Every `fetch_` function looks in the folder that the environment variable ``WALD_DATA`` names, then in the user's cache,
then downloads from the publishers' address, and checks what it reads.
"""

from .chains import make_chains
from .gisette import make_gisette_like
from .mnist import fetch_mnist
from .newsgroups import fetch_20newsgroups_binary
from .ocr import fetch_ocr
from .treebank import fetch_treebank, make_trees
from .walks import make_walks

__all__ = [
    "fetch_20newsgroups_binary",
    "fetch_mnist",
    "fetch_ocr",
    "fetch_treebank",
    "make_chains",
    "make_gisette_like",
    "make_trees",
    "make_walks",
]
