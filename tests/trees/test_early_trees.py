"""Early exit of tree ensembles: own labels at risk 0, the same answers in every call, files, and bad rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator

import wald
from wald import EarlyExitClassifier
from wald.models import check_terms, decompose

MODELS: dict[str, Any] = {
    "histogram boosting": HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, early_stopping=False),
    "gradient boosting": GradientBoostingClassifier(n_estimators=40),
    "forest": RandomForestClassifier(40, max_leaf_nodes=200, random_state=0),
    "adaboost": AdaBoostClassifier(n_estimators=60),
}


def data(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(6000, 12, n_informative=6, n_classes=n_classes, class_sep=1.5, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def n_classes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def fitted(request: pytest.FixtureRequest, n_classes: int) -> tuple[Any, np.ndarray]:
    from sklearn.base import clone

    X, y = data(n_classes)
    return clone(request.param).fit(X[:1500], y[:1500]), X[1500:]


def wrapped(fitted: tuple[Any, np.ndarray], **params: Any) -> EarlyExitClassifier:
    model, X = fitted
    return EarlyExitClassifier(FrozenEstimator(model), **nested(random_state=0, **params)).fit(X[:3000])


def test_the_contract_of_terms(fitted) -> None:
    model, X = fitted
    check_terms(decompose(model).terms, model, X[:80])
    check_terms(decompose(model).terms, model, X[:80].astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_risk_0_gives_the_models_own_labels(fitted, dtype) -> None:
    model, X = fitted
    fast = wrapped((model, X.astype(dtype)), risk=0)
    rows = X[3000:].astype(dtype)
    np.testing.assert_array_equal(fast.predict(rows), model.predict(rows))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_are_the_same_in_every_call(fitted, dtype) -> None:
    model, X = fitted
    fast = wrapped((model, X.astype(dtype)), risk=0.05, cost="units")
    assert fast.certificate_.status == "certified"
    rows = X[3000:].astype(dtype)
    labels, cost = fast.predict(rows, return_cost=True)
    assert cost.mean() < 0.8 * fast.plan_.full_cost
    assert np.mean(labels != model.predict(rows)) < 0.08
    for size in (1, 5, 7, 8, 63, 65, 100):
        some, some_cost = fast.predict(rows[:size], return_cost=True)
        np.testing.assert_array_equal(some, labels[:size])
        np.testing.assert_array_equal(some_cost, cost[:size])
    for layout in (np.asfortranarray, np.ascontiguousarray):
        fast.n_jobs = 2
        np.testing.assert_array_equal(fast.predict(layout(rows)), labels)
    for i in range(50):
        assert fast.predict_one(rows[i], return_cost=True) == (labels[i], cost[i])
    _, stages = fast.stage_scores(rows[:20])
    reached = fast.plan_.stage_costs[stages]
    if fast.plan_.early.race is None:
        np.testing.assert_array_equal(reached, cost[:20])
    else:  # trees of classes that are out of the race are not evaluated
        assert (cost[:20] <= reached).all()
        assert (cost < fast.plan_.stage_costs[0]).sum() == 0


def test_a_budget_holds(fitted) -> None:
    fast = wrapped(fitted, risk=0.05, cost="units")
    budget = fast.plan_.stage_costs[1]
    assert fast.predict(fitted[1][3000:], budget=budget, return_cost=True)[1].max() <= budget


@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore:The file holds the terms")
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_file_gives_the_same_bits(fitted, risk: float, tmp_path: Path) -> None:
    model, X = fitted
    fast = wrapped(fitted, risk=risk, cost="units")
    wald.save(fast, tmp_path / "fast.wald")
    loaded = wald.load(tmp_path / "fast.wald", estimator=model)
    rows = X[3000:3500]
    for one, other in zip(fast.predict(rows, return_cost=True), loaded.predict(rows, return_cost=True), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.one_in(2)
def test_refused_values_are_named(fitted) -> None:
    model, X = fitted
    takes_nan, takes_infinity = decompose(model).terms.nan, decompose(model).terms.infinity
    for risk in (0, 0.05):
        fast = wrapped(fitted, risk=risk, cost="units")
        for value, taken in ((np.nan, takes_nan), (np.inf, takes_infinity), (-np.inf, takes_infinity)):
            rows = X[3000:3100].copy()
            rows[7] = value
            for some in (rows, rows[7:8], rows[5:10]):
                if taken:
                    fast.predict(some)
                else:
                    with pytest.raises(ValueError, match=r"NaN|infinity"):
                        fast.predict(some)


@pytest.mark.filterwarnings("ignore:no early exit")
def test_a_plan_must_be_faster_than_the_engine_itself(fitted) -> None:
    model, X = fitted
    fast = wrapped(fitted, risk=0.0005)  # too few rows for an exit that pays
    np.testing.assert_array_equal(fast.predict(X[3000:]), model.predict(X[3000:]))


@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
def test_sparse_rows_have_the_plan_of_dense_ones(n_classes: int) -> None:
    X, y = data(n_classes)
    model = FrozenEstimator(RandomForestClassifier(100, max_depth=6, random_state=0).fit(X[:1500], y[:1500]))
    dense, held = (
        EarlyExitClassifier(model, risk=0.05, random_state=0).fit(rows, y[1500:])
        for rows in (X[1500:], csr_matrix(X[1500:]))
    )
    assert held.certificate_ == dense.certificate_
    assert len(dense.plan_.stages) > 4
    np.testing.assert_array_equal(held.plan_.stages, dense.plan_.stages)
    np.testing.assert_array_equal(held.plan_.order, dense.plan_.order)


def test_a_forest_of_more_values_than_the_pool_has_candidates_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wald.plan.recipes.MAX_POOL", 70)  # 23 of 40 trees with 3 values each
    X, y = data(3)
    model = FrozenEstimator(RandomForestClassifier(40, max_depth=6, random_state=0).fit(X[:1500], y[:1500]))
    fast = EarlyExitClassifier(model, risk=0.1, random_state=0).fit(X[1500:], y[1500:])
    assert fast.certificate_.status == "certified"
    assert len(fast.plan_.order) == 23
