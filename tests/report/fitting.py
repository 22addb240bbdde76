"""A classifier with rows to report on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from kinds.parameters import nested
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier

#: Labels that would be elements of a page if they were not escaped.
HOSTILE = np.array(["<script>alert(1)</script>", "a & \"b\" </title><img src=x onerror='alert(2)'>"])


class Case(NamedTuple):
    fast: Any
    X: Any


def fitted(model: Any, X: Any, y: Any, **options: Any) -> Case:
    """Train on 600 rows, plan and certify on the next 2000, and keep the others."""
    model.fit(X[:600], y[:600])
    options = {"risk": 0.05, "cost": "units", "random_state": 0, **options}
    return Case(EarlyExitClassifier(FrozenEstimator(model), **nested(**options)).fit(X[600:2600]), X[2600:])
