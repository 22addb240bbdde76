"""A plan for time is timed against the model, unless its estimated cost is far lower."""

import time

import numpy as np
import pytest
from early_exit.models import MODELS, wrap
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from wald.early_exit.fitting import costs as measuring
from wald.early_exit.fitting import racing
from wald.plan import CostModel
from wald.stopping import ConstantBoundary, Lossless

pytestmark = pytest.mark.filterwarnings("ignore:no early exit")


@pytest.fixture
def costs(monkeypatch):
    """Replace measured costs: a unit costs 1, and the model itself `full`."""

    def set_full(full):
        model = CostModel(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=full, margin=0.95)
        monkeypatch.setattr(measuring, "measure_cost_model", lambda *args, **kwargs: model)

    return set_full


@pytest.fixture
def ratios(monkeypatch):
    """Replace the measured ratios by given ones per number of threads. Return the numbers of threads timed."""
    raced = []

    def set_ratios(by_threads):
        monkeypatch.setattr(racing, "_ratio", lambda served, X, n: raced.append(n) or by_threads[n])
        return raced

    return set_ratios


def timed(n_jobs=1):
    model, X = MODELS["logistic"]
    return wrap(model, X[1000:], risk=0.05, cost="time", n_splits=1, n_jobs=n_jobs)


def expected_share(fast):
    plan = fast.plan_
    costs = plan.cost_model
    return costs.expected(plan.stage_terms, plan.stage_costs, plan.reached, 1) / costs.full


def test_a_plan_that_won_is_kept_and_costs_what_was_measured(costs, ratios):
    costs(full=20.0)
    raced = ratios({1: 0.5})
    fast = timed()
    assert raced == [1]
    assert fast.certificate_.status == "certified"
    assert expected_share(fast) == pytest.approx(0.5, rel=0.2)  # .5 at the thresholds that were timed
    assert fast.plan_.cost_model.full == 20.0


def test_a_plan_that_lost_evaluates_everything_and_does_not_come_back(costs, ratios):
    costs(full=20.0)
    ratios({1: 0.7})
    fast = timed()
    model, X = MODELS["logistic"]
    for lost in (fast, fast.recertify(X[1000:])):
        assert lost.plan_.evaluate_all
        assert str(lost.certificate_) in (
            "no early exit: the plan was not clearly faster than the model",
            "no early exit: evaluating everything is not slower",
        )
        np.testing.assert_array_equal(lost.predict(X), model.predict(X))


def test_the_worse_number_of_threads_counts(costs, ratios):
    costs(full=20.0)
    raced = ratios({1: 0.3, 2: 0.7})
    assert timed(n_jobs=2).plan_.evaluate_all
    assert sorted(raced) == 2 * [1] + 2 * [2]


@pytest.mark.parametrize(("measured", "kept"), [((0.9, 0.4, 0.5), 0.5), ((0.9, 0.4, 0.8), None), ((0.4,), 0.4)])
def test_a_plan_that_lost_once_is_timed_again(measured, kept, costs, monkeypatch):
    costs(full=20.0)
    left = list(measured)
    monkeypatch.setattr(racing, "_ratio", lambda served, X, n: left.pop(0))
    fast = timed()
    assert left == []
    assert fast.plan_.evaluate_all == (kept is None)
    assert kept is None or expected_share(fast) == pytest.approx(kept, rel=0.2)


@pytest.mark.parametrize(
    ("measured", "kept"),
    [
        ((0.84,), True),
        ((0.86, 0.95, 0.88, 0.91, 0.8), True),
        ((0.86, 0.95, 0.91, 0.91), False),  # a fifth could not change the median's side
        ((0.95, 0.91, 0.9), False),
        ((0.95, 0.85, 0.88, 0.91, 0.8), True),
    ],
)
def test_a_plan_of_trees_may_gain_a_tenth(measured, kept, monkeypatch):
    X, y = make_classification(2000, n_features=8, n_informative=6, random_state=0)
    trees = HistGradientBoostingClassifier(max_iter=40, early_stopping=False).fit(X[:500], y[:500])
    left = list(measured)
    monkeypatch.setattr(racing, "CLEAR", np.inf)
    monkeypatch.setattr(racing, "_ratio", lambda served, X, n: left.pop(0))
    monkeypatch.setattr(racing, "expected_cost", lambda model, plan, promise: 0.5 * plan.cost_model.full)
    fast = wrap(trees, X[500:], risk=0.05, cost="time", n_splits=1, n_jobs=1)
    assert left == []
    assert fast.plan_.evaluate_all != kept


