"""Boosted trees on a narrow table of mixed types: LightGBM on flights, 26 columns with missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

from wald.datasets import fetch_flights

from .models import kept
from .report import Figure
from .settings import Run
from .tree_plans import Rows, figures_of
from .trees_wide import lightgbm_peers

TITLE = "500 boosted trees, flights that arrive late, risk 0, 0.1 and 1 %"
TRAIN, FIT, TEST, TREES = 100_000, 100_000, 50_000, 500
RISKS = (0.0, 0.001, 0.01)


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    X, y = fetch_flights(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, fit, test = np.split(order[: TRAIN + FIT + TEST], [TRAIN, TRAIN + FIT])

    def make() -> Any:
        from lightgbm import LGBMClassifier

        return LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=1, verbose=-1).fit(X[train], y[train])

    model = kept("trees-flights", make, "lightgbm")
    rows: Rows = X[test[: how.rows(TEST, 5_000)]]
    return figures_of("LightGBM", model, lightgbm_peers(model, rows, X[fit[:12_000]], 0.001), rows, X[fit], RISKS, how)
