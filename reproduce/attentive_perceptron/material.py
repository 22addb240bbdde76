"""The binary problems on which learners are trained: the paper's digits, and two other data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wald.datasets import fetch_mnist

from .._common import Record
from .._gisette import make_gisette_like
from .._newsgroups import fetch_20newsgroups_binary

#: Share of the training rows on which delta is chosen; the chosen learner is then trained on all of them.
HELD_OUT = 1 / 6
#: Rows of a quick run, to train and to test.
_QUICK = 6000, 2000
#: Draws the rows of a quick run.
_SEED = 20100


@dataclass(frozen=True, eq=False)
class Task:
    """A question with two answers, with its training and test rows.

    Attributes
    ----------
    data, name : str
        The data set, for whose tasks delta is chosen in common, and the question.
    X, X_test : float32 ndarray or CSR of shape (N, n_features)
    y, y_test : bool ndarray of shape (N,)
    epochs : int
        Passes over the training rows.
    """

    data: str
    name: str
    X: Any
    y: NDArray[np.bool_]
    X_test: Any
    y_test: NDArray[np.bool_]
    epochs: int

    @property
    def sparse(self) -> bool:
        """True if rows are CSR; their features are then counted in non-zeros."""
        return bool(sparse.issparse(self.X))

    @property
    def features(self) -> float:
        """Features of a training row; the mean number of non-zeros for CSR rows."""
        return float(self.X.nnz / self.X.shape[0] if self.sparse else self.X.shape[1])

    def split(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Training rows on which contenders learn, and on which delta is chosen."""
        order = np.random.default_rng([seed, 11]).permutation(len(self.y))
        n = round(HELD_OUT * len(order))
        return np.sort(order[n:]), np.sort(order[:n])


def describe(task: Task) -> Record:
    """The sizes of a task, as a line of a table."""
    return {
        "data": task.data,
        "task": task.name,
        "train_rows": len(task.y),
        "test_rows": len(task.y_test),
        "epochs": task.epochs,
        "columns": int(task.X.shape[1]),
        "features": task.features,
        "positives": float(task.y.mean()),
    }


def _some(rows_and_labels: Any, n: int, quick: bool) -> tuple[Any, NDArray[Any]]:
    X, y = rows_and_labels
    if not quick or n >= len(y):
        return X, y
    rows = np.sort(np.random.default_rng(_SEED).permutation(len(y))[:n])
    return X[rows], y[rows]


def _mnist(quick: bool) -> tuple[Any, NDArray[Any], Any, NDArray[Any]]:
    X, y = _some(fetch_mnist(return_X_y=True), _QUICK[0], quick)
    X_test, y_test = _some(fetch_mnist(subset="test", return_X_y=True), _QUICK[1], quick)
    return X, y, X_test, y_test


def _one_against_rest(quick: bool) -> Iterator[Task]:
    X, y, X_test, y_test = _mnist(quick)
    for digit in range(10):
        yield Task(
            "MNIST, each digit",
            f"{digit} against the rest",
            X,
            y == digit,
            X_test,
            y_test == digit,
            2 if quick else 5,
        )


def _pair(first: int, second: int) -> Callable[[bool], Iterator[Task]]:
    def load(quick: bool) -> Iterator[Task]:
        X, y, X_test, y_test = _mnist(quick)
        train, test = np.isin(y, (first, second)), np.isin(y_test, (first, second))
        name = f"{first} against {second}"
        yield Task(
            f"MNIST, {name}",
            name,
            X[train],
            y[train] == second,
            X_test[test],
            y_test[test] == second,
            2 if quick else 5,
        )

    return load


def _gisette(quick: bool) -> Iterator[Task]:
    X, y = make_gisette_like(subset="all", return_X_y=True)
    X /= 999
    train, test = _some((X[:6000], y[:6000]), _QUICK[0] // 3, quick), _some((X[7000:], y[7000:]), _QUICK[1], quick)
    yield Task("Gisette-like", "9 against 4", train[0], train[1] > 0, test[0], test[1] > 0, 2 if quick else 5)


def _newsgroups(quick: bool) -> Iterator[Task]:
    X, y = _some(fetch_20newsgroups_binary(dtype=np.float32, return_X_y=True), _QUICK[0], quick)
    X_test, y_test = _some(
        fetch_20newsgroups_binary(subset="test", dtype=np.float32, return_X_y=True), _QUICK[1], quick
    )
    yield Task("20 newsgroups", "rec.* and sci.* or not", X, y > 0, X_test, y_test > 0, 2 if quick else 5)


#: Every data set, and how its tasks are loaded. The page shows the settings chosen on the first.
DATA: dict[str, Callable[[bool], Iterator[Task]]] = {
    "MNIST, each digit": _one_against_rest,
    "MNIST, 2 against 3": _pair(2, 3),
    "MNIST, 4 against 9": _pair(4, 9),
    "Gisette-like": _gisette,
    "20 newsgroups": _newsgroups,
}

#: Descriptions of the data sets.
DESCRIPTIONS = {
    "MNIST, each digit": "ten questions, each digit against the other nine; figures are means over the ten",
    "MNIST, 2 against 3": "the rows of these two digits alone",
    "MNIST, 4 against 9": "the rows of these two digits alone",
    "Gisette-like": "our reconstruction of Gisette from MNIST 4 and 9, not its published rows",
    "20 newsgroups": "TF-IDF, rec.* and sci.* against the rest, CSR; features are a row's non-zeros, read as stored",
}
