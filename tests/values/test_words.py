"""What inspect, explain and monitors say of outlier detectors, bands and values: in their own words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, IsolationForest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from wald import EarlyExitClassifier, EarlyExitOutlierDetector, EarlyExitRegressor, Planner
from wald.inspection.facts import facts_of
from wald.inspection.promises import broken_promise
from wald.monitoring import DriftWarning

X = np.random.default_rng(0).normal(size=(6000, 4))
X[::40] *= 3.0
Y = X[:, 0] + X[:, 1] * X[:, 2]
SHARED: dict[str, Any] = {"planner": Planner(cost="units"), "random_state": 0}


@pytest.fixture(scope="module")
def forest() -> IsolationForest:
    return IsolationForest(n_estimators=40, contamination=0.03, random_state=0).fit(X[:800])


@pytest.fixture(scope="module")
def detector(forest: IsolationForest) -> EarlyExitOutlierDetector:
    return EarlyExitOutlierDetector(forest, risk={"outlier": 0.1}, **SHARED).fit(X[800:])


@pytest.fixture(scope="module")
def regressor() -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(max_iter=30, early_stopping=False).fit(X[:800], Y[:800])


@pytest.fixture(scope="module")
def near(regressor: HistGradientBoostingRegressor) -> EarlyExitRegressor:
    return EarlyExitRegressor(regressor, tolerance=0.5, risk=0.05, **SHARED).fit(X[800:])


def bands_of(**options: Any) -> EarlyExitClassifier:
    model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False).fit(X[:800], Y[:800] > 0)
    return EarlyExitClassifier(model, risk=0, **options).fit()


def test_inspect_names_what_is_answered(
    detector: EarlyExitOutlierDetector, regressor: Any, near: EarlyExitRegressor
) -> None:
    assert facts_of(detector)["model"]["answers"] == "outliers and inliers"
    assert facts_of(near)["model"]["answers"] == "one value a row"
    assert facts_of(bands_of(bands=[0.2, 0.8]))["model"]["answers"] == "3 bands"
    assert facts_of(bands_of(bands=[0.2]))["model"]["answers"] == "2 bands"
    assert facts_of(bands_of())["model"]["answers"] == "2 classes"
    pair = EarlyExitRegressor(DecisionTreeRegressor(max_depth=3).fit(X[:500], X[:500, :2])).fit()
    facts = facts_of(pair)
    assert facts["model"]["answers"] == "2 values a row"
    assert facts["model"]["n_values"] == 2
    assert facts["model"]["checked"].endswith("values agree")
    assert facts["certificate"]["sentence"].startswith("the model's own answers, by proof")


def test_the_time_of_one_row_is_measured_where_rows_can_be_made(regressor: Any) -> None:
    def seconds(model: Any) -> float | None:
        found: float | None = facts_of(EarlyExitRegressor(model).fit())["model"]["seconds_of_one"]
        return found

    of_trees, of_columns = seconds(regressor), seconds(Ridge().fit(X, Y))
    assert of_trees is not None
    assert of_columns is not None
    assert 1e-7 < of_trees < 1e-2
    assert 1e-7 < of_columns < 1e-2


def test_explanations_begin_with_the_answer(
    detector: EarlyExitOutlierDetector, regressor: Any, near: EarlyExitRegressor
) -> None:
    rows = X[:300]
    labels = detector.predict(rows)
    for label, word in ((-1, "Outlier"), (1, "Inlier")):
        assert detector.explain(rows[np.flatnonzero(labels == label)[0]]).headline.startswith(f"{word}: ")
    exact = EarlyExitRegressor(regressor).fit()
    value = exact.predict(rows[:1])[0]
    assert (
        exact.explain(rows[0]).headline == f"Value {value:.6g}. Every row is evaluated in full, at a cost of 30 trees."
    )
    assert near.explain(rows[0]).headline.startswith(f"Value {near.predict(rows[:1])[0]:.6g}: ")
    assert near.explain(rows[0]).as_dict()["value"] == near.predict(rows[:1])[0]
    assert bands_of(bands=[0.2]).explain(rows[0]).headline.startswith("Band ")


def test_parts_of_several_values_add_up() -> None:
    targets = np.column_stack([Y, -Y])
    fast = EarlyExitRegressor(Ridge().fit(X, targets)).fit()
    explained = fast.explain(X[0])
    total = explained.intercept + sum(part.adds for part in explained.parts)
    np.testing.assert_allclose(total, fast.predict(X[:1])[0])
    assert "to value 0" in str(explained)


def test_monitors_name_what_rows_got_instead(detector: EarlyExitOutlierDetector, near: EarlyExitRegressor) -> None:
    watched = detector.watched(0.5)
    assert [line.name for line in watched.monitor_.lines] == ["outliers"]
    stages = np.zeros(detector.plan_.n_stages + 1, dtype=int)
    stages[-1] = 1000
    with pytest.warns(DriftWarning, match=r"500 of 500 audited rows \(outliers\) got another label"):
        watched.monitor_.record(stages, audits=[500, 0], disagreements=[500, 0])
    with pytest.warns(DriftWarning, match=r"got a value off by more than 0\.5, and at most 0\.05 was promised"):
        near.watched(0.5).monitor_.record([*[0] * near.plan_.n_stages, 1000], audits=500, disagreements=500)


def test_audits_of_values_count_by_the_tolerance(near: EarlyExitRegressor) -> None:
    watched = near.watched(1.0)
    values = watched.predict(X[800:2800])
    off = np.abs(values - near.estimator_.predict(X[800:2800])) > 0.5
    assert (watched.monitor_.n_audits, watched.monitor_.n_disagreements) == (2000, off.sum())


def test_values_in_full_are_not_watched(regressor: Any) -> None:
    with pytest.raises(ValueError, match="nothing to watch: every row is evaluated in full"):
        EarlyExitRegressor(regressor).fit().watched(0.1)


def test_broken_promises_are_about_outliers(detector: EarlyExitOutlierDetector) -> None:
    full, classes = np.repeat([-1, 1], 500), detector.classes_
    words = detector.compiled_plan_.model.words
    told = broken_promise(detector.certificate_, full, full == -1, classes, words)
    assert told is not None
    assert told.startswith("500 of 500 rows that the model calls outlier differ")
    assert broken_promise(detector.certificate_, full, full == 1, classes, words) is None
    assert broken_promise(detector.certificate_, np.zeros(9), np.zeros(9, dtype=bool), np.empty(0), words) is None
