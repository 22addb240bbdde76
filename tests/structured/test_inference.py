"""Inference in chains equals brute force, on every path."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from structured import brute

from wald import _core

SHAPES = [(length, K) for length in range(1, 7) for K in range(1, 5)] + [(3, 17), (2, 33)]


def lattices(kind, seed=0):
    """Node scores and steps of every shape: random floats, or small integers with many ties."""
    rng = np.random.default_rng(seed)
    for length, K in SHAPES:
        for _ in range(3):
            draw = (lambda *s: rng.normal(size=s)) if kind == "floats" else (lambda *s: rng.integers(-1, 2, s))
            yield draw(length, K).astype(np.float32), draw(K, K).astype(np.float32)


@pytest.mark.parametrize("kind", ["floats", "ties"])
def test_the_best_path(kind):
    for node, steps in lattices(kind):
        labels, score = brute.with_steps(steps).decode(node, brute.ends([len(node)]), 1)
        paths, scores = brute.all_paths(node, steps)
        assert score[0] == pytest.approx(scores.max(), abs=1e-5)
        if kind == "ties":  # exact sums: of equal paths the one whose labels come first, compared from the end
            tied = paths[scores == scores.max()]
            assert labels.tolist() == min(tied.tolist(), key=lambda p: p[::-1])
        else:
            assert labels.tolist() == paths[scores.argmax()].tolist()


@pytest.mark.parametrize("kind", ["floats", "ties"])
def test_max_marginals(kind):
    for node, steps in lattices(kind):
        found = brute.with_steps(steps).max_marginals(node, brute.ends([len(node)]), 1)
        paths, scores = brute.all_paths(node, steps)
        for t, k in np.ndindex(node.shape):
            assert found[t, k] == pytest.approx(scores[paths[:, t] == k].max(), abs=1e-5)


@pytest.mark.parametrize("scale", [0.3, 1.0, 1000.0])
def test_marginals(scale):
    for node, steps in lattices("floats"):
        found = brute.with_steps(steps).marginals(node, brute.ends([len(node)]), scale, 1)
        paths, scores = brute.all_paths(node.astype(float), steps.astype(float))
        weights = np.exp(scale * (scores - scores.max()))
        for t, k in np.ndindex(node.shape):
            assert found[t, k] == pytest.approx(weights[paths[:, t] == k].sum() / weights.sum(), abs=1e-6)


@pytest.mark.parametrize("kind", ["floats", "ties"])
def test_k_best(kind):
    for node, steps in lattices(kind):
        chain, ends = brute.with_steps(steps), brute.ends([len(node)])
        paths, scores = brute.all_paths(node, steps)
        for k in (1, 2, 7):
            labels, best = chain.best_paths(node, ends, k, 1)
            labels, n = labels.reshape(k, -1), min(k, len(paths))
            np.testing.assert_allclose(best[0, :n], np.sort(scores)[::-1][:n], atol=1e-5)
            assert (best[0, n:] == -np.inf).all()
            assert len({tuple(path) for path in labels[:n]}) == n
            for path, score in zip(labels[:n], best[0], strict=False):
                assert brute.path_score(node, steps, path) == pytest.approx(score, abs=1e-5)
            assert labels[0].tolist() == chain.decode(node, ends, 1)[0].tolist()


def test_scores_of_any_size():
    """Marginals are right for scores whose exponential would overflow or vanish."""
    node = np.array([[0, -2000], [-2000, 0], [0, -1e30]], dtype=np.float32)
    steps = np.array([[0, -3000], [-3000, 0]], dtype=np.float32)
    found = brute.with_steps(steps).marginals(node, brute.ends([3]), 1.0, 1)
    np.testing.assert_array_equal(found, [[1, 0], [1, 0], [1, 0]])


def batch(seed=1):
    rng = np.random.default_rng(seed)
    lengths = [*rng.integers(1, 9, 70), 2000]
    return rng.normal(size=(sum(lengths), 5)).astype(np.float32), rng.normal(size=(5, 5)).astype(np.float32), lengths


def everything(node, steps, lengths, n_threads):
    chain, ends = brute.with_steps(steps), brute.ends(lengths)
    return {
        "labels": chain.decode(node, ends, n_threads)[0],
        "scores": chain.decode(node, ends, n_threads)[1],
        "max": chain.max_marginals(node, ends, n_threads),
        "marginals": chain.marginals(node, ends, 0.7, n_threads),
        "paths": chain.best_paths(node, ends, 3, n_threads)[0],
    } | constrained(node, steps, ends, n_threads)


def constrained(node, steps, ends, n_threads):
    """The same, where some labels and steps are ruled out."""
    chain = brute.with_steps(steps)
    first, out = np.array([0, 0, 1, 1, 0], dtype=np.uint8), np.zeros((5, 5), dtype=np.uint8)
    out[[1, 3, 4], 2] = out[[0, 2, 4], 3] = 1
    chain.rule_out(first, out.ravel())
    node = node.copy()
    node[ends[:-1]] += chain.table()[1]
    return {
        "constrained labels": chain.decode(node, ends, n_threads)[0],
        "constrained max": chain.max_marginals(node, ends, n_threads),
        "constrained marginals": chain.marginals(node, ends, 0.7, n_threads),
        "constrained paths": chain.best_paths(node, ends, 3, n_threads)[0],
    }


def test_any_batch_any_threads():
    node, steps, lengths = batch()
    whole, ends = everything(node, steps, lengths, 1), brute.ends(lengths)
    before = _core.get_num_threads()
    _core.set_num_threads(4)
    try:
        for name, value in everything(node, steps, lengths, 4).items():
            np.testing.assert_array_equal(value, whole[name])
    finally:
        _core.set_num_threads(before)
    for i in (0, 17, 70):
        alone = everything(node[ends[i] : ends[i + 1]], steps, lengths[i : i + 1], 1)
        np.testing.assert_array_equal(alone["labels"], whole["labels"][ends[i] : ends[i + 1]])
        np.testing.assert_array_equal(alone["max"], whole["max"][ends[i] : ends[i + 1]])
        np.testing.assert_array_equal(alone["marginals"], whole["marginals"][ends[i] : ends[i + 1]])
        np.testing.assert_array_equal(alone["paths"], whole["paths"][3 * ends[i] : 3 * ends[i + 1]])


@pytest.mark.parametrize("level", _core.simd_levels())
def test_instruction_sets_agree_to_the_bit(level, tmp_path):
    """Decoding only adds and compares, so that rounding is the same."""
    code = (
        "import sys, numpy; from structured import test_inference as t;"
        "numpy.savez(sys.argv[1], **t.everything(*t.batch(), 1)); t.test_node_scores(sizes=[3, 8], own=True)"
    )
    paths = [str(Path(_core.__file__).parents[1]), str(Path(__file__).parents[1]), *sys.path]
    environment = os.environ | {"WALD_SIMD": level, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", code, str(tmp_path / "answers.npz")]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    ours = everything(*batch(), 1)
    with np.load(tmp_path / "answers.npz") as theirs:
        for name, value in ours.items():
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)


def features(rng, sizes, n):
    return [np.where(rng.random((n, s)) < 0.4, rng.normal(size=(n, s)), 0).astype(np.float32) for s in sizes]


def stores(values, sparse_groups=()):
    out = []
    for g, rows in enumerate(values):
        store, parts = _core.ChainGroup(len(rows), rows.shape[1]), np.arange(len(rows))
        if g in sparse_groups:
            m = sparse.csr_matrix(rows)
            assert store.add_csr(m.data, m.indices.astype(np.int32), m.indptr.astype(np.int64), parts) == -1
        else:
            assert store.add_dense(rows, parts) == -1
        out.append(store)
    return out


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("sizes", [[6], [3, 8], [0, 4, 5]])
def test_node_scores(own, sizes):
    """Node scores follow the definition, and dense and sparse rows give the same bits for any choice of examples."""
    rng = np.random.default_rng(2)
    lengths, K = [3, 1, 4, 2, 37, 9], 5
    n, ends, layout = sum(lengths), brute.ends(lengths), brute.Rows(K, sizes, own)
    table = rng.normal(size=(layout.n, K)).astype(np.float32)
    chain = _core.Chain(K, sizes, own)
    chain.fill(table)
    np.testing.assert_array_equal(chain.table(), table)
    values = features(rng, sizes, n)
    states = rng.integers(0, layout.n_states, n).astype(np.uint8)
    found = chain.scores(stores(values), states, ends, None, None, 1)
    for a, b in itertools.pairwise(ends):
        inputs = layout.inputs([v[a:b] for v in values], states[a:b])
        np.testing.assert_allclose(found[a:b], inputs @ table, atol=1e-5)
    for sparse_groups in ([0], range(len(sizes))):
        again = chain.scores(stores(values, sparse_groups), states, ends, None, None, 1)
        np.testing.assert_array_equal(again, found)
    labels, best = chain.predict(stores(values), states, ends, None, None, 1)
    np.testing.assert_array_equal(labels, chain.decode(found, ends, 1)[0])
    chosen = np.array([2, 0, 2])
    some, some_best = chain.predict(stores(values), states, ends, chosen, None, 1)
    np.testing.assert_array_equal(some, np.concatenate([labels[ends[i] : ends[i + 1]] for i in chosen]))
    np.testing.assert_array_equal(some_best, best[chosen])
    none, _ = chain.predict(stores(values), states, ends, np.array([], dtype=np.int64), None, 1)
    assert none.shape == (0,)
