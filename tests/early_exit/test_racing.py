"""A plan that is to save time is timed beside the model itself, unless it is far ahead by its costs."""

import time

import numpy as np
import pytest
from early_exit.models import MODELS, wrap

from wald import _fitting, _racing
from wald.plan import CostModel

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")


@pytest.fixture
def costs(monkeypatch):
    """Instead of measured costs: a unit costs 1, and the model itself `full`."""

    def set_full(full):
        model = CostModel(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=full, margin=0.95)
        monkeypatch.setattr(_fitting, "measure_cost_model", lambda *args, **kwargs: model)

    return set_full


@pytest.fixture
def ratios(monkeypatch):
    """Instead of a race: its outcome for each number of threads. Returns the threads that raced."""
    raced = []

    def set_ratios(by_threads):
        monkeypatch.setattr(_racing, "_ratio", lambda served, X, n: raced.append(n) or by_threads[n])
        return raced

    return set_ratios


def timed(n_jobs=1):
    model, X = MODELS["logistic"]
    return wrap(model, X[1000:], risk=0.05, cost="time", n_splits=1, n_jobs=n_jobs)


def expected_share(fast):
    plan = fast.plan_
    costs = plan.cost_model
    return costs.expected(plan.stage_terms, plan.stage_costs, plan.live, 1) / costs.full


def test_a_plan_that_won_is_kept_and_costs_what_was_measured(costs, ratios):
    costs(full=20.0)
    raced = ratios({1: 0.5})
    fast = timed()
    assert raced == [1]
    assert fast.certificate_.status == "certified"
    assert expected_share(fast) == pytest.approx(0.5)
    assert fast.plan_.cost_model.full == 20.0


def test_a_plan_that_lost_evaluates_everything_and_does_not_come_back(costs, ratios):
    costs(full=20.0)
    ratios({1: 0.7})
    fast = timed()
    model, X = MODELS["logistic"]
    for lost in (fast, fast.recertify(X[1000:])):
        assert lost.plan_.evaluate_all
        assert str(lost.certificate_) == "no early exit: evaluating everything is not slower"
        np.testing.assert_array_equal(lost.predict(X), model.predict(X))


def test_the_worse_number_of_threads_counts(costs, ratios):
    costs(full=20.0)
    raced = ratios({1: 0.3, 2: 0.7})
    assert timed(n_jobs=2).plan_.evaluate_all
    assert sorted(raced) == [1, 2]


def test_a_plan_far_ahead_is_taken_at_its_word(costs, ratios):
    costs(full=1000.0)
    raced = ratios({1: 9.0})
    assert not timed().plan_.evaluate_all
    assert raced == []


def test_costs_in_units_are_not_raced(ratios):
    raced = ratios({1: 9.0})
    model, X = MODELS["logistic"]
    assert not wrap(model, X[1000:], risk=0.05).plan_.evaluate_all
    assert raced == []


@pytest.mark.parametrize(("slower", "kept"), [("ask", True), ("predict", False)])
def test_the_race_itself(costs, monkeypatch, slower, kept):
    costs(full=20.0)
    run = getattr(_racing.Served, slower)
    monkeypatch.setattr(_racing.Served, slower, lambda *args: time.sleep(0.02) or run(*args))
    assert timed().plan_.evaluate_all is not kept
