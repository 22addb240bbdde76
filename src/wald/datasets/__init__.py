"""Real data for examples, tests and benchmarks.

Every loader looks in the folder that the environment variable ``WALD_DATA`` names, then in the user's cache,
then downloads from the publishers' address, and checks what it reads.
"""

from wald.datasets.chains import make_chains
from wald.datasets.mnist import fetch_mnist
from wald.datasets.ocr import fetch_ocr

__all__ = ["fetch_mnist", "fetch_ocr", "make_chains"]