def test_a_plan_far_ahead_is_taken_at_its_word(costs, ratios):
    costs(full=1000.0)
    raced = ratios({1: 9.0})
    fast = timed()
    assert not fast.plan_.evaluate_all
    assert raced == []
    costs = fast.plan_.cost_model
    assert not costs.worthwhile(0.5 * costs.full)  # a stricter promise might need more of it
    assert costs.worthwhile(0.4 * costs.full)


@pytest.mark.parametrize(("full", "dropped"), [(12.0, True), (100.0, False)])
def test_a_plan_without_rows_to_certify_is_no_better_off_later(full, dropped, costs, ratios):
    costs(full)
    raced = ratios({1: 0.1})
    model, X = MODELS["logistic"]
    few = wrap(model, X[1000:1060], risk=0.05, cost="time", n_splits=1)
    assert few.certificate_.status == "too few rows"
    assert few.recertify(X[1000:], risk=0.3).plan_.evaluate_all == dropped
    assert raced == []


@pytest.mark.parametrize(("ratio", "dropped"), [(0.59, False), (0.61, True)])
@pytest.mark.parametrize("lossless", [False, True])
def test_a_plan_that_lost_is_dropped_whatever_finishes_its_rows(lossless, ratio, dropped, costs, ratios):
    costs(full=20.0)
    model, X = MODELS["logistic"]
    rule = Lossless(low=X.min(axis=0), high=X.max(axis=0)) if lossless else "ladder"
    raced = ratios({1: ratio})
    fast = wrap(model, X[1000:], risk=0 if lossless else 0.05, rule=rule, cost="time", n_splits=1, n_jobs=1)
    assert raced == [1] * (2 if dropped else 1)
    assert fast.plan_.evaluate_all == dropped


def test_rules_used_as_published_are_not_timed(costs, ratios):
    costs(full=20.0)
    raced = ratios({1: 9.0})
    model, X = MODELS["logistic"]
    wrap(model, X[1000:], risk=None, rule=ConstantBoundary(), cost="time", n_jobs=1)
    assert raced == []


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_race_in_the_order_of_their_memory(order, costs, monkeypatch):
    costs(full={"C": 20.0, "F": 5.0}[order])  # single features, where they lie in columns, take fewer
    raced = []
    monkeypatch.setattr(racing, "_ratio", lambda served, X, n: raced.append(X.rows) or 0.1)
    model, X = MODELS["logistic"]
    X = np.asarray(X[1000:], order=order)
    wrap(model, X, risk=0.05, cost="time", n_splits=1, n_jobs=1)
    assert raced[0].flags[f"{order}_CONTIGUOUS"]
    assert {row.tobytes() for row in raced[0]} <= {row.tobytes() for row in X}


def test_costs_in_units_are_not_raced(ratios):
    raced = ratios({1: 9.0})
    model, X = MODELS["logistic"]
    assert not wrap(model, X[1000:], risk=0.05).plan_.evaluate_all
    assert raced == []


@pytest.mark.parametrize(("slower", "kept"), [("the model", True), ("the plan", False)])
def test_the_race_itself(costs, monkeypatch, slower, kept):
    costs(full=20.0)
    if slower == "the model":
        monkeypatch.setattr(racing, "full_time", lambda *args: 0.02 + measuring.full_time(*args))
    else:
        predict = racing.Predictor.predict
        monkeypatch.setattr(racing.Predictor, "predict", lambda *args: time.sleep(0.02) or predict(*args))
    assert timed().plan_.evaluate_all is not kept


@pytest.mark.slow
def test_whether_a_plan_pays_does_not_hang_on_its_certificate():
    """Else plans would be kept for the certificates that are too bold by chance."""
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(rng.normal(size=(500, 40)), rng.integers(0, 2, 500))
    model.coef_ = rng.normal(size=(1, 40)) * np.linspace(1, 0.1, 40)
    kept = []
    for full in (15.0, 19.0, 21.0, 23.0, 26.0):
        hardly_pays = CostModel(row=0.0, unit=1.0, readout=0.0, stage=1.0, full=full)
        fast = wrap(model, rng.normal(size=(600, 40)), risk=0.05, cost=hardly_pays, n_splits=1)
        again = [fast.recertify(rng.normal(size=(200, 40)), confidence=0.8).plan_.evaluate_all for _ in range(12)]
        assert len(set(again)) == 1
        kept.append(not again[0])
    assert set(kept) == {False, True}
