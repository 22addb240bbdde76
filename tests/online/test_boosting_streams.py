"""Online boosting: chunks, copies and seeds make no difference, and errors name the bad argument."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from kinds.containers import DENSE_AND_CSR
from online.voting import ATTENTION, CONTAINERS, EAGER, FULL, SPARSE, Column, X, Y, same
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.tree import DecisionTreeClassifier

from wald import _core
from wald.online import AttentiveBoosting

# -- streams ---------------------------------------------------------------------------------------------------------


def chunked(model, rows, y, cuts):
    model = clone(model)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        model.partial_fit(rows[start:stop].copy(), y[start:stop], classes=[-1, 1])
    return model


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("kind", ATTENTION)
@pytest.mark.filterwarnings("ignore::wald.stopping.papers.levels.DegenerateBoundaryWarning")
def test_chunks_make_no_difference(rows, kind):
    model = AttentiveBoosting(**EAGER | ATTENTION[kind], threshold_rows=300)
    whole = chunked(model, rows, Y, [])
    assert whole.features_seen_ < len(Y) * whole.coef_.size or kind == "budgeted"
    cuts = np.sort(np.random.default_rng(1).integers(0, len(Y), 30))  # some chunks may be empty
    for pieces in (cuts, [1, 2, 3, 300, 301], [299], [300]):
        same(whole, chunked(model, rows, Y, pieces))
    np.testing.assert_array_equal(
        whole.hypotheses_.features, chunked(model, rows[:300], Y[:300], []).hypotheses_.features
    )


def test_a_fit_is_a_pass_over_the_stream():
    model = AttentiveBoosting(**EAGER, threshold_rows=len(Y), shuffle=False, max_iter=1, tol=None)
    same(clone(model).fit(X, Y), chunked(model, X, Y, [1000, 1010]))


@pytest.mark.parametrize("rows_ahead", [1, 64])
def test_chunks_make_no_difference_to_lists(rows_ahead):
    model = AttentiveBoosting([Column(j, 0.0) for j in range(X.shape[1])], **EAGER, rows_ahead=rows_ahead)
    rows, y = X[:600], Y[:600]
    same(chunked(model, rows, y, []), chunked(model, rows, y, [1, 2, 100, 303]), seen=rows_ahead == 1)


def test_dense_and_sparse_chunks_may_follow_each_other():
    model = AttentiveBoosting(**EAGER, threshold_rows=300)
    mixed = clone(model).partial_fit(SPARSE[:100], Y[:100], [-1, 1])
    for start, stop, container in (
        (100, 200, sparse.csr_matrix),
        (200, 400, np.asarray),
        (400, 3000, sparse.csc_matrix),
    ):
        mixed.partial_fit(container(SPARSE[start:stop]), Y[start:stop])
    same(mixed, clone(model).partial_fit(SPARSE, Y, [-1, 1]))


@pytest.mark.parametrize("half", [100, 1500])  # while thresholds may still change, and later
@pytest.mark.parametrize("hypotheses", ["stumps", [Column(j, 0.0) for j in range(X.shape[1])]], ids=["stumps", "list"])
def test_a_pickle_goes_on_as_the_original(hypotheses, half):
    model = AttentiveBoosting(hypotheses, **EAGER, threshold_rows=300).partial_fit(X[:half], Y[:half], [-1, 1])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(X[half:], Y[half:])
    for twin in twins:
        twin.partial_fit(X[half:], Y[half:])
        same(model, twin)
        np.testing.assert_array_equal(
            model.predict(X, attention="conditional"), twin.predict(X, attention="conditional")
        )


def test_no_row_is_kept_once_there_are_thresholds():
    model = AttentiveBoosting(**EAGER, ring_size=32, threshold_rows=300).partial_fit(X[:200], Y[:200], [-1, 1])
    assert model._first.rows().shape[0] == 200
    sizes = []
    for start in range(200, 3000, 400):
        model.partial_fit(X[start : start + 400], Y[start : start + 400])
        assert model._first is None
        sizes.append(len(pickle.dumps(model)))
    assert max(sizes) < 1.1 * sizes[1]  # the rings are full by then


def test_seeds_and_warm_starts():
    model = AttentiveBoosting(**EAGER, max_iter=2, tol=None)
    same(clone(model).fit(X, Y), clone(model).fit(X, Y))
    assert (clone(model).set_params(random_state=8).fit(X, Y).coef_ != clone(model).fit(X, Y).coef_).any()
    warm = clone(model).set_params(warm_start=True, max_iter=1).fit(X, Y)
    thresholds = warm.hypotheses_.thresholds
    warm.fit(X, Y)
    same(warm, clone(model).fit(X, Y))
    assert warm.hypotheses_.thresholds is thresholds
    # A stream that was not long enough for its own thresholds keeps the ones that it has.
    short = clone(model).set_params(warm_start=True).partial_fit(X[:50], Y[:50], [-1, 1])
    thresholds = short.hypotheses_.thresholds
    assert short.fit(X, Y).partial_fit(X, Y).hypotheses_.thresholds is thresholds


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hypotheses": "trees"}, "hypotheses"),
        ({"hypotheses": []}, "hypotheses"),
        ({"hypotheses": 7}, "hypotheses"),
        ({"hypotheses": [DecisionTreeClassifier()]}, r"hypotheses\[0\].*FrozenEstimator"),
        ({"hypotheses": [DecisionTreeClassifier().fit(X[:9], [5, 6, 7] * 3)]}, "knows none of the classes"),
        ({"hypotheses": [lambda rows: rows]}, r"hypotheses\[0\].*one value for each of \d+ rows"),
        ({"hypotheses": [lambda rows: np.full(len(rows), np.nan)]}, r"hypotheses\[0\] gave NaN"),
        ({"hypotheses": [np.tanh], "feature_costs": [1.0, 2.0]}, "feature_costs"),
        ({"feature_costs": [1.0]}, "feature_costs"),
        ({"n_thresholds": 0}, "n_thresholds"),
        ({"threshold_rows": 0}, "threshold_rows"),
        ({"rows_ahead": 0.5}, "rows_ahead"),
        ({"potential": "kinetic"}, "potential"),
        ({"negligible": 0.0}, "negligible"),
        ({"negligible": 0.5}, "negligible"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"delta": 0.0}, "delta"),
        ({"attention": "budgeted"}, "budget"),
        ({"order": "cost"}, "feature_costs"),
        ({"average": -1}, "average"),
        ({"shrinking": None}, "shrinking"),
    ],
)
def test_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        AttentiveBoosting(random_state=0).set_params(**change).fit(X, Y)


def test_what_cannot_vote():
    with pytest.raises(TypeError, match=r"hypotheses\[1\] must be a fitted classifier or a callable"):
        AttentiveBoosting([np.tanh, 7]).fit(X, Y)
    with pytest.raises(NotFittedError):
        AttentiveBoosting().predict(X)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("container", DENSE_AND_CSR)
def test_rows_that_are_not_finite(container, dtype, value):
    rows = X.astype(dtype)
    rows[1500, 3] = value
    few = {"threshold_rows": 10, "shuffle": False, "max_iter": 1, "tol": None, "attention": "full"}
    for settings in ({"threshold_rows": len(X)}, few):  # met while quantiles are taken, and in training
        with pytest.raises(ValueError, match="row 1500 holds NaN or infinity"):
            AttentiveBoosting(**settings).fit(container(rows), Y)
    with pytest.raises(ValueError, match="row 1500 holds NaN or infinity"):
        AttentiveBoosting(**FULL).fit(X, Y).predict(container(rows))


def test_harmless_rows_and_chunks():
    nothing = AttentiveBoosting(**EAGER, max_iter=1, tol=None).fit(np.zeros_like(X), Y)
    assert len(nothing.hypotheses_) == 1
    assert np.isfinite(nothing.coef_).all()
    empty = AttentiveBoosting(**EAGER).partial_fit(X[:0], Y[:0], classes=[-1, 1])
    assert (empty.predict(X) == -1).all()
    same(empty.partial_fit(X, Y), AttentiveBoosting(**EAGER).partial_fit(X, Y, [-1, 1]))
    before = empty.t_
    assert empty.partial_fit(X[:0], Y[:0]).t_ == before == len(X)
    with pytest.raises(ValueError, match="features"):
        empty.partial_fit(X[:, 1:], Y)
    with pytest.raises(ValueError, match="number of classes"):
        AttentiveBoosting().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match=r"not among the classes.*7"):
        empty.partial_fit(X, np.where(Y > 0, 7, -1))


def test_unsorted_and_repeated_indices_and_wide_ones():
    good = sparse.csr_matrix(SPARSE)
    order = np.concatenate([np.arange(b, a, -1) - 1 for a, b in zip(good.indptr, good.indptr[1:], strict=False)])
    halves = np.repeat(good.data[order] / 2, 2), np.repeat(good.indices[order], 2).astype(np.int64)
    messy = sparse.csr_matrix((*halves, 2 * good.indptr.astype(np.int64)), shape=good.shape)
    messy.has_sorted_indices = messy.has_canonical_format = False
    model = AttentiveBoosting(**EAGER, max_iter=1, tol=None)
    same(clone(model).fit(good, Y), clone(model).fit(messy, Y))
    same(clone(model).fit(good, Y), clone(model).fit(SPARSE, Y))
    np.testing.assert_array_equal(model.fit(good, Y).predict(messy), model.predict(good))


def test_a_damaged_state_is_refused():
    learner = AttentiveBoosting(**EAGER).partial_fit(X, Y, [-1, 1]).problems_[0].learner
    good = learner.state()
    learner.restore(good)
    for name, change in {
        "weights": good["weights"][:-1],
        "negative.order": good["negative.order"] + 1000,
        "negative.ring": good["negative.ring"][:-1],
        "negative.spread": np.full_like(good["negative.spread"], np.nan),
        "step": -1,
    }.items():
        with pytest.raises(ValueError, match=r"state"):
            learner.restore(good | {name: change})


def test_the_compiled_learner_checks_what_comes():
    model = AttentiveBoosting(n_thresholds=1, run_length=4, **FULL).fit(X, Y)
    learner, stumps = model.problems_[0].learner, model.hypotheses_._compiled
    rows, positive, n = _core.Rows.dense(X), (Y > 0).astype(np.uint8), len(X)
    other = _core.Stumps(np.zeros(3, np.int32), np.zeros(3), X.shape[1])
    for bad in (
        (_core.Rows.dense(X[:, :-1].copy()), stumps, positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(X.astype(np.float32)), stumps, positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(np.asfortranarray(X)), stumps, positive, None, 1.0, 1.0, None),
        (rows, other, positive, None, 1.0, 1.0, None),
        (rows, stumps, positive[:-1], None, 1.0, 1.0, None),
        (rows, stumps, positive, np.full(n, np.nan), 1.0, 1.0, None),
        (rows, stumps, positive, None, -1.0, 1.0, None),
    ):
        with pytest.raises(ValueError, match=r"must|rows|weights"):
            learner.train(*bad)
    for features, thresholds in (([X.shape[1]], [0.0]), ([-1], [0.0]), ([0], [np.nan]), ([0, 1], [0.0]), ([], [])):
        with pytest.raises(ValueError, match="stumps"):
            _core.Stumps(np.array(features, np.int32), np.array(thresholds), X.shape[1])
    votes, there = np.zeros((5, learner.n_columns)), np.zeros((5, len(learner.units) - 1), np.uint8)
    good = (_core.Rows.dense(votes), there, positive[:5], None, 1.0, 1.0, 0)
    assert learner.advance(*good)[0] == 0
    for place, bad in {
        0: _core.Rows.dense(votes[:, :-1].copy()),
        1: there[:, :-1].copy(),
        2: positive[:4],
        3: np.ones(4),
        6: 6,
    }.items():
        with pytest.raises(ValueError, match=r"must|rows"):
            learner.advance(*good[:place], bad, *good[place + 1 :])
    with pytest.raises(ValueError, match="width"):
        learner.judge(rows, stumps, False, np.inf)
