"""Sparse rows with few non-zeros: the model evaluates them so fast that no plan is searched."""

from __future__ import annotations

import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from scipy import sparse
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import wald
from wald import EarlyExitClassifier, Planner

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")
N_TRAIN, N_FIT, WIDTH = 3000, 2000, 47_832


def documents(n: int, width: int, seed: int = 0) -> Any:
    """CSR rows with about 100 non-zeros, some of them in frequent features."""
    rng = np.random.default_rng(seed)
    columns = (width * rng.random((n, 105)) ** 4).astype(np.int64)
    rows = np.repeat(np.arange(n), 105)
    X = sparse.csr_matrix((rng.random(rows.size), (rows, columns.ravel())), shape=(n, width))
    X.sum_duplicates()
    return X


@pytest.fixture(scope="module")
def case() -> tuple[Any, Any]:
    """A fitted model and its rows; the first rows trained it."""
    X = documents(N_TRAIN + N_FIT + 1500, WIDTH)
    weights = np.random.default_rng(1).normal(size=WIDTH)
    y = X @ weights > 0
    return LogisticRegression().fit(X[:N_TRAIN], y[:N_TRAIN]), X


@pytest.fixture(scope="module")
def fast(case: tuple[Any, Any]) -> EarlyExitClassifier:
    model, X = case
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.01, planner=Planner(cost="time"), random_state=0)
    return fast.fit(X[N_TRAIN : N_TRAIN + N_FIT])


def test_fit_gives_up_before_it_gathers_anything(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a plan was searched")

    for name in ("wald.plan.moments.gather_moments", "wald.plan.recipes.recipes", "wald.plan.ladder.recipes"):
        monkeypatch.setattr(name, never)
    monkeypatch.setattr("wald.early_exit.fitting.selection.make_plan", never)
    model, X = case
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.01, planner=Planner(cost="time"), random_state=0)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        fast.fit(X[N_TRAIN : N_TRAIN + N_FIT])
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 200e6
    assert time.perf_counter() - start < 5  # generous: it takes a fraction of it
    assert fast.plan_.evaluate_all
    assert fast.plan_.n_stages == 0


def test_everything_works_without_stages(fast: EarlyExitClassifier, case: Any, tmp_path: Path) -> None:
    model, X = case
    fresh = X[N_TRAIN + N_FIT :]
    own = model.predict(fresh)
    wald.save(fast, tmp_path / "words.wald")
    for other in (fast, fast.recertify(fresh), wald.load(tmp_path / "words.wald")):
        assert other.plan_.n_stages == 0
        labels, cost = other.predict(fresh, return_cost=True)
        np.testing.assert_array_equal(labels, own)
        np.testing.assert_array_equal(cost, WIDTH)
        np.testing.assert_array_equal(other.predict(fresh, budget=WIDTH), own)
        with pytest.raises(ValueError, match="budget must be at least"):
            other.predict(fresh, budget=10)
        scores, stage = other.stage_scores(fresh)
        np.testing.assert_allclose(scores[:, 0], model.decision_function(fresh), rtol=1e-9, atol=1e-9)
        assert scores.shape == (1500, 1)
        assert (stage == 0).all()
        stage_scores = other.looks(fresh)
        assert stage_scores.n_stages == 0
        np.testing.assert_array_equal(other.classes_[stage_scores.full], own)
        trace = other.trace(fresh[:1])
        assert trace.label == own[0]
        assert other.certificate_.verify()
        assert "Plan(evaluate everything" in repr(other.plan_)
        row = fresh[0].toarray().ravel()
        assert other.predict_one(row) == own[0]


def test_displays_without_stages(fast: EarlyExitClassifier, case: Any) -> None:
    pytest.importorskip("matplotlib")
    import matplotlib as mpl

    mpl.use("Agg")
    from wald import displays

    _, X = case
    fresh = X[N_TRAIN + N_FIT :][:300]
    displays.StoppingPathDisplay.from_estimator(fast, fresh[:5])
    displays.CostHistogramDisplay.from_estimator(fast, fresh)
    displays.TradeoffDisplay.from_estimator(fast, fresh)


def test_inspect_without_stages(fast: EarlyExitClassifier, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    from commands.running import done, said

    wald.save(fast, tmp_path / "words.wald")
    facts = said("inspect", tmp_path / "words.wald")["plan"]
    assert len(facts["looks"]) == 1
    assert facts["expected_cost_high"] == WIDTH
    assert "every row is evaluated in full" in done("inspect", tmp_path / "words.wald").stdout


@pytest.mark.filterwarnings("ignore:The certificate's risk:UserWarning")  # a fifth of the rows are False
def test_units_are_planned_where_features_cost_something() -> None:
    X = documents(4000, 2000)
    y = X @ np.random.default_rng(1).normal(size=2000) > 0
    model = LogisticRegression().fit(X[:1000], y[:1000])
    params = {"risk": 0.05, "cost": "units", "random_state": 0}
    free = EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(X[1000:3000])
    assert free.plan_.n_stages == 0
    np.testing.assert_array_equal(free.predict(X), model.predict(X))
    fast = EarlyExitClassifier(FrozenEstimator(model), **nested(feature_costs=np.ones(2000), **params)).fit(
        X[1000:3000]
    )
    assert fast.plan_.n_stages > 0
    assert (fast.predict(X[3000:]) != model.predict(X[3000:])).mean() <= 0.08
