"""Details of predictions: at which stage each row left, what it paid, and who answered it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from kinds.parameters import nested
from outputs.bands import BandRegression
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.early_exit import Answers, Status
from wald.stopping import Lossless

X, Y = make_classification(4000, 20, n_informative=8, random_state=0)
MODELS = {
    "linear": LogisticRegression(),
    "kernel": SVC(),
    "trees": HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "votes": VotingClassifier([("a", LogisticRegression()), ("b", GaussianNB()), ("c", SVC())]),
}


def fitted(model, rows=X[1000:], **options):
    options = {"risk": 0.05, "cost": "units", "random_state": 0, **options}
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**options)).fit(rows)


@pytest.fixture(scope="module", params=MODELS)
def fast(request):
    return fitted(MODELS[request.param].fit(X[:1000], Y[:1000]), risk=0.01)


def columns(answers):
    assert isinstance(answers, Answers)
    return [np.asarray(part) for part in (answers.labels, answers.costs, answers.stages, answers.status)]


def test_who_answered_and_what_it_cost(fast):
    labels, costs, stages, status = columns(fast.predict(X, details=True))
    plain, paid = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, plain)
    np.testing.assert_array_equal(costs, paid)
    early = stages < fast.plan_.n_stages
    assert early.any()
    np.testing.assert_array_equal(status == Status.EARLY, early)
    assert np.isin(status[~early], [Status.FULL, Status.HANDED_OVER]).all()
    np.testing.assert_array_equal(costs, fast.plan_.stage_costs[stages])


def test_single_rows_and_records_have_the_same_details(fast):
    whole = columns(fast.predict(X[:40], details=True))
    alone = [columns(fast.predict_one(x, details=True)) for x in X[:40]]
    for one, many in zip(zip(*alone, strict=True), whole, strict=True):
        np.testing.assert_array_equal(np.concatenate(one), many)


def test_records():
    names = [f"c{i}" for i in range(20)]
    frame = pd.DataFrame(X, columns=names)
    fast = fitted(LogisticRegression().fit(frame[:1000], Y[:1000]), frame[1000:])
    found = fast.predict_records(frame[:30].to_dict("records"), details=True)
    for one, other in zip(columns(found), columns(fast.predict(frame[:30], details=True)), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_budget_names_the_rows_that_it_stopped(fast):
    budget = float(fast.plan_.stage_costs[0])
    _, costs, stages, status = columns(fast.predict(X, budget=budget, details=True))
    assert (costs <= budget).all()
    free = columns(fast.predict(X, details=True))
    stopped = status == Status.OUT_OF_BUDGET
    assert stopped.any()
    np.testing.assert_array_equal(stopped, free[2] > 0)
    assert not stages.any()
    assert (status[~stopped] == Status.EARLY).all()


def test_ties_are_handed_over():
    rng = np.random.default_rng(0)
    rows = rng.integers(-1, 2, (3000, 12)).astype(float)
    model = SGDClassifier(random_state=0).fit(rows[:200], rows[:200].sum(axis=1) > 0)
    model.coef_, model.intercept_ = np.ones((1, 12)), np.zeros(1)
    fast = fitted(model, rows[:2000])
    _, costs, stages, status = columns(fast.predict(rows[2000:], details=True))
    tied = (rows[2000:].sum(axis=1) == 0) & (stages == fast.plan_.n_stages)
    assert tied.any()
    np.testing.assert_array_equal(status == Status.HANDED_OVER, tied)
    assert (costs[tied] == fast.plan_.full_cost).all()


@pytest.mark.parametrize("n_rows", [1, 100, 500])
def test_what_a_lossless_plan_leaves_open_is_evaluated(n_rows):
    fast = fitted(SVC().fit(X[:1000], Y[:1000]), risk=0)
    labels, costs, _, status = columns(fast.predict(X[:n_rows], details=True))
    np.testing.assert_array_equal(labels, fast.estimator.estimator.predict(X[:n_rows]))
    assert (status == Status.FULL).all()  # by the engine, within a bound of rounding that no label is near
    assert (costs == fast.plan_.full_cost).all()


def test_an_exit_that_is_undone_pays_for_everything():
    rng = np.random.default_rng(0)
    model = LogisticRegression().fit(rng.random((500, 20)), rng.integers(0, 2, 500))
    model.coef_ = rng.normal(size=(1, 20)) * np.geomspace(10, 0.1, 20)
    model.intercept_ = -model.coef_.sum(axis=1) / 2
    fast = fitted(model, rng.random((2000, 20)), risk=0, rule=Lossless(low=0, high=1))
    rows = rng.random((400, 20))
    before = columns(fast.predict(rows, details=True))
    early = before[3] == Status.EARLY
    assert early.mean() > 0.5
    rows[:, -1] = 1.5
    for found in (
        columns(fast.predict(rows, details=True)),
        [
            np.concatenate(part)
            for part in zip(*(columns(fast.predict_one(x, details=True)) for x in rows), strict=True)
        ],
    ):
        _, costs, stages, status = found
        assert (costs == fast.plan_.full_cost).all()
        assert (stages == fast.plan_.n_stages).all()
        assert (status == Status.FULL).all()


@pytest.mark.filterwarnings("ignore:overflow encountered", "ignore:invalid value", "ignore:The certificate's risk")
@pytest.mark.parametrize("kind", ["linear", "several classes", "in Python"])
def test_an_estimate_that_overflows_pays_for_everything(kind):
    target = {"linear": Y, "several classes": Y + 2 * (X[:, 0] > 0), "in Python": X.sum(axis=1) / X.sum(axis=1).std()}
    model = BandRegression() if kind == "in Python" else LogisticRegression(C=100, max_iter=1000)
    model.fit(X[:1000], target[kind][:1000])
    model.coef_ = model.coef_ * 100.0
    fast = fitted(model)
    assert fast.plan_.n_stages > 1
    rows = np.full((40, 20), 1.7e308)
    watched = fast.watched(1.0)
    budget = float(fast.plan_.stage_costs[0])
    for found in (
        columns(watched.predict(rows, details=True)),
        columns(watched.predict_one(rows[0], details=True)),
        columns(watched.predict(rows, details=True, budget=budget)),
        columns(watched.predict_one(rows[0], details=True, budget=budget)),
    ):
        labels, costs, stages, status = found
        np.testing.assert_array_equal(labels, model.predict(rows[: len(labels)]))
        assert (costs == fast.plan_.full_cost).all()
        assert (stages == fast.plan_.n_stages).all()
        assert (status == Status.HANDED_OVER).all()
    assert watched.monitor_.stage_counts.tolist() == [0] * fast.plan_.n_stages + [41]
    assert watched.monitor_.mean_cost[1] == fast.plan_.full_cost


def test_what_is_evaluated_in_full_costs_the_model_s_units():
    """A forest's tree is one unit, however many classes its leaves have; and costs of features are those given."""
    scores = X @ np.linspace(-1, 1, 20)
    classes = np.digitize(scores, np.quantile(scores, [0.3, 0.7]))
    forest = RandomForestClassifier(12, max_depth=4, random_state=0).fit(X[:1000], classes[:1000])
    for fast in (
        EarlyExitClassifier(forest, risk=0, random_state=0).fit(X[1000:]),
        EarlyExitClassifier(forest, risk=0).fit(),
        fitted(forest),
    ):
        assert fast.plan_.full_cost == 12
        assert fast.plan_.stages[-1] == 12
        assert fast.predict(X[:50], details=True).costs.max() <= 12
    prices = np.linspace(1, 20, 20)
    priced = EarlyExitClassifier(forest, risk=0, random_state=0, feature_costs=prices).fit(X[1000:])
    used = np.unique(np.concatenate([t.tree_.feature[t.tree_.feature >= 0] for t in forest.estimators_]))
    assert priced.plan_.full_cost == prices[used].sum()
    linear = LogisticRegression().fit(X[:1000], classes[:1000])
    for rows in (X[1000:], sparse.csr_matrix(X[1000:])):
        for risk in (0, 0.05):
            fast = EarlyExitClassifier(linear, risk=risk, random_state=0, feature_costs=prices).fit(rows)
            assert fast.plan_.full_cost == pytest.approx(prices.sum())


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8", "f2"])
@pytest.mark.parametrize("risk", [0, 0.01])
@pytest.mark.parametrize("name", MODELS)
def test_labels_alone_are_those_of_the_details_in_calls_of_any_size(name, risk, dtype):
    """Few distinct values make ties; arrays of labels alone go a shorter way."""
    rows = np.clip(np.rint(X + 3), 0, 6).astype(dtype)
    model = MODELS[name].fit(rows[:1000].astype(float), Y[:1000])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rare classes
        fast = fitted(model, rows[1000:3000].astype(float), risk=risk)
    for some in (rows[3000:], np.asfortranarray(rows[3000:]), rows[3000::2], rows[3000:, ::-1][:, ::-1]):
        told = fast.predict(some, details=True).labels
        for n in (1, 5, 100, len(some)):
            np.testing.assert_array_equal(fast.predict(some[:n]), told[:n])
        if risk == 0:
            np.testing.assert_array_equal(told, model.predict(some))
