"""A model and a policy under a budget: spending, deadlines, and failures."""

from __future__ import annotations

import pickle
import time
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from wald.datasets import make_chains
from wald.structured import BudgetedPredictor, ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.policies import (
    AnytimePolicy,
    IteratedPolicy,
    MyopicPolicy,
    OneShotPolicy,
    QLearningPolicy,
    UniformPolicy,
)
from wald.structured.policies.driver import acquire

X, Y = make_chains(900, n_features=12, noise=1.6, random_state=0)
TRAIN, CALIBRATION, TEST = slice(0, 400), slice(400, 600), slice(600, 900)


def third(parts):
    return parts[:, ::3]


CHEAP = FeatureGroup("third", third, cost=1.0)
GROUPS = [CHEAP, FeatureGroup("all", cost=9.0)]
THREE = [CHEAP, FeatureGroup("half", lambda parts: parts[:, ::2], cost=2.0), FeatureGroup("all", cost=6.0)]
POLICIES = {
    "iterated": IteratedPolicy(random_state=0),
    "one-shot": OneShotPolicy(random_state=0),
    "simple": OneShotPolicy(features="simple", random_state=0),
    "parsimonious": OneShotPolicy(target="parsimonious", random_state=0),
    "wrong": OneShotPolicy(target="wrong", random_state=0),
    "anytime": AnytimePolicy(random_state=0),
    "q-learning": QLearningPolicy(random_state=0),
    "myopic": MyopicPolicy(),
    "parts": UniformPolicy(),
    "examples": UniformPolicy("example"),
}


@pytest.fixture(scope="module")
def model():
    return ChainClassifier(GROUPS, max_iter=8, random_state=0).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def three():
    return ChainClassifier(THREE, max_iter=8, random_state=0).fit(X[TRAIN], Y[TRAIN])


@pytest.fixture(scope="module")
def policies(model):
    return {name: clone(policy).fit(model, X[TRAIN], Y[TRAIN]) for name, policy in POLICIES.items()}


@pytest.fixture(scope="module")
def policies_of_three(three):
    return {name: clone(policy).fit(three, X[TRAIN], Y[TRAIN]) for name, policy in POLICIES.items()}


def accuracy(labels):
    return np.mean(np.concatenate(labels) == np.concatenate(Y[TEST]))


def test_learned_policies_beat_the_uniform_one(model, policies):
    found = {}
    for name, policy in policies.items():
        fast = BudgetedPredictor(model, policy, budget=4.0).fit(X[CALIBRATION])
        assert fast.mean_cost_ <= 4.0
        if name not in ("examples", "myopic"):  # they buy for whole examples, or not
            assert fast.mean_cost_ > 3.9
        labels, cost = fast.predict(X[TEST], return_cost=True)
        assert np.sum(cost) / sum(map(len, Y[TEST])) == pytest.approx(
            fast.mean_cost_, abs=1.0 if name == "examples" else 0.3
        )
        found[name] = accuracy(labels)
    for name in ("iterated", "one-shot", "parsimonious", "wrong"):
        assert found[name] > max(found["parts"], found["examples"]) + 0.01
    assert found["iterated"] > found["myopic"]


def test_learned_policies_find_the_parts_of_an_example(model, policies):
    found = {}
    for name in ("anytime", "one-shot", "iterated", "parts"):
        fast = BudgetedPredictor(model, policies[name], budget=4.0, spend="each").fit(X[CALIBRATION])
        found[name] = accuracy(fast.predict(X[TEST]))
    for name in ("anytime", "one-shot", "iterated"):
        assert found[name] > found["parts"] + 0.01


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("several", [False, True])
def test_an_example_depends_on_itself_alone(name, several, model, three, policies, policies_of_three):
    policy, fitted = (policies_of_three[name], three) if several else (policies[name], model)
    for spend in ("mean", "each"):
        fast = BudgetedPredictor(fitted, policy, budget=5.0, spend=spend).fit(X[CALIBRATION])
        labels, cost = fast.predict(X[TEST], return_cost=True)
        for i in (0, 17, 200):
            alone, price = fast.predict([X[600 + i]], return_cost=True)
            np.testing.assert_array_equal(alone[0], labels[i])
            assert price[0] == cost[i]


