"""Rows of integers beyond 2^24 are rounded as the libraries round them: by the kind of rows, in every call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator

from wald import EarlyExitClassifier, Planner
from wald.models import decompose

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")

#: Neighbours of this size differ in float64, and in float32 only by 4.
LARGE = 2**25


def integers(dtype: type = np.int64) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose labels depend on bits that float32 does not hold."""
    rng = np.random.default_rng(0)
    X = LARGE + rng.integers(0, 40, (3000, 3))
    return X.astype(dtype), ((X[:, 0] % 4 > 1) ^ (X[:, 1] > LARGE + 17)).astype(int)


def lightgbm_model(X: np.ndarray, y: np.ndarray) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    model = lightgbm.LGBMClassifier(n_estimators=20, min_child_samples=1, min_data_in_bin=1, verbose=-1, n_jobs=1)
    return model.fit(X.astype(np.float64), y)


def xgboost_model(X: np.ndarray, y: np.ndarray) -> Any:
    return pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, n_jobs=1).fit(X, y)


def catboost_model(X: np.ndarray, y: np.ndarray) -> Any:
    catboost = pytest.importorskip("catboost")
    return catboost.CatBoostClassifier(iterations=20, verbose=0, allow_writing_files=False, thread_count=1).fit(X, y)


MODELS = {
    "lightgbm": lightgbm_model,
    "xgboost": xgboost_model,
    "catboost": catboost_model,
    "histogram boosting": lambda X, y: HistGradientBoostingClassifier(max_iter=20).fit(X, y),
    "gradient boosting": lambda X, y: GradientBoostingClassifier(n_estimators=20).fit(X, y),
    "forest": lambda X, y: RandomForestClassifier(20, random_state=0).fit(X, y),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint32], ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("library", MODELS)
def test_labels_of_integers(library: str, dtype: type) -> None:
    X, y = integers(dtype)
    model = MODELS[library](X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X)
    own = np.asarray(model.predict(X)).ravel()
    for rows in (X, np.asfortranarray(X), X[::2], X[:3], X.tolist(), X[:3].tolist()):
        np.testing.assert_array_equal(fast.predict(rows), np.asarray(model.predict(rows)).ravel())
    assert [fast.predict_one(row) for row in X[:50]] == own[:50].tolist()
    assert [fast.predict_one(row.tolist()) for row in X[:50]] == own[:50].tolist()
    for frames in ("pandas", "polars"):
        frame = pytest.importorskip(frames).DataFrame({name: X[:, c] for c, name in enumerate("abc")})
        if frames == "pandas" or library not in ("catboost", "xgboost"):  # XGBoost needs pyarrow for polars
            np.testing.assert_array_equal(fast.predict(frame), np.asarray(model.predict(frame)).ravel())


def test_lightgbm_rounds_arrays_and_not_frames() -> None:
    pd = pytest.importorskip("pandas")
    X, y = integers()
    model = lightgbm_model(X, y)
    frame = pd.DataFrame(X)
    assert (model.predict(X) != model.predict(frame)).mean() > 0.05
    terms = decompose(model).terms
    for rows in (X, frame, X.astype(np.float64), X.astype(np.float32)):
        np.testing.assert_array_equal(terms.scores(rows)[:, 0], model.predict(rows, raw_score=True))


def test_a_plan_on_integers_serves_integers() -> None:
    X, y = integers()
    model = lightgbm_model(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(X)
    labels, cost = fast.predict(X, return_cost=True)
    assert np.mean(labels != model.predict(X)) <= 0.08
    for i in range(20):
        assert fast.predict_one(X[i], return_cost=True) == (labels[i], cost[i])
    np.testing.assert_array_equal(fast.predict(X.astype(np.float32), return_cost=True)[1], cost)
