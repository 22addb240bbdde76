"""Costs, budgets and thresholds of a plan."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan.cases import recipe

from wald.plan import CostModel, Plan
from wald.stopping import Boundary


def plan(q=2.0, precision="float64", evaluate_all=False):
    made = recipe(3)
    return Plan(
        order=made.order,
        terms=made.terms,
        stages=made.stages,
        stage_costs=made.stage_costs,  # 20, 40, 60, 80
        early=made.early,
        boundary=Boundary.symmetric([0.0, 1.0, 2.0], [3.0, 2.0, 1.0]),
        q=q,
        reached=np.array([1.0, 0.5, 0.2, 0.1]),
        surrogates=made.surrogates,
        precision=precision,
        evaluate_all=evaluate_all,
        cost_model=CostModel.of_units(80.0),
    )


def test_sizes_and_costs():
    assert plan().n_stages == 3
    assert plan().full_cost == 80.0


@given(budget=st.floats(20.0, 1e9) | st.just(np.inf))
def test_a_budget_buys_the_deepest_stage_that_it_pays_for(budget):
    deepest = plan().affordable(budget)
    costs = plan().stage_costs
    assert costs[deepest] <= budget
    assert deepest == 3 or costs[deepest + 1] > budget


@pytest.mark.parametrize("budget", [19.999, 0.0, -1.0, float("nan")])
def test_a_budget_below_the_first_stage_is_an_error(budget):
    with pytest.raises(ValueError, match="budget must be at least 20, the cost of the first stage"):
        plan().affordable(budget)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_thresholds_are_centres_and_scaled_widths(precision):
    low, high = plan(q=2.0, precision=precision).thresholds()
    assert low.dtype == high.dtype == precision
    np.testing.assert_allclose(low, [-6.0, -3.0, 0.0], atol=1e-5)
    np.testing.assert_allclose(high, [6.0, 5.0, 4.0], atol=1e-5)


def test_nothing_leaves_at_an_infinite_scale():
    low, high = plan(q=np.inf).thresholds()
    assert (low == -np.inf).all()
    assert (high == np.inf).all()


def test_other_thresholds_leave_the_plan_as_it_is():
    before = plan()
    after = before.at(0.5, np.ones(4), True)
    assert (after.q, after.evaluate_all) == (0.5, True)
    np.testing.assert_array_equal(after.reached, 1.0)
    assert (before.q, before.evaluate_all, before.reached[1]) == (2.0, False, 0.5)
    assert after.order is before.order
    assert after.early is before.early


def test_it_says_what_it_does():
    assert repr(plan()) == "Plan(q=2, stages after 2, 4, 6, 8 units, float64)"
    assert "evaluate everything" in repr(plan(evaluate_all=True))
