"""Trees for ten digits: LightGBM and a random forest; and AdaBoost's stumps for one digit against the others."""

from __future__ import annotations

import functools
from typing import Any

from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from .models import DIGIT, digits, kept
from .report import Figure
from .settings import Run
from .timing import Task
from .tree_plans import figures_of
from .trees_wide import lightgbm_row

TITLE = "ten digits: 1 000 boosted trees and a forest of 500; 500 stumps of AdaBoost, digit 8 against the rest"
TRAIN, FOREST_TRAIN, TREES = 24_000, 12_000, 500
#: AdaBoost is timed on these rows: scikit-learn takes long.
FEW = 2_000


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data = digits()
    X, few, X_fit = data.X_test[: how.rows(10_000, 2_000)], data.X_test[:FEW], data.X[TRAIN:]
    boosted, forest, stumps = _boosted(), _forest(), _stumps()
    own = {"Booster.predict": Task(lambda: boosted.booster_.predict(X, num_threads=1), 1)}
    boosted_row = functools.partial(lightgbm_row, boosted)
    return [
        *figures_of("LightGBM, ten digits", boosted, own, X, X_fit, (0.0, 0.002), how, boosted_row),
        *figures_of("forest, ten digits", forest, _predict(forest, X), X, X_fit, (0.0, 0.001), how, forest.predict),
        *figures_of("AdaBoost", stumps, _predict(stumps, few), few, X_fit, (0.0, 0.001), how, stumps.predict),
    ]


def _predict(model: Any, X: Any) -> dict[str, Task]:
    return {"its own predict": Task(lambda: model.predict(X), 1)}


def _boosted() -> Any:
    from lightgbm import LGBMClassifier

    data, rows = digits(), slice(TRAIN)
    model = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbose=-1)
    return kept("trees-ten-digits", lambda: model.fit(data.X[rows], data.y[rows]), "lightgbm")


def _forest() -> Any:
    data, rows = digits(), slice(FOREST_TRAIN)
    model = RandomForestClassifier(TREES, n_jobs=1, random_state=0)
    return kept("trees-forest", lambda: model.fit(data.X[rows], data.y[rows]))


def _stumps() -> Any:
    data, rows = digits(), slice(FOREST_TRAIN)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=TREES, random_state=0)
    return kept("trees-stumps", lambda: model.fit(data.X[rows], data.y[rows] == DIGIT))
