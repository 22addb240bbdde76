"""Input of policies: evidence equals the results of inference, and trees equal scikit-learn's."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from wald.datasets import make_chains
from wald.structured import ChainClassifier, FeatureGroup
from wald.structured.policies.evidence import rows_of
from wald.structured.policies.scores import BoostedTrees, LinearScore, packed, sums

GROUPS = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1.0), FeatureGroup("all", cost=5.0)]


def opened(n_classes=4, **options):
    X, y = make_chains(60, n_classes=n_classes, noise=1.5, random_state=0)
    return ChainClassifier(GROUPS, max_iter=4, random_state=0, **options).fit(X[:40], y[:40]).open(X[40:])


@pytest.mark.parametrize("n_classes", [1, 2, 3, 4, 17])
def test_evidence(n_classes):
    session = opened(n_classes)
    state = np.random.default_rng(0).random(session.state().shape) < 0.5
    found = session.evidence(state)
    K = len(session._classes)
    own, best = session.node_scores(state), session.max_marginals(state)
    chances = session.marginals(state, session._scale)
    codes, n = session.decode(state), np.arange(len(found))
    wide = lambda scores, fill: np.hstack([-np.sort(-scores, axis=1), np.full((len(n), 3), fill)])[:, :3]  # noqa: E731
    top = wide(best, np.nan)
    lead = np.nan_to_num(top[:, :1] - top[:, 1:])
    np.testing.assert_allclose(found[:, :2], lead, atol=1e-3)
    np.testing.assert_array_equal(found[:, 2], codes)
    if K > 1:
        second = np.where(np.arange(K) == codes[:, None], -np.inf, best).argmax(axis=1)
        np.testing.assert_array_equal(found[:, 3], second)
    np.testing.assert_allclose(found[:, 4:7], wide(chances, 0), atol=1e-5)
    np.testing.assert_allclose(found[:, 7], chances[n, codes], atol=1e-5)
    alone = wide(own, np.nan)
    np.testing.assert_allclose(found[:, 8], np.nan_to_num(alone[:, 0] - alone[:, 1]), atol=1e-3)
    np.testing.assert_array_equal(found[:, 9], own.argmax(axis=1))
    np.testing.assert_allclose(found[:, 10], own.max(axis=1) - own[n, codes], atol=1e-4)


def test_part_features():
    session = opened()
    own = session.node_scores(session.state() & False)
    behind = own - own.max(axis=1, keepdims=True)
    lead = -np.sort(-behind, axis=1)
    found = session.part_features()
    np.testing.assert_allclose(found, np.hstack([-lead[:, 1:3], behind]), atol=1e-5)
    assert session.extracted[1] == 0
    assert opened(1).part_features().shape[1] == 3


@pytest.mark.parametrize("own", [True, False])
@pytest.mark.parametrize("n_classes", [4, 17])
def test_scores_that_a_session_keeps_change_nothing(n_classes, own):
    session, other = (opened(n_classes, own_weights=own) for _ in range(2))
    state = np.random.default_rng(0).random(session.state().shape) < 0.5
    state[: session.offsets[1]] = False
    codes, scores = session.decode(state), session.node_scores(state)
    evidence = session.evidence(state)  # from here on scores are kept
    other.part_features()
    for rows in (session, other):
        np.testing.assert_array_equal(rows.decode(state), codes)
        np.testing.assert_array_equal(rows.node_scores(state), scores)
        np.testing.assert_array_equal(rows.evidence(state), evidence)
        chosen = np.array([7, 2])
        parts = np.concatenate([np.arange(*session.offsets[i : i + 2]) for i in chosen])
        np.testing.assert_array_equal(rows.evidence(state, chosen), evidence[parts])


def test_kept_scores_are_checked():
    session = opened()
    bits = np.zeros(session.sequences.n_parts, dtype=np.uint8)
    for shape in ((len(bits) - 1, 4), (len(bits), 3)):
        with pytest.raises(ValueError, match="cheap"):
            session._chain.scores(session.features.stores, bits, session.offsets, None, np.zeros(shape, np.float32), 1)


@pytest.mark.parametrize("features", ["simple", "complex"])
def test_rows_of_an_example_depend_on_it_alone(features):
    session = opened()
    state = np.random.default_rng(0).random(session.state().shape) < 0.5
    whole = rows_of(session, state, np.arange(20), features)
    ends = session.offsets
    chosen = np.array([7, 2])
    some = rows_of(session, state, chosen, features)
    np.testing.assert_array_equal(some, np.concatenate([whole[ends[i] : ends[i + 1]] for i in chosen]))
    other = state.copy()
    other[: ends[2]] ^= True
    np.testing.assert_array_equal(rows_of(session, other, np.arange(20), features)[ends[2] :], whole[ends[2] :])


def test_neighbours_end_with_the_example():
    session = opened()
    nothing = session.state() & False
    rows = rows_of(session, nothing, np.arange(20), "complex")
    width = session.evidence(nothing).shape[1] + 1
    first, last = session.offsets[:-1], session.offsets[1:] - 1
    assert not rows[first, width : 2 * width].any()
    assert not rows[last, 2 * width : 3 * width].any()
    inner = np.setdiff1d(np.arange(len(rows)), first)
    np.testing.assert_array_equal(rows[inner, width : 2 * width], rows[inner - 1, :width])


@pytest.mark.parametrize("seed", range(3))
def test_trees_are_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(2000, 6)).astype(np.float32)
    rows[:, 1] = rng.integers(0, 4, len(rows))
    event = rows[:, 0] + (rows[:, 1] == 2) + rng.normal(size=len(rows)) > 1
    trees = BoostedTrees(rows, event, max_iter=30, random_state=0)
    peer = HistGradientBoostingClassifier(
        max_iter=30, learning_rate=0.08, max_depth=6, max_leaf_nodes=24, min_samples_leaf=40, l2_regularization=1.0,
        early_stopping=False, random_state=0,
    ).fit(rows, event)  # fmt: skip
    thresholds = np.concatenate([p.nodes["num_threshold"] for (p,) in peer._predictors])
    near = np.float32(thresholds)[:, None] * np.ones(6, dtype=np.float32)  # rows at the thresholds, and beside them
    rows = np.vstack([rows, near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))])
    np.testing.assert_array_equal(trees(rows), peer.decision_function(rows))
    np.testing.assert_array_equal(trees(rows[5:6]), trees(rows)[5:6])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(trees))(rows), trees(rows))


def test_trees_of_constant_targets():
    rows = np.zeros((9, 2), dtype=np.float32)
    assert (BoostedTrees(rows, np.zeros(9, dtype=bool))(rows) == np.log(0.5 / 9.5)).all()


TREE = {
    "base": 0.5,
    "ends": np.array([0, 3]),
    "feature": np.array([1, 0, 0], dtype=np.int32),
    "threshold": np.array([0.0, 0, 0]),
    "left": np.array([1, 0, 0], dtype=np.int32),
    "right": np.array([2, 0, 0], dtype=np.int32),
    "value": np.array([0.0, -1, 1]),
    "n_features": 2,
}


def test_a_forest_by_hand():
    forest = packed(**TREE)
    rows = np.array([[9, 0], [9, 1e-30], [9, -3]], dtype=np.float32)
    assert sums(forest, rows).tolist() == [-0.5, 1.5, -0.5]
    assert sums(forest, np.empty((0, 2), dtype=np.float32)).shape == (0,)


def ladder(n_leaves, right):
    """A tree that splits the feature at 0, 1, 2 … along its right branch, or downwards along its left branch."""
    n, steps = 2 * n_leaves - 1, np.arange(n_leaves - 1)
    inner, leaves = 2 * steps, 2 * steps + 1  # node, leaf beside the next node
    ahead, aside = np.zeros(n, dtype=np.int32), np.zeros(n, dtype=np.int32)
    ahead[inner], aside[inner] = inner + 2, leaves
    threshold = np.zeros(n)
    threshold[inner] = steps if right else -steps
    return {
        "ends": np.array([0, n]), "feature": np.zeros(n, dtype=np.int32), "threshold": threshold, "base": 0.0,
        "left": aside if right else ahead, "right": ahead if right else aside,
        "value": np.arange(n, dtype=np.float64), "n_features": 1,
    }  # fmt: skip


@pytest.mark.parametrize("n_leaves", [2, 32, 33])
@pytest.mark.parametrize("right", [False, True])
def test_a_tree_leads_to_each_of_its_leaves(right, n_leaves):
    tree = ladder(n_leaves, right)
    rows = np.linspace(-34, 34, 137, dtype=np.float32)[:, None]  # arrives at every leaf; not a whole number of panels
    found = []
    for (x,) in rows:
        node = 0
        while tree["left"][node]:
            node = tree["left" if x <= tree["threshold"][node] else "right"][node]
        found.append(node)
    assert len(set(found)) == n_leaves
    assert sums(packed(**tree), rows).tolist() == found


@pytest.mark.parametrize(
    "change",
    [
        {"feature": np.array([2, 0, 0], dtype=np.int32)},
        {"feature": np.array([-1, 0, 0], dtype=np.int32)},
        {"left": np.array([3, 0, 0], dtype=np.int32)},
        {"left": np.array([2, 0, 0], dtype=np.int32)},  # two parents
        {"right": np.array([-1, 0, 0], dtype=np.int32)},
        {"left": np.array([1, 1, 0], dtype=np.int32)},  # its own child
        {"ends": np.array([0, 2])},
        {"ends": np.array([0, 3, 3])},
        {"ends": np.array([1, 3])},
        {"ends": np.array([0, 2**40, 3])},
        {"ends": np.array([0, 1, -(2**63), 3])},
        {"ends": np.array([], dtype=np.int64)},
        {"value": np.array([0.0, np.nan, 1])},
        {"value": np.array([0.0, 1])},
        {"threshold": np.array([np.nan, 0, 0])},
        {"base": np.inf},
        {"n_features": 0},
    ],
)
def test_forests_are_checked(change):
    with pytest.raises(ValueError):  # noqa: PT011
        packed(**TREE | change)


def test_rows_of_a_forest_are_checked():
    forest = packed(**TREE)
    for rows in (np.zeros((2, 3), dtype=np.float32), np.full((1, 2), np.nan, dtype=np.float32)):
        with pytest.raises(ValueError, match="rows"):
            sums(forest, rows)


def test_a_linear_score_depends_on_the_row_alone():
    rng = np.random.default_rng(0)
    rows, score = (
        rng.normal(size=(500, 79)).astype(np.float32),
        LinearScore(rng.normal(size=79).astype(np.float32), 0.1),
    )
    whole = score(rows)
    for i in range(0, 500, 37):
        assert score(rows[i : i + 1].copy())[0] == whole[i]
        assert score(rows[i : i + 3].copy())[0] == whole[i]
