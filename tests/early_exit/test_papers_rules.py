"""The papers' rules with a real estimator: measured as published, and scaled by a certificate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from kinds.parameters import nested
from kinds.rules import OF_THE_PAPERS
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier, Planner
from wald.stopping import ConstantBoundary, CurvedBoundary, OptimalBoundary
from wald.stopping.papers.levels import DegenerateBoundaryWarning, OptimisticBoundaryWarning

X, y = make_classification(6000, 20, n_informative=8, n_clusters_per_class=1, class_sep=1.5, random_state=0)
MODEL = LogisticRegression().fit(X[:800], y[:800])


def wrap(rule, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OptimisticBoundaryWarning)  # of the raw reflection
        warnings.simplefilter("ignore", DegenerateBoundaryWarning)
        return EarlyExitClassifier(
            FrozenEstimator(MODEL), **nested(rule=rule, order="random", cost="units", random_state=0, **params)
        ).fit(X[800:4800])


@pytest.mark.parametrize("rule", OF_THE_PAPERS, ids=repr)
def test_as_published_a_rule_is_measured(rule):
    fast = wrap(rule, risk=None)
    assert fast.certificate_.status == "measured"
    assert "not a promise" in str(fast.certificate_)
    labels, cost = fast.predict(X[4800:], return_cost=True)
    disagreement = (labels != MODEL.predict(X[4800:])).mean()
    counted = fast.certificate_.strata[0]
    assert disagreement == pytest.approx(counted.n_disagreements / counted.n_rows, abs=0.03)
    assert cost.mean() < 20
    if getattr(rule, "sides", "both") == "negative":
        assert (labels[cost < 20] == 0).all()


@pytest.mark.parametrize("rule", OF_THE_PAPERS, ids=repr)
def test_scaled_a_rule_is_certified(rule):
    fast = wrap(rule, risk=0.03)
    assert fast.certificate_.status == "certified"
    labels, cost = fast.predict(X[4800:], return_cost=True)
    assert (labels != MODEL.predict(X[4800:])).mean() <= 0.045
    assert cost.mean() < 20


def test_a_warning_reaches_the_user():
    rule = ConstantBoundary("bridge_simple")
    with pytest.warns(DegenerateBoundaryWarning, match="negative threshold"):
        EarlyExitClassifier(
            FrozenEstimator(MODEL), planner=Planner(rule=rule, order="random", cost="units"), risk=None
        ).fit(X[800:])


def test_several_classes_are_refused_with_what_to_use_instead():
    Xm, ym = make_classification(1500, 20, n_informative=8, n_classes=3, random_state=0)
    model = LogisticRegression().fit(Xm[:500], ym[:500])
    for rule in (ConstantBoundary(), CurvedBoundary(), OptimalBoundary()):
        with pytest.raises(ValueError, match=r"for binary models; for several classes use Ladder\(\)"):
            EarlyExitClassifier(FrozenEstimator(model), planner=Planner(rule=rule), risk=None).fit(Xm[500:])


def test_rows_of_one_class():
    """If the model calls all plan rows positive, the bridge has one side only; this is no error."""
    positives = X[800:][MODEL.predict(X[800:]) == 1]
    with pytest.warns(DegenerateBoundaryWarning, match="lets no row exit as positive"):
        fast = EarlyExitClassifier(
            FrozenEstimator(MODEL),
            planner=Planner(rule=ConstantBoundary(), order="random", cost="units"),
            risk=None,
            random_state=0,
        ).fit(positives)
    labels, cost = fast.predict(X[:500], return_cost=True)
    assert (labels[cost < 20] == 0).all()
    np.testing.assert_array_equal(labels[cost >= 20], MODEL.predict(X[:500])[cost >= 20])
