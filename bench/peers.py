"""The peers that wald is compared with."""

from __future__ import annotations

import copy
import importlib
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from wald import EarlyExitClassifier

from .timing import Task

THREADS = (1, 2)
#: Number of rows in a batch of the plain product, whose kernel matrix then fits in the cache.
PLAIN_ROWS = 500


def plain_product(svc: SVC) -> Callable[[NDArray[Any]], NDArray[np.bool_]]:
    """Return `predict` of a binary RBF machine in NumPy: a float32 matrix product, exp, and a second product."""
    S = svc.support_vectors_.astype(np.float32)
    coef, intercept, gamma = (
        svc.dual_coef_[0].astype(np.float32),
        np.float32(svc.intercept_[0]),
        np.float32(svc._gamma),
    )
    norms = gamma * np.einsum("ij,ij->i", S, S)
    scaled = np.ascontiguousarray(2 * gamma * S.T)

    def predict(X: NDArray[Any]) -> NDArray[np.bool_]:
        labels = np.empty(len(X), dtype=bool)
        for start in range(0, len(X), PLAIN_ROWS):
            rows = X[start : start + PLAIN_ROWS]
            K = rows @ scaled
            K -= norms
            K -= (gamma * np.einsum("ij,ij->i", rows, rows))[:, None]
            np.exp(K, out=K)
            labels[start : start + PLAIN_ROWS] = K @ coef + intercept >= 0
        return labels

    return predict


def optional(module: str) -> Any:
    """Import a peer that may be missing; None, with a note, if it is."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        print(f"{module} is left out: {error}", file=sys.stderr)
        return None


def onedal(booster: Any, X: NDArray[Any], threads: tuple[int, ...]) -> dict[str, Task]:
    """Make tasks of oneDAL, which evaluates boosters of other libraries; none where it is not installed."""
    daal4py, convert = optional("daal4py"), optional("daal4py.mb")
    if daal4py is None or convert is None:
        return {}
    converted = convert.convert_model(booster)

    def predict(n: int) -> object:
        daal4py.daalinit(n)  # a microsecond; oneDAL's threads are not those of OpenMP
        return converted.predict(X)

    return {f"oneDAL, {n} thread(s)": Task(lambda n=n: predict(n), n) for n in threads}  # type: ignore[misc]


def with_threads(model: Any, threads: int) -> Any:
    """Return a shallow copy of the fitted model with another ``n_jobs``."""
    other = copy.copy(model)
    other.n_jobs = threads
    return other


def ours(fast: EarlyExitClassifier, X: Any, threads: int) -> Task:
    """Make a task of wald's ``predict`` with a number of threads."""
    fast = with_threads(fast, threads)
    return Task(lambda: fast.predict(X), threads)


def intelex(model: Any, X: Any, threads: int) -> Task:
    """Make a task of scikit-learn-intelex's ``predict`` with a number of threads."""
    model = with_threads(model, threads)
    return Task(lambda: model.predict(X), threads)
