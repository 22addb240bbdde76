"""Boosted trees on digits: LightGBM, XGBoost, CatBoost and HistGradientBoosting, digit 8 against the rest."""

from __future__ import annotations

import functools
import time
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from .models import DIGIT, digits, kept
from .peers import THREADS, onedal
from .report import Figure
from .settings import Run
from .timing import Task
from .tree_plans import Rows, figures_of

TITLE = "500 boosted trees, digit 8 against the rest, risk 0 and 0.1 %"
TRAIN, TREES = 24_000, 500
#: Risks of the plans that are timed.
RISKS = (0.0, 0.001)
#: Margins of LightGBM's own early stop, of which the fastest that keeps the risk on calibration rows is timed.
OWN_STOP = "pred_early_stop, the fastest that keeps 0.1 %"
MARGINS, FREQUENCIES = (2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 12.0), (5, 10, 20)


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    figures: list[Figure] = []
    for name, make, peers, predict_row in (
        ("LightGBM", digit_lightgbm, _lightgbm_peers, lightgbm_row),
        ("XGBoost", _xgboost, _xgboost_peers, _xgboost_row),
        ("CatBoost", _catboost, _catboost_peers, _catboost_row),
        ("HistGradientBoosting", _histogram, _histogram_peers, _histogram_row),
    ):
        model, data = make(), digits()
        X = data.X_test[: how.rows(10_000, 2_000)]
        own_row = functools.partial(predict_row, model)
        figures += figures_of(name, model, peers(model, X), X, data.X[TRAIN:], RISKS, how, own_row)
    return figures


def digit_lightgbm() -> Any:
    """Train LightGBM on one digit against the rest."""
    from lightgbm import LGBMClassifier

    data = digits()
    model = LGBMClassifier(n_estimators=TREES, num_leaves=31, n_jobs=1, verbose=-1)
    return kept("trees-lightgbm", lambda: model.fit(data.X[:TRAIN], data.y[:TRAIN] == DIGIT), "lightgbm")


def _lightgbm_peers(model: Any, X: Rows) -> dict[str, Task]:
    return lightgbm_peers(model, X, digits().X[TRAIN : TRAIN + 12_000], RISKS[-1])


def lightgbm_row(model: Any, row: Rows) -> object:
    """Predict an array of one row with LightGBM itself."""
    return model.booster_.predict(row, num_threads=1)


def lightgbm_peers(model: Any, X: Rows, calibration: Rows, risk: float) -> dict[str, Task]:
    """Make tasks of LightGBM's own predictions, the fastest early stop that keeps a risk on other rows among them."""
    booster = model.booster_
    peers = {
        f"Booster.predict, {n} thread(s)": Task(lambda n=n: booster.predict(X, num_threads=n), n)  # type: ignore[misc]
        for n in THREADS
    }
    peers |= onedal(booster, X, THREADS)
    stop = _own_early_stop(booster, calibration, risk)
    if stop is not None:
        peers[OWN_STOP] = Task(lambda: booster.predict(X, num_threads=1, **stop), 1)
    return peers


def _own_early_stop(booster: Any, rows: Rows, risk: float) -> dict[str, Any] | None:
    own = booster.predict(rows, num_threads=1) > 0.5
    best: tuple[float, dict[str, Any]] | None = None
    for freq in FREQUENCIES:
        for margin in MARGINS:
            stop = {"pred_early_stop": True, "pred_early_stop_freq": freq, "pred_early_stop_margin": margin}
            start = time.perf_counter()
            labels = booster.predict(rows, num_threads=1, **stop) > 0.5
            seconds = time.perf_counter() - start
            if np.mean(labels != own) <= risk and (best is None or seconds < best[0]):
                best = seconds, stop
    return None if best is None else best[1]


def _xgboost() -> Any:
    from xgboost import XGBClassifier

    data = digits()
    model = XGBClassifier(n_estimators=TREES, max_depth=6, max_bin=64, n_jobs=1)
    return kept("trees-xgboost", lambda: model.fit(data.X[:TRAIN], data.y[:TRAIN] == DIGIT), "xgboost-cpu")


def _xgboost_peers(model: Any, X: Rows) -> dict[str, Task]:
    from xgboost import DMatrix

    booster = model.get_booster()
    booster.set_param({"nthread": 1})
    return {
        "inplace_predict, 1 thread": Task(lambda: booster.inplace_predict(X), 1),
        "DMatrix + predict, 1 thread": Task(lambda: booster.predict(DMatrix(X, nthread=1)), 1),
        **onedal(booster, X, (1,)),
    }


def _xgboost_row(model: Any, row: Rows) -> object:
    return model.get_booster().inplace_predict(row)


def _catboost() -> Any:
    from catboost import CatBoostClassifier

    data = digits()
    model = CatBoostClassifier(iterations=TREES, depth=6, verbose=0, thread_count=1, allow_writing_files=False)
    labels = (data.y[:TRAIN] == DIGIT).astype(int)
    return kept("trees-catboost", lambda: model.fit(data.X[:TRAIN], labels), "catboost")


def _catboost_peers(model: Any, X: Rows) -> dict[str, Task]:
    from catboost import Pool

    return {"predict(Pool), 1 thread": Task(lambda: model.predict(Pool(X), thread_count=1), 1)}


def _catboost_row(model: Any, row: Rows) -> object:
    from catboost import Pool

    return model.predict(Pool(row), thread_count=1)


def _histogram() -> Any:
    data = digits()
    model = HistGradientBoostingClassifier(max_iter=TREES, max_leaf_nodes=15, early_stopping=False)
    return kept("trees-histogram", lambda: model.fit(data.X[:TRAIN], data.y[:TRAIN] == DIGIT))


def _histogram_peers(model: Any, X: Rows) -> dict[str, Task]:
    return {"its own predict, 1 thread": Task(lambda: model.predict(X), 1)}


def _histogram_row(model: Any, row: Rows) -> object:
    return model.predict(row)
