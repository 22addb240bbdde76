"""Chunks, seeds, copies and containers make no difference, and rows are not kept."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from kinds.containers import stream_containers
from kinds.learners import ATTENTIVE
from online.reference import walk_problem
from scipy import sparse
from sklearn.base import clone

from wald import _core
from wald.online import AttentivePassiveAggressive, AttentivePegasos, AttentivePerceptron

X, Y = walk_problem(np.random.default_rng(0), 4000, 96)
CONTAINERS = stream_containers(X, 5)


def seeded(model, rows):
    model = clone(model).set_params(random_state=7, warm_up=32, shuffle=False, max_iter=1, tol=None)
    if not sparse.issparse(rows):
        model.set_params(run_length=2 if rows.shape[1] < 10 else 8)
    return model


def same(a, b):
    np.testing.assert_array_equal(a.coef_, b.coef_)
    np.testing.assert_array_equal(a.intercept_, b.intercept_)
    assert a.features_seen_ == b.features_seen_
    assert a.n_updates_ == b.n_updates_
    assert a.stop_error_ == b.stop_error_


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("model", ATTENTIVE)
def test_chunks_make_no_difference(model, rows):
    whole = seeded(model, rows).fit(rows, Y)
    assert whole.features_seen_ < (rows.nnz if sparse.issparse(rows) else rows.size)
    rng = np.random.default_rng(1)
    cuts = np.sort(rng.integers(0, len(Y), 30))  # some chunks may be empty
    chunked = seeded(model, rows)
    for start, stop in zip([0, *cuts], [*cuts, len(Y)], strict=True):
        # Copies lie at other addresses than the rows that they are copied from.
        chunked.partial_fit(rows[start:stop].copy(), Y[start:stop], classes=[-1, 1])
    same(whole, chunked)


@pytest.mark.parametrize("rows", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("model", ATTENTIVE)
def test_a_pickle_goes_on_as_the_original(model, rows):
    half = len(Y) // 2
    model = seeded(model, rows).partial_fit(rows[:half], Y[:half], classes=[-1, 1])
    twins = [pickle.loads(pickle.dumps(model)), copy.deepcopy(model)]
    model.partial_fit(rows[half:], Y[half:])
    for twin in twins:
        twin.partial_fit(rows[half:], Y[half:])
        same(model, twin)


@pytest.mark.parametrize("model", ATTENTIVE)
def test_seeds(model):
    model = clone(model).set_params(max_iter=2, tol=None, run_length=8, random_state=3)
    same(clone(model).fit(X, Y), clone(model).fit(X, Y))
    other = clone(model).set_params(random_state=4).fit(X, Y)
    assert (other.coef_ != clone(model).fit(X, Y).coef_).any()


@pytest.mark.long
def test_what_was_freed_before_makes_no_difference():
    def offset(before):
        code = f"import numpy as np; {before}; from wald.online.attention import line_offset; print(line_offset())"
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    # a big array that was freed lets the allocator put the next ones elsewhere
    assert offset("pass") == offset("a = np.ones(3 << 20); del a; b = [np.ones(1 << 19) for _ in range(4)]; del b[::2]")


def test_the_place_of_rows_in_memory_makes_no_difference():
    model = seeded(AttentivePerceptron(), X)
    expected = clone(model).fit(X, Y)
    wide = np.full((len(X), 101), np.nan)
    wide[:, 3:99] = X
    fortran = np.asfortranarray(X)
    odd = np.empty(X.size + 1)[1:].reshape(X.shape)
    odd[:] = X
    for rows in (wide[:, 3:99], fortran, odd, X[::-1].copy()[::-1]):
        same(expected, clone(model).fit(rows, Y))


def test_rows_are_not_copied():
    rows = np.ascontiguousarray(np.tile(X, (10, 1)), dtype=np.float32)
    y = np.tile(Y, 10)
    model = AttentivePerceptron(random_state=0, max_iter=1, tol=None).fit(rows, y)
    tracemalloc.start()
    model.fit(rows, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < rows.nbytes / 8


def test_memory_does_not_grow_with_the_stream():
    def size(n_chunks):
        model = AttentivePerceptron(random_state=0, audit_rate=0.2)
        for _ in range(n_chunks):
            model.partial_fit(X, Y, classes=[-1, 1])
        return len(pickle.dumps(model))

    few, many = size(2), size(12)
    assert many < few * 1.05 + 200  # rings are full; counters and checkpoints may differ by some bytes


@pytest.mark.parametrize("model", ATTENTIVE)
def test_a_warm_start_goes_on(model):
    twice = clone(model).set_params(random_state=0, max_iter=1, tol=None, warm_start=True)
    once = clone(twice).set_params(max_iter=2, warm_start=False)
    same(once.fit(X, Y), twice.fit(X, Y).fit(X, Y))


def test_unsorted_csr_with_int64_indices_and_duplicates():
    dense = np.where(np.abs(X) > 0.5, X, 0)
    good = sparse.csr_matrix(dense)
    rng = np.random.default_rng(0)
    rows, columns = good.nonzero()
    half = sparse.coo_matrix(
        (np.tile(np.asarray(good[rows, columns]).ravel() / 2, 2), (np.tile(rows, 2), np.tile(columns, 2)))
    )
    shuffled = rng.permutation(half.nnz)
    # Built by hand: scipy would sort and add up.
    order = shuffled[np.argsort(half.row[shuffled], kind="stable")]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(half.row, minlength=len(X)))])
    messy = sparse.csr_matrix(
        (half.data[order], half.col[order].astype(np.int64), indptr.astype(np.int64)), shape=good.shape
    )
    messy.has_sorted_indices = messy.has_canonical_format = False
    before = messy.indices.copy(), messy.data.copy()
    for model in (AttentivePassiveAggressive(C=0.1), AttentivePerceptron(), AttentivePegasos(alpha=0.01)):
        model.set_params(attention="full", max_iter=1, tol=None, random_state=0)
        np.testing.assert_allclose(
            clone(model).fit(messy, Y).coef_, clone(model).fit(good, Y).coef_, rtol=1e-9, atol=1e-10
        )
    np.testing.assert_array_equal(messy.indices, before[0])
    np.testing.assert_array_equal(messy.data, before[1])


def test_costs_are_counted_exactly():
    costs = np.arange(1.0, X.shape[1] + 1)
    model = AttentivePerceptron(attention="full", feature_costs=costs, max_iter=2, tol=None, random_state=0).fit(X, Y)
    assert model.cost_seen_ == 2 * len(X) * costs.sum()
    model.set_params(attention="conditional", run_length=1, order="cost").fit(X, Y)
    assert model.cost_seen_ / model.features_seen_ < costs.mean()
    plain = AttentivePerceptron(random_state=0, max_iter=2, tol=None, run_length=8).fit(X, Y)
    assert plain.cost_seen_ == plain.features_seen_


@pytest.mark.parametrize("order", ["random", "weight", "cost", "selected"])
def test_orders(order):
    costs = np.where(np.arange(X.shape[1]) % 2, 10.0, 1.0)
    model = AttentivePerceptron(order=order, run_length=1, feature_costs=costs, max_iter=2, tol=None, random_state=0)
    model.fit(X, Y)
    state = model.problems_[0].learner.state()
    chosen = state["negative.order"]
    assert len(np.unique(chosen)) == len(chosen) > 4
    if order == "cost":
        assert (costs[chosen] == 1).all()
    if order == "selected":
        assert (costs[chosen[:8]] == 1).mean() > 0.7
    assert model.features_seen_ < 2 * X.size


def test_attentive_prediction():
    rows, y = walk_problem(np.random.default_rng(5), 6000, 400)
    model = AttentivePerceptron(max_iter=3, tol=None, random_state=0, delta=0.01).fit(rows[:5000], y[:5000])
    labels, cost = model.predict(rows[5000:], attention="conditional", return_cost=True)
    full, full_cost = model.predict(rows[5000:], return_cost=True)
    assert (full_cost == 400).all()
    assert cost.mean() < 250
    assert np.mean(labels != full) < 0.03
    alone = [model.predict(row[None], attention="conditional")[0] for row in rows[5000:5050]]
    np.testing.assert_array_equal(alone, labels[:50])


def test_a_damaged_state_is_refused():
    model = seeded(AttentivePerceptron(), X).fit(X, Y)
    learner = model.problems_[0].learner
    good = learner.state()
    learner.restore(good)
    for name, change in {
        "weights": good["weights"][:-1],
        "negative.order": good["negative.order"] + 1000,
        "negative.checkpoints": good["negative.checkpoints"][::-1].copy(),
        "negative.ring": good["negative.ring"][:-1],
        "negative.spread": np.full_like(good["negative.spread"], np.nan),
        "step": -1,
        "positive.factors": good["positive.factors"].astype(np.float32),
    }.items():
        with pytest.raises(ValueError, match=r"state"):
            learner.restore(good | {name: change})
    missing = dict(good)
    del missing["clock"]
    with pytest.raises(ValueError, match="lacks clock"):
        learner.restore(missing)


def test_the_compiled_learner_checks_what_comes():
    model = AttentivePerceptron(random_state=0).fit(X, Y)
    learner = model.problems_[0].learner
    rows, positive = _core.Rows.dense(X), (Y > 0).astype(np.uint8)
    for bad in (
        (_core.Rows.dense(X[:, :-1].copy()), positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(X.astype(np.float32)), positive, None, 1.0, 1.0, None),
        (_core.Rows.dense(np.asfortranarray(X)), positive, None, 1.0, 1.0, None),
        (rows, positive[:-1], None, 1.0, 1.0, None),
        (rows, positive, np.ones(3), 1.0, 1.0, None),
        (rows, positive, np.full(len(X), np.nan), 1.0, 1.0, None),
        (rows, positive, None, -1.0, 1.0, None),
    ):
        with pytest.raises(ValueError, match=r"must|rows|weights"):
            learner.train(*bad)
    bad_csr = {"values": np.ones(2), "indptr": np.array([0, 2]), "n_columns": 96, "ascending": False}
    for indices in ([0, 96], [-1, 3]):
        with pytest.raises(ValueError, match=r"\[0, n_columns\)"):
            _core.Rows.csr(indices=np.array(indices, dtype=np.int32), **bad_csr)