@pytest.mark.parametrize("name", POLICIES)
def test_the_ends_of_the_budget(name, three, policies_of_three):
    policy = policies_of_three[name]
    nothing = BudgetedPredictor(three, policy, budget=1.0).fit(X[CALIBRATION])
    labels, cost, state = nothing.predict(X[TEST], return_cost=True, return_state=True)
    assert not state.any()
    np.testing.assert_array_equal(cost, [len(y) for y in Y[TEST]])
    everything = BudgetedPredictor(three, policy, budget=9.0).fit(X[CALIBRATION])
    labels, state = everything.predict(X[TEST], return_state=True)
    assert state.all()
    for found, whole in zip(labels, three.predict(X[TEST]), strict=True):
        np.testing.assert_array_equal(found, whole)


def test_each_example_stays_within_the_budget(three, policies_of_three):
    lengths = np.array([len(y) for y in Y[TEST]])
    for policy in policies_of_three.values():
        fast = BudgetedPredictor(three, policy, budget=4.5, spend="each").fit(X[CALIBRATION])
        _, cost = fast.predict(X[TEST], return_cost=True)
        assert (cost <= 4.5 * lengths + 1e-9).all()
        assert (cost > 4.5 * lengths - 6.0 - 1e-9).all()  # no more is left than the dearest group costs


def test_balanced_weights_are_the_odds(three):
    share = OneShotPolicy(target="wrong", random_state=0).fit(three, X[TRAIN], Y[TRAIN]).share_
    names = three.group_names_[1:]
    by_hand = {name: (1 - asked) / asked for name, asked in zip(names, share, strict=True)}
    nothing, everyone = three.open(X[TEST]).state() & False, np.arange(300)
    balanced, same, plain = (
        OneShotPolicy(target="wrong", class_weight=weight, random_state=0)
        .fit(three, X[TRAIN], Y[TRAIN])
        .priority(three.open(X[TEST]), nothing, everyone)
        for weight in ("balanced", by_hand, 1.0)
    )
    np.testing.assert_allclose(balanced, same, rtol=1e-3, atol=1e-3)
    assert (balanced > 0).mean() > 2 * (plain > 0).mean()


def test_costs_are_the_users(model, policies):
    by_name = BudgetedPredictor(model, policies["wrong"], budget=30, feature_costs={"all": 50, "third": 10}).fit(
        X[CALIBRATION]
    )
    in_order = BudgetedPredictor(model, policies["wrong"], budget=30, feature_costs=[10, 50]).fit(X[CALIBRATION])
    assert by_name.threshold_ == in_order.threshold_
    assert 29 < by_name.mean_cost_ <= 30


class Slow:
    """An extractor that takes a given time per part."""

    def __init__(self, seconds):
        self.seconds = seconds

    def __call__(self, parts):
        time.sleep(self.seconds * len(parts))
        return parts


def test_time():
    slow = [CHEAP, FeatureGroup("all", Slow(2e-4))]
    fitted = ChainClassifier(slow, max_iter=1, random_state=0).fit(X[:20], Y[:20])
    policy = MyopicPolicy().fit(fitted)
    fast = BudgetedPredictor(fitted, policy, budget=100.0, feature_costs="time").fit(X[400:430])
    assert fast.mode_ == "policy"
    assert 200 < fast.group_costs_[1] < 1000
    assert fast.mean_cost_ <= 100
    with pytest.raises(ValueError, match="budget must lie between"):
        BudgetedPredictor(fitted, policy, budget=1e9, feature_costs="time").fit(X[400:430])


class Idle(MyopicPolicy):
    """A policy that takes 0.2 seconds per call, and counts its calls."""

    calls = 0

    def priority(self, session, state, examples):
        self.calls += 1
        time.sleep(0.2)
        return super().priority(session, state, examples)


def test_a_policy_that_costs_more_than_it_saves_is_left_out():
    slow = [CHEAP, FeatureGroup("all", Slow(1e-3))]
    fitted = ChainClassifier(slow, max_iter=1, random_state=0).fit(X[:5], Y[:5])
    policy = Idle().fit(fitted)
    fast = BudgetedPredictor(fitted, policy, budget=700.0, feature_costs="time").fit(X[400:410])
    assert fast.mode_ == "nothing"
    assert fast.mean_cost_ < 700
    before = policy.calls
    assert before > 0
    _, state = fast.predict(X[TEST], return_state=True)
    assert policy.calls == before
    assert not state.any()


