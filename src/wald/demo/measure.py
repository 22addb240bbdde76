"""The figures: how fast, how many units, how often the same label; beside scikit-learn's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..commands.alternating import median_seconds
from ..early_exit import EarlyExitClassifier
from .material import Floats, Task

#: Every time is the median of so many runs.
REPEATS = 9
#: Rows of a run, and rows that are answered one by one.
MANY, SINGLE = 1000, 50


@dataclass(frozen=True)
class Pair:
    """The same figure of scikit-learn's model and of the wrapped one."""

    sklearn: float
    wald: float


@dataclass(frozen=True, eq=False)
class Exhibit:
    """A fitted model, the same with early exit, and what was measured.

    Attributes
    ----------
    task : Task
    model : estimator
    fast : EarlyExitClassifier
    full : ndarray
        The labels of `model` on the rows that are counted.
    rows_per_second, seconds_of_one : Pair
    n_timed : int
        Rows of one timed run.
    units : Pair
        Units per row.
    n_rows, n_different : int
        Rows that were counted, and those whose two labels differ.
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
    """Take the figures of a model and its wrapped self on the rows ``X``.

    Parameters
    ----------
    task : Task
    model : estimator
        Fitted.
    fast : EarlyExitClassifier
        Wraps it.
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
        units=Pair(_all_units(task, model, X), float(np.mean(cost))),
        n_rows=len(X),
        n_different=int(np.count_nonzero(labels != full)),
    )


def _all_units(task: Task, model: Any, X: Floats) -> float:
    return float(len(model.support_)) if task.unit == "support vectors" else float(X.shape[1])
