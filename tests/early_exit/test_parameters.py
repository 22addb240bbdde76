"""Parameters of the constructor and of the call."""

import numpy as np
import pytest
from early_exit.models import MODELS, X2, X3, make, wrap
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import CostModel, EarlyExitClassifier, Planner
from wald.stopping import Budget, ConstantBoundary, Ladder


def test_budget_is_kept_by_every_row_and_checked():
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X[5000:], budget=10, return_cost=True)
    assert cost.max() <= 10
    assert np.mean(labels == model.predict(X[5000:])) > 0.8
    assert fast.predict_one(X[5000], budget=10, return_cost=True)[1] <= 10
    everything = fast.predict(X[5000:], budget=1e9, return_cost=True)
    np.testing.assert_array_equal(everything[1], fast.predict(X[5000:], return_cost=True)[1])
    for bad in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="budget must be at least"):
            fast.predict(X[5000:], budget=bad)
    with pytest.raises(TypeError, match=r"budget must be a number. Got '9' instead"):
        fast.predict(X[5000:], budget="9")


def test_budget_works_where_the_plan_evaluates_everything():
    model, X = MODELS["rbf"]
    with pytest.warns(UserWarning, match="certificate rows needed"):
        fast = wrap(model, X[1000:1100], risk=0.001)
    assert fast.plan_.evaluate_all
    np.testing.assert_array_equal(fast.predict(X), model.predict(X))
    assert fast.predict(X[5000:], budget=20, return_cost=True)[1].max() <= 20


@pytest.mark.parametrize(
    ("risk", "sides"),
    [
        ({"positive": 0.05, "negative": 0}, "negative"),
        ({"negative": 0.05, "positive": 0}, "positive"),
        ({1: 0.05, 0: 0}, "negative"),
        ({"each": 0.05}, "both"),
    ],
    ids=str,
)
def test_risks_of_classes(risk, sides):
    model, X = MODELS["rbf"]
    fast = wrap(model, X[1000:5000], risk=risk)
    full = model.predict(X[5000:])
    labels, cost = fast.predict(X[5000:], return_cost=True)
    early = cost < fast.plan_.full_cost
    if sides != "both":
        assert set(labels[early]) == {0 if sides == "negative" else 1}
        assert fast.certificate_.about == ("positive" if sides == "negative" else "negative")
    for label in (0, 1):
        assert np.mean(labels[full == label] != label) <= 0.07
    with pytest.raises(ValueError, match="two classes"):
        wrap(MODELS["one-vs-one"][0], X3[1000:3000], risk={"positive": 0.05, "negative": 0})


@pytest.mark.parametrize("order", ["greedy", "random", "sorted", "array"])
@pytest.mark.parametrize("readout", ["regressed", "partial"])
def test_orders_and_readouts(order, readout):
    model, X = MODELS["logistic"]
    given = np.arange(X.shape[1])[::-1] if order == "array" else order
    fast = wrap(model, X[1000:5000], order=given, rule=Ladder(readout=readout), risk=0.05)
    if order == "array":
        np.testing.assert_array_equal(fast.plan_.order, given)
    assert np.mean(fast.predict(X[5000:]) != model.predict(X[5000:])) <= 0.07


def test_rules_of_the_papers():
    model, X = MODELS["logistic"]
    measured = wrap(model, X[1000:5000], rule=ConstantBoundary(), risk=None, order="random")
    assert measured.certificate_.status == "measured"
    assert "not a promise" in str(measured.certificate_)
    certified = wrap(model, X[1000:5000], rule=ConstantBoundary(), order="random")
    assert certified.certificate_.status == "certified"
    capped = wrap(model, X[1000:5000], rule=Budget(7), risk=None)
    _, cost = capped.predict(X[5000:], return_cost=True)
    assert set(np.unique(cost)) <= {7.0, capped.plan_.full_cost}
    assert cost.mean() < 8
    for rule, risk in ((ConstantBoundary(), 0), (Budget(7), 0.1)):
        with pytest.raises(ValueError, match="risk"):
            wrap(model, X[1000:5000], rule=rule, risk=risk)


