"""Measures speed, units per row and agreement of labels, of scikit-learn's model and of wald."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...early_exit import EarlyExitClassifier
from ...models import decompose
from ...utils.alternating import median_seconds
from .material import Floats, Task

#: Number of runs of which a time is the median.
REPEATS = 9
#: Rows that are predicted in one call, and rows that are predicted one by one.
MANY, SINGLE = 1000, 50


@dataclass(frozen=True)
class Pair:
    """A measurement of scikit-learn's model and of wald."""

    sklearn: float
    wald: float


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A fitted model, its version with early exit, and the measurements of both.

    Attributes
    ----------
    task : Task
    model : estimator
    fast : EarlyExitClassifier
    full : ndarray
        The labels of `model` on the rows for counts.
    rows_per_second, seconds_of_one : Pair
    n_timed : int
        Number of rows of a timed run.
    units : Pair
        Units per row.
    n_rows, n_different : int
        Number of rows for counts, and of those whose two labels differ.
    """

    task: Task
    model: Any
    fast: EarlyExitClassifier
    full: NDArray[Any]
    rows_per_second: Pair
    seconds_of_one: Pair
    n_timed: int
    units: Pair
    n_rows: int
    n_different: int


def measure(task: Task, model: Any, fast: EarlyExitClassifier, X: Floats) -> Exhibit:
    """Measure a model and its version with early exit on the rows ``X``.

    Parameters
    ----------
    task : Task
    model : estimator
        A fitted model.
    fast : EarlyExitClassifier
        The wrapped model.
    X : ndarray of shape (n_rows, n_features)

    Returns
    -------
    Exhibit
    """
    full = model.predict(X)
    labels, cost = fast.predict(X, return_cost=True)
    many, single = X[:MANY], list(X[:SINGLE])
    slow_many, fast_many = median_seconds(lambda: model.predict(many), lambda: fast.predict(many), repeats=REPEATS)
    slow_one, fast_one = median_seconds(
        lambda: [model.predict(x[None]) for x in single],
        lambda: [fast.predict_one(x) for x in single],
        repeats=REPEATS,
    )
    return Exhibit(
        task=task,
        model=model,
        fast=fast,
        full=full,
        rows_per_second=Pair(len(many) / slow_many, len(many) / fast_many),
        seconds_of_one=Pair(slow_one / len(single), fast_one / len(single)),
        n_timed=len(many),
        units=Pair(float(decompose(model).terms.n_terms), float(np.mean(cost))),
        n_rows=len(X),
        n_different=int(np.count_nonzero(labels != full)),
    )
