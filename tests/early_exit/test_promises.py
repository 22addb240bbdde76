"""The promises: few labels differ, none at risk=0, and a row's answer depends on the row alone."""

import numpy as np
import pytest
from early_exit.models import MODELS, make, wrap
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald.stopping import Ladder, Lossless


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_risk_is_kept_and_work_is_saved(name, dtype):
    model, X = MODELS[name]
    X = X.astype(dtype)
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X[5000:], return_cost=True)
    assert fast.certificate_.status == "certified"
    assert fast.certificate_.verify()
    assert np.mean(labels != model.predict(X[5000:])) <= 0.03
    assert cost.dtype == np.float64
    assert cost.mean() < 0.9 * fast.plan_.full_cost


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
def test_risk_0_gives_the_wrapped_models_own_labels(name):
    model, X = MODELS[name]
    for kwargs in ({}, {"cost": "time"}):
        fast = wrap(model, X[1000:3000], risk=0, **kwargs)
        np.testing.assert_array_equal(fast.predict(X), model.predict(X))
        assert [fast.predict_one(x) for x in X[:50]] == model.predict(X[:50]).tolist()


def test_lossless_exits_of_a_linear_model_with_known_ranges():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (4000, 30)).astype(np.uint8)
    y = X[:, :5].sum(axis=1) > 640
    model = LogisticRegression(max_iter=1000).fit(X[:1000] / 255.0, y[:1000])
    model.coef_ /= 255.0
    fast = wrap(model, X[1000:2000], risk=0, rule=Lossless(low=0, high=255))
    labels, cost = fast.predict(X, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(X))
    assert cost.mean() < 0.8 * 30
    assert str(fast.certificate_) == "lossless: no row can differ"


@pytest.mark.parametrize("name", ["rbf", "one-vs-one", "logistic", "logistic multiclass", "scaled rbf"])
def test_a_rows_answer_depends_on_the_row_alone(name):
    model, X = MODELS[name]
    fast = wrap(model, X[1000:5000])
    labels, cost = fast.predict(X, return_cost=True)
    order = np.random.default_rng(1).permutation(len(X))
    for n_jobs in (1, 2, 4):
        fast.n_jobs = n_jobs
        shuffled, shuffled_cost = fast.predict(X[order], return_cost=True)
        np.testing.assert_array_equal(shuffled, labels[order])
        np.testing.assert_array_equal(shuffled_cost, cost[order])
    for i in range(40):
        assert fast.predict_one(X[i], return_cost=True) == (labels[i], cost[i])
    views = (X[::-1][::-1], np.asfortranarray(X), X[:, ::-1].copy()[:, ::-1])
    for view in views:
        same, same_cost = fast.predict(view, return_cost=True)
        np.testing.assert_array_equal(same, labels)
        np.testing.assert_array_equal(same_cost, cost)


def test_features_far_from_zero_keep_their_labels():
    X, y = make()
    far = X + 1e4
    model = SVC(gamma=0.05).fit(far[:800], y[:800])
    fast = wrap(model, far[1000:5000].astype(np.float32))
    assert np.mean(fast.predict(far[5000:]) != model.predict(far[5000:])) <= 0.03


def test_same_seed_same_plan():
    model, X = MODELS["rbf"]
    first, second = (wrap(model, X[1000:5000]) for _ in range(2))
    np.testing.assert_array_equal(first.plan_.terms, second.plan_.terms)
    assert first.plan_.q == second.plan_.q
    assert str(first.certificate_) == str(second.certificate_)


def test_greedy_regressed_needs_fewer_terms_than_the_papers_way():
    model, X = MODELS["rbf"]
    ours, theirs = (
        wrap(model, X[1000:5000], **kw).predict(X[5000:], return_cost=True)[1].mean()
        for kw in ({}, {"order": "random", "rule": Ladder(readout="partial")})
    )
    assert ours < theirs / 2
