"""Measures speed, units per row and agreement of labels, of scikit-learn's model and of wald."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...early_exit import EarlyExitClassifier
from ...models import decompose
from ...utils.alternating import Timing, in_turns
from .material import Floats, Task

#: Number of runs of which a time is the median.
REPEATS = 9
#: Rows that are predicted in one call, and rows that are predicted one by one.
MANY, SINGLE = 1000, 50


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
    many, one : Timing
    n_terms : int
        What a row costs without wald, in units.
    mean_cost : float
        What a row costs with wald.
    n_different : int
        Number of rows whose two labels differ.
    """

    task: Task
    model: Any
    fast: EarlyExitClassifier
    full: NDArray[Any]
    many: Timing
    one: Timing
    n_terms: int
    mean_cost: float
    n_different: int

    @property
    def n_rows(self) -> int:
        """Number of rows for counts."""
        return len(self.full)


def measure(task: Task, model: Any, fast: EarlyExitClassifier, X: Floats) -> Exhibit:
    """Measure a fitted model and its version with early exit on the rows ``X``."""
    full = model.predict(X)
    labels, cost = fast.predict(X, return_cost=True)
    many, one = [X[:MANY]], list(X[:SINGLE])
    return Exhibit(
        task=task,
        model=model,
        fast=fast,
        full=full,
        many=in_turns("many", len(many[0]), model.predict, many, fast.predict, many, repeats=REPEATS),
        one=in_turns("one", 1, model.predict, [x[None] for x in one], fast.predict_one, one, repeats=REPEATS),
        n_terms=decompose(model).terms.n_terms,
        mean_cost=float(np.mean(cost)),
        n_different=int(np.count_nonzero(labels != full)),
    )
