"""Data for examples: published data sets, and made-up sequences and trees.

A `fetch_` function reads its files from the folder in the environment variable ``WALD_DATA`` or from the user's cache,
or else downloads them from the publisher, and checks their content.
"""

from .chains import make_chains
from .flights import fetch_flights
from .mnist import fetch_mnist
from .newsgroup_ranking import fetch_newsgroup_ranking
from .ocr import fetch_ocr
from .treebank import fetch_treebank, make_trees

__all__ = [
    "fetch_flights",
    "fetch_mnist",
    "fetch_newsgroup_ranking",
    "fetch_ocr",
    "fetch_treebank",
    "make_chains",
    "make_trees",
]