def test_feature_costs_and_groups():
    pandas = pytest.importorskip("pandas")
    model, X = MODELS["logistic"]
    names = [f"f{i}" for i in range(20)]
    frame = pandas.DataFrame(X, columns=names)
    costs = np.linspace(1, 20, 20)
    fast = wrap(model, X[1000:5000], feature_costs=costs)
    assert fast.plan_.full_cost == costs.sum()
    grouped = wrap(
        model, frame[1000:5000], feature_groups={"lab": ["f0", "f1", 2]}, feature_costs={"lab": 10.0, "f5": 3.0}
    )
    assert grouped.plan_.full_cost == 10 + 3 + 16
    together = [t for t in grouped.plan_.terms if t in (0, 1, 2)]
    assert together in ([], [0, 1, 2])
    bad = {
        "one cost per feature": {"feature_costs": np.ones(3)},
        "positive": {"feature_costs": np.r_[0.0, np.ones(19)]},
        "neither a feature name": {"feature_costs": {"nope": 1.0}},
        "no feature name": {"feature_groups": {"a": ["nope"]}},
        "one group": {"feature_groups": {"a": [0], "b": [0]}},
        "columns are indices": {"feature_groups": {"a": [99]}},
    }
    for message, params in bad.items():
        with pytest.raises(ValueError, match=message):
            wrap(model, X[1000:3000], **params)
    with pytest.raises(ValueError, match="need a linear model"):
        wrap(MODELS["rbf"][0], X2[1000:3000], feature_costs=np.ones(20))


def test_groups_stay_together_and_certify_one_row_each():
    model, X = MODELS["rbf"]
    groups = np.repeat(np.arange(800), 5)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.02, random_state=0, planner=Planner(cost="units"))
    fast.fit(X[1000:5000], groups=groups)
    assert fast.certificate_.grouped
    assert fast.certificate_.n_rows == 400
    with pytest.raises(ValueError, match="groups must have one entry"):
        fast.fit(X[1000:5000], groups=groups[:10])


@pytest.mark.slow
def test_a_cost_model_can_be_passed_in_and_full_evaluation_wins_where_it_is_cheaper():
    model, X = MODELS["rbf"]
    costly = CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=0.5)
    fast = wrap(model, X[1000:5000], cost=costly)
    assert fast.plan_.evaluate_all
    assert fast.plan_.cost_model == costly
    labels, cost = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert (cost == fast.plan_.full_cost).all()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("risk", [0, 0.02])
@pytest.mark.parametrize("name", ["rbf", "one-vs-one", "logistic"])
def test_few_rows_and_many_get_the_same_where_everything_is_evaluated(name, risk):
    model, X = MODELS[name]
    costly = CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=0.5)
    fast = wrap(model, X[1000:5000], risk=risk, cost=costly)
    assert fast.plan_.evaluate_all
    for n in (1, 2, 128, 129, 400):
        labels, cost = fast.predict(X[5000 : 5000 + n], return_cost=True)
        np.testing.assert_array_equal(labels, model.predict(X[5000 : 5000 + n]))
        assert labels.dtype == model.classes_.dtype
        assert (cost == fast.plan_.full_cost).all()


@pytest.mark.parametrize("risk", [0, 0.02])
def test_a_trace_costs_what_predict_says_where_everything_is_evaluated(risk):
    model, X = MODELS["rbf"]
    costly = CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=0.5)
    fast = wrap(model, X[1000:5000], risk=risk, cost=costly)
    assert fast.plan_.evaluate_all
    assert fast.trace(X[0]).cost == fast.predict(X[:1], return_cost=True)[1][0] == fast.plan_.full_cost


def test_trace_and_stage_scores_equal_the_stages_of_predict():
    for name in ("rbf", "one-vs-one", "logistic"):
        model, X = MODELS[name]
        fast = wrap(model, X[1000:5000])
        scores, stage = fast.stage_scores(X[5000:5100])
        labels, cost = fast.predict(X[5000:5100], return_cost=True)
        np.testing.assert_array_equal(fast.plan_.stage_costs[stage], cost)
        _low, high = fast.plan_.thresholds()
        for i in range(20):
            walk = fast.trace(X[5000 + i])
            assert (walk.label, walk.cost) == (labels[i], cost[i])
            inside = (walk.scores[: walk.stage] <= high[: walk.stage]).all()
            assert inside
            assert scores.shape[1] == fast.plan_.n_stages + 1


def test_metadata_reaches_the_estimator():
    X, y = make(n=1000)
    seen = {}

    class Spy(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            seen["weights"] = sample_weight
            return super().fit(X, y, sample_weight)

    EarlyExitClassifier(Spy(), risk=0.1, random_state=0).fit(X, y, sample_weight=np.arange(1.0, 1001.0))
    assert seen["weights"].shape == (500,)
    with pytest.raises(ValueError, match="sample_weight"):
        EarlyExitClassifier(FrozenEstimator(LogisticRegression().fit(X, y))).fit(X, sample_weight=np.ones(1000))
