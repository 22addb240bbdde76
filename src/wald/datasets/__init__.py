"""Real data for examples, tests and benchmarks.

Every loader looks in the folder that the environment variable ``WALD_DATA`` names, then in the user's cache,
then downloads from the publishers' address, and checks what it reads.
"""

from wald.datasets.mnist import fetch_mnist
from wald.datasets.treebank import fetch_treebank, make_trees

__all__ = ["fetch_mnist", "fetch_treebank", "make_trees"]
