"""Shrinking skips exactly the examples that caused no update; averages begin at the given example."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from kinds.learners import UPDATES
from online.reference import learn, walk_problem
from scipy import sparse
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import wald
from wald import _core
from wald.online import AttentiveBoosting, AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

X, Y = walk_problem(np.random.default_rng(0), 600)
FULL = {"attention": "full", "tol": None, "shuffle": False, "random_state": 0}


def _csr(rows):
    """Rows as CSR, with zeros stored explicitly."""
    n, d = rows.shape
    return sparse.csr_matrix((rows.ravel(), np.tile(np.arange(d), n), np.arange(n + 1) * d), shape=rows.shape)


@pytest.mark.parametrize(("rule", "model", "rate"), UPDATES)
@pytest.mark.parametrize("average", [False, True, 700])
@pytest.mark.parametrize("container", [np.asarray, _csr])
def test_shrinking_is_as_it_says(rule, model, rate, average, container):
    ours = clone(model).set_params(average=average, shrinking=True, max_iter=7, **FULL).fit(container(X), Y)
    theirs = learn(rule, X, Y, epochs=7, rate=rate, begin=0 if average is True else average, shrinking=True)
    w, b = (theirs.mean_w, theirs.mean_b) if average else (theirs.w, theirs.b)
    np.testing.assert_allclose(ours.coef_[0], w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_[0], b, rtol=1e-8, atol=1e-10)
    assert ours.n_updates_ == theirs.n_updates
    assert ours.features_seen_ == theirs.n_read * X.shape[1]
    assert ours.t_ == 7 * len(X)
    assert theirs.n_read < 0.8 * 7 * len(X)


@pytest.mark.parametrize(("rule", "model", "rate"), UPDATES)
@pytest.mark.parametrize("begin", [1, 599, 600, 10_000])
def test_an_average_begins_with_the_example_that_is_named(rule, model, rate, begin):
    ours = clone(model).set_params(average=begin, max_iter=2, **FULL).fit(X, Y)
    theirs = learn(rule, X, Y, epochs=2, rate=rate, begin=begin)
    np.testing.assert_allclose(ours.coef_[0], theirs.mean_w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(ours.intercept_[0], theirs.mean_b, rtol=1e-8, atol=1e-10)


def test_averages_of_streams_count_all_their_examples():
    whole = AttentivePegasos(average=700, max_iter=2, **FULL).fit(X, Y)
    chunks = AttentivePegasos(average=700, **FULL)
    for start in (0, 350):
        chunks.partial_fit(X[start : start + 350], Y[start : start + 350], classes=[-1, 1])
    chunks.partial_fit(X, Y)
    np.testing.assert_array_equal(chunks.coef_, whole.coef_)


@pytest.mark.slow
@pytest.mark.parametrize("container", DENSE_AND_CSR)
@pytest.mark.parametrize(
    "model",
    [
        AttentivePerceptron(run_length=8),
        AttentivePegasos(alpha=0.001, attention="constant", boundary="bridge", run_length=8),
        AttentivePassiveAggressive(C=0.01, attention="budgeted", budget=60),
        AttentiveBoosting(max_iter=12),
    ],
)
def test_stopped_examples_are_passed_over_too(model, container):
    rows, y = walk_problem(np.random.default_rng(1), 4000, 200)
    common = {"max_iter": 12, "tol": None, "random_state": 0}
    if container is sparse.csr_matrix and "run_length" in model.get_params():
        common["run_length"] = None
    plain = clone(model).set_params(**common).fit(container(rows), y)
    shrunk = clone(model).set_params(shrinking=True, **common).fit(container(rows), y)
    assert shrunk.features_seen_ < 0.75 * plain.features_seen_
    assert shrunk.t_ == plain.t_
    assert shrunk.score(rows, y) > plain.score(rows, y) - 0.03


def test_lists_of_hypotheses_shrink_like_stumps():
    stumps = AttentiveBoosting(n_thresholds=1, max_iter=7, shrinking=True, **FULL).fit(X, Y)
    votes = [
        lambda rows, j=j, at=at: np.where(rows[:, j] > at, 1.0, -1.0)
        for j, at in zip(stumps.hypotheses_.features, stumps.hypotheses_.thresholds, strict=True)
    ]
    listed = AttentiveBoosting(votes, rows_ahead=32, max_iter=7, shrinking=True, **FULL).fit(X, Y)
    np.testing.assert_array_equal(listed.coef_, stumps.coef_)
    assert listed.n_updates_ == stumps.n_updates_
    assert listed.features_seen_ < 0.8 * 7 * len(X) * len(votes)
    fitted = [DecisionTreeClassifier(max_depth=depth).fit(X, Y) for depth in (1, 2, 3)]
    trees = AttentiveBoosting(fitted, max_iter=7, shrinking=True, **FULL).fit(X, Y)
    assert trees.features_seen_ < 0.9 * 7 * len(X) * len(fitted)


def test_classes_against_the_rest_shrink_apart():
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    ours = AttentivePerceptron(average=False, shrinking=True, max_iter=7, **FULL).fit(X, y)
    for k in range(3):
        one = learn("perceptron", X, np.where(y == k, 1, -1), epochs=7, shrinking=True)
        np.testing.assert_array_equal(ours.coef_[k], one.w)


def test_tolerance_is_checked_after_full_epochs():
    model = AttentivePegasos(alpha=0.01, attention="full", random_state=0)
    whole, shrunk = clone(model).fit(X, Y), clone(model).set_params(shrinking=np.True_).fit(X, Y)
    assert shrunk.n_iter_ % 5 == 1
    assert shrunk.features_seen_ < whole.features_seen_
    assert clone(model).set_params(shrinking=np.False_).fit(X, Y).n_iter_ == whole.n_iter_


def test_rows_without_weight_do_not_count():
    weight = np.random.default_rng(2).integers(0, 2, len(X)).astype(float)
    common = {"average": False, "shrinking": True, "max_iter": 7, **FULL}
    some = AttentivePerceptron(**common).fit(X, Y, sample_weight=weight)
    alone = AttentivePerceptron(**common).fit(X[weight > 0], Y[weight > 0])
    np.testing.assert_array_equal(some.coef_, alone.coef_)
    assert some.features_seen_ == alone.features_seen_


def test_an_average_that_has_begun_cannot_begin_elsewhere():
    model = AttentivePegasos(average=True, warm_start=True, max_iter=1, tol=None, random_state=0).fit(X, Y)
    for average in (False, 100):
        model.set_params(average=average)
        with pytest.raises(ValueError, match=r"'average'.*cannot change"):
            model.fit(X, Y)
        with pytest.raises(ValueError, match=r"'average'.*cannot change"):
            model.partial_fit(X, Y)
    model.set_params(warm_start=False).fit(X, Y)


def test_a_state_whose_average_began_elsewhere_is_refused():
    model = AttentivePegasos(average=700, max_iter=2, tol=None, random_state=0).fit(X, Y)
    learner = model.problems_[0].learner
    state = learner.state()
    assert state["clock"] == 1200 - 699
    for clock in (1200.0, 2 * 1200.0 + 1, -3.0, 2.5):
        with pytest.raises(ValueError, match="another learner, or is damaged"):
            learner.restore(state | {"clock": clock})


def test_the_array_of_unchanged_rows_is_checked():
    model = AttentivePerceptron(max_iter=1, **FULL).fit(X, Y)
    learner, rows = model.problems_[0].learner, _core.Rows.dense(X)
    positive = (Y > 0).astype(np.uint8)
    for unchanged, skips, message in (
        (np.zeros(5, np.uint8), False, "one entry for every row"),
        (None, True, "must be given"),
    ):
        with pytest.raises(ValueError, match=message):
            learner.train(rows, positive, None, 1.0, 1.0, None, unchanged, skips)
    read_only = np.zeros(len(X), np.uint8)
    read_only.flags.writeable = False
    with pytest.raises(TypeError):
        learner.train(rows, positive, None, 1.0, 1.0, None, read_only, False)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 1023, 1024, 1025, 2000])
def test_shuffled_csr_rows_are_each_met_once(n_rows):
    rows = sparse.csr_matrix(np.diag(np.arange(1.0, n_rows + 1)))
    y = np.arange(n_rows) % 2 if n_rows > 1 else [0]
    model = AttentivePassiveAggressive(variant="PA", attention="full", fit_intercept=False, random_state=0)
    model.partial_fit(rows[:0], [], classes=[0, 1])
    model.problems_[0].learner.train(model._rows(rows), np.asarray(y, np.uint8), None, 1.0, 1.0, 12345)
    model._publish()
    # a row's only feature is learned at its one visit
    np.testing.assert_allclose(model.coef_[0] * np.arange(1.0, n_rows + 1), np.where(y, 1, -1))
    assert model.features_seen_ == n_rows


def test_files_keep_shrinking_and_when_averages_begin(tmp_path):
    model = AttentivePegasos(average=700, shrinking=True, max_iter=2, tol=None, random_state=0).fit(X, Y)
    wald.save(model, tmp_path / "model")
    again = wald.load(tmp_path / "model")
    assert again.get_params() == model.get_params()
    np.testing.assert_array_equal(again.partial_fit(X, Y).coef_, model.partial_fit(X, Y).coef_)
