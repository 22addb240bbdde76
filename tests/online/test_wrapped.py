"""`EarlyExitClassifier` takes the learners that are trained with attention."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner, load, save
from wald.online import (
    AttentiveBoosting,
    AttentivePassiveAggressive,
    AttentivePegasos,
    AttentivePerceptron,
)

pytestmark = pytest.mark.filterwarnings("ignore:no early exit", "ignore:The certificate's risk of")
LEARNERS = (AttentivePerceptron, AttentivePegasos, AttentivePassiveAggressive, AttentiveBoosting)


def rows(n_classes, dtype):
    X, y = make_classification(
        3000, 12, n_informative=8, n_classes=n_classes, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )
    return X.astype(dtype), np.array(["a", "b", "c", "d"])[y]


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("learner", LEARNERS)
def test_labels_at_risk_0_are_the_learners_own(learner, average, n_classes, dtype):
    X, y = rows(n_classes, dtype)
    model = learner(max_iter=2, tol=None, average=average, random_state=0).fit(X[:800], y[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[800:1600])
    for served in (X[1600:], X[1600:].astype(np.float64), np.round(X[1600:])):
        np.testing.assert_array_equal(fast.predict(served), model.predict(served))
        np.testing.assert_array_equal([fast.predict_one(x) for x in served[:20]], model.predict(served[:20]))
    np.testing.assert_array_equal(fast.decision_function(X[1600:]), model.decision_function(X[1600:]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_at_the_thresholds_of_stumps_are_labelled_as_the_learner_does(learner):
    X, y = rows(2, np.float64)
    X = np.round(X)  # thresholds are quantiles: every value is one
    model = learner(max_iter=2, tol=None, random_state=0).fit(X[:800], y[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[800:1600])
    np.testing.assert_array_equal(fast.predict(X[1600:]), model.predict(X[1600:]))


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_learner_behind_a_scaler_leaves_early_within_its_risk(learner):
    X, y = rows(2, np.float64)
    model = make_pipeline(StandardScaler(), learner(max_iter=2, tol=None, random_state=0)).fit(X[:800], y[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.05, planner=Planner(cost="units"), random_state=0).fit(
        X[800:2400]
    )
    labels = fast.predict(X[2400:])
    assert (labels != model.predict(X[2400:])).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The file holds the terms")
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("learner", LEARNERS)
def test_files_of_learners(learner, n_classes, tmp_path):
    X, y = rows(n_classes, np.float64)
    model = learner(max_iter=2, tol=None, random_state=0).fit(X[:800], y[:800])
    for risk in (0, 0.05):
        fast = EarlyExitClassifier(
            FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0
        ).fit(X[800:2400])
        save(fast, tmp_path / "model.wald")
        loaded = [load(tmp_path / "model.wald", estimator=model)]
        if risk:
            loaded.append(load(tmp_path / "model.wald"))
        else:
            with pytest.raises(ValueError, match="promises the labels of the estimator itself"):
                load(tmp_path / "model.wald")
        labels, cost = fast.predict(X[2400:], return_cost=True)
        for one in loaded:
            for got, expected in zip(one.predict(X[2400:], return_cost=True), (labels, cost), strict=True):
                np.testing.assert_array_equal(got, expected)
            np.testing.assert_array_equal([one.predict_one(x) for x in X[2400:2420]], labels[:20])
            scores = model.decision_function(X[2400:])
            np.testing.assert_allclose(one.decision_function(X[2400:]), scores, rtol=1e-9, atol=1e-9)
            assert not hasattr(one, "predict_proba")


def test_stumps_need_no_rows():
    X, y = rows(2, np.float64)
    model = AttentiveBoosting(max_iter=2, tol=None, random_state=0).fit(X[:800], y[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
    np.testing.assert_array_equal(fast.predict(X[800:]), model.predict(X[800:]))


def test_a_learner_that_learns_on_is_noticed():
    X, y = rows(2, np.float64)
    model = AttentivePegasos(max_iter=2, tol=None, random_state=0).fit(X[:800], y[:800])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[800:1600])
    model.partial_fit(X[800:1600], y[800:1600])
    with pytest.raises(ValueError, match="Call fit again"):
        fast.predict(X[1600:])


def voters(X, y, n=12):
    """Classifiers of two columns each, the last of which knows the wrong labels."""
    fitted = [DecisionTreeClassifier(max_depth=2 + j % 3, random_state=j).fit(X[j::n], y[j::n]) for j in range(n - 2)]
    fitted.append(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    return [FrozenEstimator(each) for each in [*fitted, LogisticRegression().fit(X, y[::-1])]]


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("average", [True, False])
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_list_of_hypotheses(risk, average, dtype):
    X, y = rows(2, dtype)
    model = AttentiveBoosting(voters(X[:600], y[:600]), max_iter=3, tol=None, average=average, random_state=0)
    model.fit(X[:800], y[:800])
    assert (model.coef_ < 0).any()
    assert model.intercept_[0] != 0
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0).fit(
        X[800:2200]
    )
    served = X[2200:]
    labels, cost = fast.predict(served, return_cost=True)
    own = model.predict(served)
    if risk == 0:
        np.testing.assert_array_equal(labels, own)
        np.testing.assert_array_equal([fast.predict_one(x) for x in served[:20]], own[:20])
    assert (labels != own).mean() <= risk
    assert cost.mean() < fast.plan_.full_cost
    np.testing.assert_array_equal(fast.decision_function(served), model.decision_function(served))
    model.partial_fit(X[:100], y[:100])
    with pytest.raises(ValueError, match="Call fit again"):
        fast.predict(served)


def test_lists_of_hypotheses_that_are_refused_by_name():
    X, y = rows(4, np.float64)
    voter = FrozenEstimator(LogisticRegression().fit(X[:400], y[:400]))
    model = AttentiveBoosting([voter], max_iter=1, tol=None, random_state=0).fit(X[:800], y[:800])
    with pytest.raises(TypeError, match="a list of hypotheses and 4 classes"):
        EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[800:])
    two = np.isin(y, ["a", "b"])
    for other, why in ((voter, "knows other classes"), (lambda rows: rows[:, 0], "is no classifier")):
        model = AttentiveBoosting([other], max_iter=1, tol=None, random_state=0).fit(X[two], y[two])
        with pytest.raises(TypeError, match=rf"hypotheses\[0\], .* {why}"):
            EarlyExitClassifier(FrozenEstimator(model), risk=0).fit(X[two])
