"""Run by test_memory.py: load files, predict one row with each, and print the growth of memory."""

from __future__ import annotations

import json
import os
import sys
import warnings

import numpy as np
from scipy import sparse
from sklearn.svm import SVC

import wald
import wald.persistence.kinds
from wald.datasets import make_chains, make_trees
from wald.structured import ChainClassifier, DependencyParser

TREES = make_trees(2, random_state=0)
CHAINS, LABELS = make_chains(2, n_features=6, random_state=0)


def kib(what: str) -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(what))


def used(path: str) -> str:
    """Load and predict; return the error's text, or an empty one."""
    try:
        model = wald.load(path)
    except wald.persistence.FileFormatError as error:
        return str(error)
    if isinstance(model, DependencyParser):
        model.predict(TREES[:1])
    elif isinstance(model, ChainClassifier):
        model.predict([np.zeros((1, size), dtype=np.float32) for size in model._sizes][:1])
    else:
        d = model.n_features_in_
        row = sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, d)) if d > 100_000 else np.zeros((1, d))
        model.predict(row)
        if hasattr(model, "problems_") and not sparse.issparse(row):
            model.predict(row, attention="conditional")
    return ""


def measured(path: str) -> tuple[str, int]:
    """Measure in a fresh process, in which only modules are loaded."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        before = kib("VmRSS")
        found = used(path)
        with os.fdopen(write, "w") as out:
            json.dump([found, (kib("VmHWM") - before) << 10], out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return tuple(json.loads(text)) if text else ("died", -1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    SVC().fit([[0.0], [1.0]], [0, 1]).predict([[0.0]])
    print(json.dumps([measured(path) for path in sys.argv[1:]]))
