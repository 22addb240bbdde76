"""Every stopping rule in the estimator, as published and certified."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from kinds.parameters import nested
from kinds.rules import BY_ROWS_ON_MODELS
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.stopping import Budget, ConstantBoundary, ErrorSpending, LikelihoodRatio, Margin, Qwyc
from wald.stopping.papers.levels import OptimisticBoundaryWarning


def make(classes=2, n=4000):
    return make_classification(
        n, 20, n_informative=8, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )


X2, y2 = make()
X3, y3 = make(classes=3)
# Risks of classes, and the sides to which they let rows leave.
SIDES = {
    "negative": {"positive": 0.05, "negative": 0},
    "positive": {"negative": 0.05, "positive": 0},
    "both": {"each": 0.05},
}
LINEAR = LogisticRegression().fit(X2[:800], y2[:800])
KERNEL = SVC().fit(X2[:400], y2[:400])
SEVERAL = LogisticRegression().fit(X3[:800], y3[:800])


def wrap(model, X, **params):
    params = {"random_state": 0, "cost": "units"} | params
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(X[800:3200])


@pytest.mark.parametrize("model", [LINEAR, KERNEL], ids=["linear", "kernel"])
@pytest.mark.parametrize("rule", BY_ROWS_ON_MODELS, ids=repr)
def test_as_published(rule, model):
    fast = wrap(model, X2, rule=rule, risk=None)
    assert fast.certificate_.status == "measured"
    assert fast.certificate_.q == 1.0
    assert "not a promise" in str(fast.certificate_)
    labels, cost = fast.predict(X2[3200:], return_cost=True)
    assert cost.mean() < fast.plan_.full_cost
    assert np.mean(labels != model.predict(X2[3200:])) <= fast.certificate_.intervals[0][1] + 0.03


@pytest.mark.parametrize("model", [LINEAR, KERNEL], ids=["linear", "kernel"])
@pytest.mark.parametrize("rule", BY_ROWS_ON_MODELS, ids=repr)
def test_certified(rule, model):
    fast = wrap(model, X2, rule=rule, risk=0.05)
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.verify()
    labels, cost = fast.predict(X2[3200:], return_cost=True)
    assert cost.mean() < fast.plan_.full_cost
    assert np.mean(labels != model.predict(X2[3200:])) <= 0.07


@pytest.mark.parametrize("rule", [Qwyc(), ErrorSpending(0.02), Margin(2.0, 3)], ids=repr)
@pytest.mark.parametrize("risk", [None, 0.05])
def test_several_classes(rule, risk):
    fast = wrap(SEVERAL, X3, rule=rule, risk=risk)
    labels, cost = fast.predict(X3[3200:], return_cost=True)
    assert cost.mean() < fast.plan_.full_cost
    assert np.mean(labels != SEVERAL.predict(X3[3200:])) <= (0.05 if risk else fast.certificate_.intervals[0][1]) + 0.03
    with pytest.raises(ValueError, match="binary models"):
        wrap(SEVERAL, X3, rule=LikelihoodRatio(), risk=risk)


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize(
    "rule", [BY_ROWS_ON_MODELS[0], BY_ROWS_ON_MODELS[3], BY_ROWS_ON_MODELS[5], BY_ROWS_ON_MODELS[8]], ids=repr
)
def test_risks_of_classes(rule, sides):
    fast = wrap(LINEAR, X2, rule=rule, risk=SIDES[sides])
    labels, cost = fast.predict(X2[3200:], return_cost=True)
    full = LINEAR.predict(X2[3200:])
    early = cost < fast.plan_.full_cost
    assert early.any()
    if sides != "both":
        assert set(labels[early]) == {0 if sides == "negative" else 1}
    for label in (0, 1):
        assert np.mean(labels[full == label] != label) <= 0.08


@pytest.mark.parametrize("model", [LINEAR, KERNEL], ids=["linear", "kernel"])
@pytest.mark.parametrize("risk", [None, 0.05])
def test_the_order_of_qwyc(model, risk):
    fast = wrap(model, X2, rule=Qwyc(alpha=0.01), order="qwyc", risk=risk)
    n_units = len(fast.plan_.order)
    assert sorted(fast.plan_.order) == list(range(n_units))
    labels, cost = fast.predict(X2[3200:], return_cost=True)
    assert np.mean(labels != model.predict(X2[3200:])) <= 0.07
    if risk is None:  # what the order is made for: the thresholds as placed
        random = wrap(model, X2, rule=Qwyc(alpha=0.01), order="random", risk=None)
        assert cost.mean() < random.predict(X2[3200:], return_cost=True)[1].mean()


def test_the_order_of_qwyc_goes_with_other_rules_and_needs_two_classes():
    fast = wrap(LINEAR, X2, order="qwyc", risk=0.05)
    assert fast.certificate_.status == "certified"
    groups = {"first": [0, 1, 2], "second": [3, 4]}
    grouped = wrap(LINEAR, X2, order="qwyc", risk=0.05, feature_groups=groups, feature_costs={"first": 9.0})
    assert len(grouped.plan_.order) == 17
    with pytest.raises(ValueError, match="order='qwyc' is for binary models"):
        wrap(SEVERAL, X3, order="qwyc")


@pytest.mark.parametrize("rule", BY_ROWS_ON_MODELS, ids=repr)
def test_rules_survive_clone_and_pickle_and_promise_nothing_by_proof(rule):
    fast = wrap(LINEAR, X2, rule=rule, risk=0.05)
    assert clone(fast).planner.rule == rule
    again = pickle.loads(pickle.dumps(fast))
    np.testing.assert_array_equal(again.predict(X2), fast.predict(X2))
    with pytest.raises(ValueError, match="certified by proof"):
        wrap(LINEAR, X2, rule=rule, risk=0)


def test_by_time():
    fast = wrap(LINEAR, X2, rule=Qwyc(alpha=0.01), risk=0.05, cost="time")
    assert np.mean(fast.predict(X2[3200:]) != LINEAR.predict(X2[3200:])) <= 0.07


def test_a_rule_warns_once_however_many_plans_were_tried_and_where_fit_was_called():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        wrap(KERNEL, X2, rule=ConstantBoundary("reflection_raw"), risk=None, cost="time")
    assert [(w.category, w.filename) for w in caught] == [(OptimisticBoundaryWarning, __file__)]


@pytest.mark.parametrize(("sides", "other"), [("positive", "negative"), ("negative", "positive")])
def test_a_rule_that_contradicts_the_promise_is_refused(sides, other):
    for rule in (Qwyc(sides=other), ConstantBoundary(sides=other), Margin(sides=other)):
        with pytest.raises(ValueError, match=f"leave as {sides} only, and sides='{other}'.*none could leave"):
            wrap(LINEAR, X2, rule=rule, risk=SIDES[sides])
    with pytest.raises(ValueError, match=r"Budget\(.*\) makes every row leave"):
        wrap(LINEAR, X2, rule=Budget(5), risk={other: None, sides: 0})


def test_a_class_is_no_rule():
    with pytest.raises(TypeError, match="Got the class Qwyc: add parentheses"):
        wrap(LINEAR, X2, rule=Qwyc)
