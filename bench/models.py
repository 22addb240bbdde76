"""Rows and trained models of the settings.

Training takes minutes, so trained models are kept between runs: in ``$WALD_BENCH_CACHE``, by default
``~/.cache/wald-bench``, one file for each model and version of its library.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.datasets import fetch_mnist

from .settings import OTHER_SPLIT

CACHE = Path(os.environ.get("WALD_BENCH_CACHE", Path.home() / ".cache" / "wald-bench"))
C, GAMMA = 5, 0.02
DIGIT = 8
RISK = 0.001
BINARY_TRAIN, MULTICLASS_TRAIN, LINEAR_TRAIN = 20_000, 15_000, 20_000
#: The digits of the linear models: one against another, or against the rest (None).
PAIRS: tuple[tuple[int, int | None], ...] = ((0, None), (8, None), (2, 3), (4, 9))


@dataclass(frozen=True, eq=False)
class Digits:
    """MNIST in the published order."""

    X: NDArray[Any]
    y: NDArray[np.int64]
    X_test: NDArray[Any]
    y_test: NDArray[np.int64]


@cache
def digits(dtype: str = "float32") -> Digits:
    """Load MNIST as pixels / 255 in floating point, or as bytes.

    On the other split the training digits are taken in reversed order; the last 10 000 of them are the test rows, and
    the published test digits are not used.
    """
    X, y = fetch_mnist(subset="train", dtype=dtype, return_X_y=True)
    if OTHER_SPLIT in os.environ:
        X, y = np.ascontiguousarray(X[::-1]), y[::-1]
        return Digits(X[:-10_000], y[:-10_000], X[-10_000:], y[-10_000:])
    X_test, y_test = fetch_mnist(subset="test", dtype=dtype, return_X_y=True)
    return Digits(X, y, X_test, y_test)


def kept(name: str, make: Callable[[], Any], library: str = "scikit-learn") -> Any:
    """Read a trained model from the cache, or train it and store it there."""
    split = "-other-split" if OTHER_SPLIT in os.environ else ""
    path = CACHE / f"{name}{split}-{library}-{version(library)}.joblib"
    if not path.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}")
        joblib.dump(make(), unfinished)
        unfinished.replace(path)
    return joblib.load(path)


def binary_svc(dtype: Literal["float32", "uint8"] = "float32") -> SVC:
    """Train a machine for digit 8 against the rest; for bytes, gamma is scaled accordingly."""
    gamma = GAMMA if dtype == "float32" else GAMMA / 255**2

    def train() -> SVC:
        data = digits(dtype)
        rows = slice(BINARY_TRAIN)
        return SVC(C=C, gamma=gamma, cache_size=2000).fit(data.X[rows], data.y[rows] == DIGIT)

    return kept(f"binary-svc-{dtype}", train)


def multiclass_svc() -> SVC:
    """Train a machine for ten digits, one against one."""
    data, rows = digits(), slice(MULTICLASS_TRAIN)
    return kept("multiclass-svc", lambda: SVC(C=C, gamma=GAMMA, cache_size=2000).fit(data.X[rows], data.y[rows]))


def intelex_svc(which: Literal["binary", "multiclass"]) -> Any:
    """Train scikit-learn-intelex's SVC on the same rows with the same parameters."""
    from sklearnex import svm

    data = digits()
    rows = slice(BINARY_TRAIN if which == "binary" else MULTICLASS_TRAIN)
    y = data.y[rows] == DIGIT if which == "binary" else data.y[rows]
    return kept(
        f"{which}-svc",
        lambda: svm.SVC(C=C, gamma=GAMMA).fit(data.X[rows], y),
        library="scikit-learn-intelex",
    )


@dataclass(frozen=True, eq=False)
class Linear:
    """A logistic regression, or one behind a scaler, rows for `EarlyExitClassifier.fit`, and test rows."""

    name: str
    model: Any
    X: NDArray[np.floating[Any]]
    X_test: NDArray[np.floating[Any]]


def linear(digit: int | None, other: int | None) -> Linear:
    """Train a model for a digit against another or, if None, against the rest; for ten classes with (None, None)."""
    data = digits()
    rows, test = np.arange(len(data.X)), np.arange(len(data.X_test))
    if other is not None:
        rows = np.flatnonzero(np.isin(data.y, (digit, other)))
        test = np.flatnonzero(np.isin(data.y_test, (digit, other)))
    trained, left = rows[rows < LINEAR_TRAIN], rows[rows >= LINEAR_TRAIN]
    labels = data.y[trained] if digit is None else data.y[trained] == digit
    name = "ten digits" if digit is None else f"{digit} against {'the rest' if other is None else other}"
    model = kept(
        f"logistic-{name.replace(' ', '-')}",
        lambda: LogisticRegression(max_iter=200).fit(data.X[trained], labels),
    )
    return Linear(name, model, data.X[left], data.X_test[test])


def narrow(n_columns: int, scaled: bool = False) -> Linear:
    """Train a model of two classes on made-up rows of few columns, behind a scaler if asked."""
    X, y = make_classification(40_000, n_columns, n_informative=n_columns // 2, random_state=0)
    model = make_pipeline(*[StandardScaler()] * scaled, LogisticRegression(max_iter=200)).fit(X[:5000], y[:5000])
    name = f"{n_columns} made-up columns" + ", scaled" * scaled
    return Linear(name, model if scaled else model[0], X[5000:30_000], X[30_000:])


def wrap(model: Any, X: Any, *, n_jobs: int = 2, cost: str = "time", risk: float = RISK) -> EarlyExitClassifier:
    """Wrap a model and fit with the parameters of all settings."""
    fast = EarlyExitClassifier(
        FrozenEstimator(model), risk=risk, confidence=0.95, planner=Planner(cost=cost), n_jobs=n_jobs, random_state=0
    )
    return fast.fit(X)


def disagreement(fast: EarlyExitClassifier, model: Any, X: Any) -> tuple[float, float]:
    """Return the percentage of rows whose label differs from the model's, and the mean cost of a row."""
    labels, cost = fast.predict(X, return_cost=True)
    return 100 * float(np.mean(labels != model.predict(X))), float(cost.mean())


def vectors_of(fast: EarlyExitClassifier, svc: SVC) -> str:
    """Describe the vectors that a row can be compared with."""
    directions = fast.plan_.full_cost - len(svc.support_)
    return f"of {len(svc.support_)}" + (
        f"; {directions:.0f} landmarks, which come first, count alike" if directions else ""
    )
