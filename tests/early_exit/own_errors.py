"""A linear model and a kernel machine on rows of which some are far easier than others, planned for the values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from wald import EarlyExitRegressor, Planner

RNG = np.random.default_rng(0)
SIZE = np.where(RNG.random(5500) < 0.7, 0.2, 1.5)
#: The columns are positive, so that their sum says how hard a row is.
X = np.column_stack([SIZE, SIZE[:, None] * RNG.exponential(size=(len(SIZE), 11))])
Y = X[:, 1:] @ np.resize([1.0, -1.0], 11)
FIT, HELD = slice(500, 4000), slice(4000, None)
TOLERANCE = 0.5
KINDS = ("linear", "kernel")


@cache
def model(kind: str) -> Any:
    made = Ridge() if kind == "linear" else KernelRidge(kernel="rbf", gamma=0.05, alpha=0.1)
    return made.fit(X[:100], Y[:100])


def planned(kind: str, **changes: Any) -> EarlyExitRegressor:
    given = {"tolerance": TOLERANCE, "risk": 0.05, "planner": Planner(cost="units"), "random_state": 0}
    return EarlyExitRegressor(model(kind), **(given | changes)).fit(X[FIT])


@cache
def near(kind: str) -> EarlyExitRegressor:
    """Planned once; a fitted estimator never changes."""
    return planned(kind)