def test_a_deadline():
    fitted = ChainClassifier([CHEAP, FeatureGroup("all", Slow(1e-3), cost=9.0)], max_iter=1, random_state=0).fit(
        X[:5], Y[:5]
    )
    for policy in (MyopicPolicy(), UniformPolicy()):
        fast = BudgetedPredictor(fitted, policy.fit(fitted), budget=10.0).fit(X[5:10])
        for deadline in (0, -1.0, 1e-9):
            labels, state = fast.predict(X[TEST], return_state=True, deadline=deadline)
            assert not state.any()
            assert len(labels) == 300
        start = time.perf_counter()
        labels, state = fast.predict(X[TEST], return_state=True, deadline=0.15)
        assert time.perf_counter() - start < 0.5
        assert 0 < state.sum() < 200
        for found, whole in zip(labels, fitted.predict(X[TEST], state=state), strict=True):
            np.testing.assert_array_equal(found, whole)
    labels, state = fast.predict(X[600:602], return_state=True, deadline=60)
    assert state.all()
    with pytest.raises(ValueError, match="deadline"):
        fast.predict(X[TEST], deadline=np.nan)


def test_the_stream(three, policies_of_three):
    policy = policies_of_three["anytime"]
    x = X[600]
    steps = list(policy.stream(x))
    assert len(steps) == 2 * len(x) + 1
    assert not steps[0].state.any()
    assert steps[-1].state.all()
    for before, after in pairwise(steps):
        assert (after.state & before.state == before.state).all()
        assert (after.state ^ before.state).sum() == 1
        assert after.cost > before.cost
    for step in steps:
        np.testing.assert_array_equal(step.prediction, three.predict([x], state=step.state)[0])
    stopped = list(policy.stream(x, budget=4.0))
    assert stopped[-1].cost <= 4.0 * len(x)
    assert [s.cost for s in stopped] == [s.cost for s in steps[: len(stopped)]]
    with pytest.raises(ValueError, match="at least 1"):
        next(policy.stream(x, budget=0.5))


def test_seconds(model, policies):
    found = acquire(policies["iterated"], model.open(X[TEST]), -2.0)
    assert set(found.seconds) == {"features", "policy", "inference"}
    assert min(found.seconds.values()) > 0


class Fragile:
    """An extractor that fails for chosen parts once this is switched on."""

    def __init__(self, failure):
        self.failure, self.armed = failure, False

    def __call__(self, parts):
        return self.failure(parts) if self.armed else parts


def raises(parts):
    raise RuntimeError("the service is down")


FAILURES = {
    "the service is down": raises,
    "must have one row for each": lambda parts: parts[:-1],
    "must have 12 features": lambda parts: parts[:, :-1],
    "NaN or infinity at part": lambda parts: np.where(np.arange(len(parts))[:, None] == 1, np.nan, parts),
}


@pytest.mark.parametrize("message", FAILURES)
@pytest.mark.parametrize("deadline", [None, 60])
def test_what_was_predicted_is_not_lost(message, deadline):
    fragile = Fragile(FAILURES[message])
    fitted = ChainClassifier([CHEAP, FeatureGroup("all", fragile, cost=9.0)], max_iter=2, random_state=0)
    fitted.fit(X[:50], Y[:50])
    fast = BudgetedPredictor(fitted, UniformPolicy().fit(fitted), budget=9.5).fit(X[50:100])
    fragile.armed = True
    with pytest.raises(ExtractionError, match=message) as error:
        fast.predict(X[TEST], deadline=deadline)
    assert "'all'" in str(error.value)
    assert "part" in str(error.value)
    for found, whole in zip(error.value.answers, fitted.predict(X[TEST], state=error.value.state), strict=True):
        np.testing.assert_array_equal(found, whole)
    again = pickle.loads(pickle.dumps(error.value))
    assert str(again) == str(error.value)
    assert len(again.answers) == 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "needs a budget"),
        ({"budget": 0.5}, "between 1 a part.*and 10"),
        ({"budget": 10.5}, "between 1 a part.*and 10"),
        ({"budget": np.nan}, "between 1 a part.*and 10"),
        ({"budget": 5, "feature_costs": [1, 0]}, "feature_costs must be finite"),
        ({"budget": 5, "feature_costs": [-1, 9]}, "feature_costs must be finite"),
        ({"budget": 5, "feature_costs": [1, np.inf]}, "feature_costs must be finite"),
        ({"budget": 5, "feature_costs": [1, 2, 3]}, "one entry for each"),
        ({"budget": 5, "feature_costs": {"third": 1}}, "a cost for each"),
        ({"budget": 5, "feature_costs": "money"}, "'feature_costs'"),
        ({"budget": 5, "spend": "all"}, "'spend'"),
    ],
)
def test_bad_parameters(model, policies, options, message):
    with pytest.raises(ValueError, match=message):
        BudgetedPredictor(model, policies["parts"], **options).fit(X[CALIBRATION])


