"""Tables with columns of categories, and what models of them must answer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner
from wald.models import decompose
from wald.sources import source_of

pd = pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
CITIES = ["Ulm", "Bonn", "Köln", "Trier", "Jena", "Gera"]
SIZES = [3, 10, 20, 37]


def table(seed: int, n: int, missing: bool = True) -> tuple[Any, np.ndarray]:
    """A frame of numbers and categories, and labels that depend on both."""
    rng = np.random.default_rng(seed)
    city, size = rng.integers(0, len(CITIES), n), rng.integers(0, len(SIZES), n)
    a, b = rng.normal(size=n), rng.normal(size=n)
    score = a + 1.5 * np.isin(city, [0, 3, 4]) - 1.2 * np.isin(size, [1, 3]) + 0.5 * b * (city == 1)
    y = (score + 0.3 * rng.normal(size=n) > 0.2).astype(int)
    if missing:
        city = np.where(rng.random(n) < 0.1, -1, city)
        size = np.where(rng.random(n) < 0.1, -1, size)
        b[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "a": a,
            "city": pd.Categorical.from_codes(city, CITIES),
            "b": b,
            "size": pd.Categorical.from_codes(size, SIZES),
        }
    )
    return frame, y


def in_ascii(frame: Any) -> Any:
    """XGBoost cuts other names of pandas in wrong places."""
    return with_columns(frame, city=frame["city"].cat.rename_categories({"Köln": "Koeln"}))


def with_columns(frame: Any, **columns: Any) -> Any:
    changed = frame.copy()
    for name, values in columns.items():
        changed[name] = values
    return changed


def reordered(frame: Any) -> Any:
    """The same values, with other codes."""
    return with_columns(
        frame,
        city=frame["city"].cat.set_categories(CITIES[::-1]),
        size=frame["size"].cat.set_categories([37, 3, 20, 10]),
    )


def with_unseen(frame: Any) -> Any:
    """Every fourth row holds categories that training did not have."""
    city, size = frame["city"].astype(object), frame["size"].astype(object)
    city[::4], size[1::4] = "Aachen", 99
    return with_columns(frame, city=pd.Categorical(city), size=pd.Categorical(size.astype(float).astype("Int64")))


def check_frames(model: Any, frames: dict[str, Any], own_scores: Any, rows_of_fit: Any) -> EarlyExitClassifier:
    """Scores have the bits of the model's own and labels are its own, in every form and number of rows."""
    read = decompose(model)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0, random_state=0).fit(rows_of_fit)
    for name, frame in frames.items():
        scores = read.terms.scores(read.preprocessing.transform(source_of(frame)))
        own = np.asarray(own_scores(frame), dtype=np.float64).reshape(len(frame), -1)
        np.testing.assert_array_equal(scores, own, err_msg=name)
        labels = model.predict(frame)
        np.testing.assert_array_equal(fast.predict(frame), labels, err_msg=name)
        np.testing.assert_array_equal(fast.predict(frame[:1]), labels[:1], err_msg=name)
        np.testing.assert_array_equal(fast.predict(frame[5:20]), labels[5:20], err_msg=name)
    return fast


def check_early(model: Any, fit: Any, frame: Any) -> None:
    """Answers of an early exit are the same for one row and many."""
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        fit
    )
    labels, cost = fast.predict(frame, return_cost=True)
    assert cost.mean() < 0.9 * fast.plan_.full_cost
    for n in (1, 5, 100):
        some, some_cost = fast.predict(frame[:n], return_cost=True)
        np.testing.assert_array_equal(some, labels[:n])
        np.testing.assert_array_equal(some_cost, cost[:n])
    rows = frame[:60].to_dict("records")
    for row, label, spent in zip(rows, labels, cost, strict=False):
        assert fast.predict_one(row, return_cost=True) == (label, spent)
        assert fast.predict_one(pd.Series(row, dtype=object), return_cost=True) == (label, spent)
    for some, expected in zip(fast.predict_records(rows, return_cost=True), (labels, cost), strict=True):
        np.testing.assert_array_equal(some, expected[: len(rows)])


def fitted_lightgbm(frame: Any, y: np.ndarray, **options: Any) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=30, min_child_samples=5, verbose=-1, n_jobs=1, **options).fit(frame, y)


def fitted_xgboost(frame: Any, y: np.ndarray, **options: Any) -> Any:
    xgboost = pytest.importorskip("xgboost", minversion="3.1")
    return xgboost.XGBClassifier(n_estimators=30, enable_categorical=True, n_jobs=1, **options).fit(frame, y)
