"""Data for examples, tests and benchmarks: real data sets, and made-up walks and sequences.

Every `fetch_` function looks in the folder that the environment variable ``WALD_DATA`` names, then in the user's cache,
then downloads from the publishers' address, and checks what it reads.
"""

from wald.datasets.chains import make_chains
from wald.datasets.gisette import make_gisette_like
from wald.datasets.mnist import fetch_mnist
from wald.datasets.newsgroups import fetch_20newsgroups_binary
from wald.datasets.ocr import fetch_ocr
from wald.datasets.treebank import fetch_treebank, make_trees
from wald.datasets.walks import make_walks

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