def test_budgets_and_times_that_are_no_numbers(model, policies, policies_of_three):
    with pytest.raises(TypeError, match=r"budget must be a number\. Got '5' instead"):
        BudgetedPredictor(model, policies["parts"], budget="5").fit(X[CALIBRATION])
    with pytest.raises(TypeError, match=r"budget must be a number\. Got '5' instead"):
        next(policies_of_three["anytime"].stream(X[600], budget="5"))
    fast = BudgetedPredictor(model, policies["parts"], budget=5).fit(X[CALIBRATION])
    for name in ("deadline", "timeout"):
        with pytest.raises(TypeError, match=rf"{name} must be a number\. Got 'soon' instead"):
            fast.predict(X[TEST], **{name: "soon"})


def test_a_policy_of_another_model(model, three, policies):
    with pytest.raises(ValueError, match="fitted for another model"):
        BudgetedPredictor(three, policies["iterated"], budget=5).fit(X[CALIBRATION])
    with pytest.raises(NotFittedError):
        BudgetedPredictor(model, IteratedPolicy(), budget=5).fit(X[CALIBRATION])
    with pytest.raises(TypeError, match="policy must be"):
        BudgetedPredictor(model, "uniform", budget=5).fit(X[CALIBRATION])
    fast = BudgetedPredictor(model, policies["iterated"], budget=5).fit(X[CALIBRATION])
    fast.model = three
    with pytest.raises(ValueError, match="fitted for another model"):
        fast.predict(X[TEST])


def test_policies_refuse_what_they_cannot_use(model):
    single = ChainClassifier([CHEAP], max_iter=1).fit(X[:20], Y[:20])
    with pytest.raises(ValueError, match="costly group"):
        UniformPolicy().fit(single)
    with pytest.raises(TypeError, match="structured model"):
        UniformPolicy().fit("model")
    with pytest.raises(ValueError, match="needs y"):
        IteratedPolicy().fit(model, X[CALIBRATION])
    for policy, message in [
        (UniformPolicy(random_state=None), "'random_state' parameter of UniformPolicy must be an integer from 0"),
        (OneShotPolicy(-1.0), "tradeoff"),
        (OneShotPolicy(1e9), "smaller tradeoff"),
        (OneShotPolicy(tau=np.nan), "tau"),
        (OneShotPolicy(t_max=0), "t_max"),
        (OneShotPolicy(target="oracle"), "target"),
        (OneShotPolicy(features="all"), "features"),
        (OneShotPolicy(class_weight=0.0), "class_weight"),
        (OneShotPolicy(class_weight="even"), "'class_weight'.*'balanced'"),
        (OneShotPolicy(class_weight={"other": 1.0}), "class_weight must have a weight for each of"),
        (OneShotPolicy(C=0.0), "'C'"),
        (AnytimePolicy(np.inf), "tradeoff"),
        (AnytimePolicy(t_max=0), "t_max"),
        (AnytimePolicy(t_max=None), "t_max"),  # only a search for pseudo-labels may go on to the end
        (QLearningPolicy(gamma=2.0), "gamma"),
        (QLearningPolicy(t_max=0), "t_max"),
        (QLearningPolicy(alpha=-1.0), "alpha"),
        (IteratedPolicy("right"), "target"),
        (IteratedPolicy(pace=2.0), "pace"),
        (IteratedPolicy(n_rounds=0), "n_rounds"),
        (IteratedPolicy(n_states=-1), "n_states"),
        (IteratedPolicy(max_iter=0), "max_iter"),
        (UniformPolicy("word"), "level"),
    ]:
        with pytest.raises(ValueError, match=message):
            policy.fit(model, X[:60], Y[:60])
        if "smaller" not in message:
            assert not hasattr(policy, "model_")  # it has not been fitted
    with pytest.raises(TypeError, match=r"OneShotPolicy.fit needs X"):
        OneShotPolicy().fit(model)


def test_without_labels(model):
    for policy in (IteratedPolicy("differs", random_state=0), OneShotPolicy(random_state=0)):
        fast = BudgetedPredictor(model, policy.fit(model, X[CALIBRATION]), budget=4.0).fit(X[CALIBRATION])
        uniform = BudgetedPredictor(model, UniformPolicy().fit(model), budget=4.0).fit(X[CALIBRATION])
        assert accuracy(fast.predict(X[TEST])) > accuracy(uniform.predict(X[TEST]))


def test_pickled_together(model, policies):
    for policy in policies.values():
        fast = BudgetedPredictor(model, policy, budget=5).fit(X[CALIBRATION])
        again = pickle.loads(pickle.dumps(fast))
        for one, other in zip(fast.predict(X[TEST]), again.predict(X[TEST]), strict=True):
            np.testing.assert_array_equal(one, other)
