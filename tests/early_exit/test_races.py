"""Where classes race, every door reports what a row paid, and not what its stage costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

import wald
from wald import EarlyExitClassifier, Planner
from wald.inspection.facts import expected_cost, least_costs
from wald.plan import CostModel

X, Y = make_classification(6000, n_informative=8, n_classes=4, random_state=0)


def fitted(*steps: Any) -> EarlyExitClassifier:
    boosted = HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0)
    model = make_pipeline(*steps, boosted) if steps else boosted
    model.fit(X[:1500], Y[:1500])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[1500:5000]
    )
    assert fast.plan_.early.race is not None
    return fast


@pytest.fixture(scope="module", params=[(), (PowerTransformer(),)], ids=["alone", "behind preprocessing"])
def fast(request: pytest.FixtureRequest) -> EarlyExitClassifier:
    return fitted(*request.param)


def test_single_rows_and_traces_cost_what_they_paid(fast: EarlyExitClassifier) -> None:
    labels, cost = fast.predict(X[5000:], return_cost=True)
    _, stage = fast.stage_scores(X[5000:])
    assert (cost < fast.plan_.stage_costs[stage]).mean() > 0.05
    for i in range(0, 1000, 29):
        row = X[5000 + i]
        assert fast.predict_one(row, return_cost=True) == (labels[i], cost[i])
        assert fast.trace(row).cost == cost[i]


def test_histograms_of_costs_have_all_rows(fast: EarlyExitClassifier) -> None:
    pytest.importorskip("matplotlib")
    from wald.displays import CostHistogramDisplay

    display = CostHistogramDisplay.from_estimator(fast, X[5000:])
    assert display.counts.sum() == 1000


def test_limits_of_the_expected_cost_hold_races(fast: EarlyExitClassifier) -> None:
    plan = fast.plan_
    cost = fast.predict(X[5000:], return_cost=True)[1]
    least = least_costs(plan)
    _, stage = fast.stage_scores(X[5000:])
    assert (least[stage] <= cost).all()
    assert expected_cost(plan, plan.reached, least) <= expected_cost(plan, plan.reached)


def test_budgets_hold(fast: EarlyExitClassifier) -> None:
    budget = float(fast.plan_.stage_costs[2])
    assert fast.predict(X[5000:], budget=budget, return_cost=True)[1].max() <= budget


# ---- ladders of ensembles whose features have prices -----------------------------------------------------------------

PRICED = {"feature_costs": np.ones(20), "cost": CostModel(row=0.0, unit=1.0, readout=0.0, stage=3.0, full=40.0)}


@pytest.mark.parametrize("order", ["sorted", "greedy"])
def test_thinned_ladders_keep_the_stage_to_which_sums_reach(order: str) -> None:
    boosted = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=8, early_stopping=False, random_state=0)
    boosted.fit(X[:1500], Y[:1500] > 1)
    fast = EarlyExitClassifier(FrozenEstimator(boosted), **nested(risk=0.05, order=order, random_state=0, **PRICED))
    fast.fit(X[1500:5000])
    assert np.mean(fast.predict(X[5000:]) != boosted.predict(X[5000:])) < 0.08


@pytest.mark.filterwarnings("ignore:The file holds the terms")
def test_thinned_ladders_of_forests_are_saved(tmp_path: Path) -> None:
    forest = RandomForestClassifier(40, max_depth=5, random_state=0).fit(X[:1500], Y[:1500])
    fast = EarlyExitClassifier(FrozenEstimator(forest), **nested(risk=0.1, random_state=0, **PRICED)).fit(X[1500:5000])
    wald.save(fast, tmp_path / "fast.wald")
    loaded = wald.load(tmp_path / "fast.wald")
    answers = (model.predict(X[5000:], return_cost=True) for model in (fast, loaded))
    for one, other in zip(*answers, strict=True):
        np.testing.assert_array_equal(other, one)
