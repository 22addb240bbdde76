"""The engine's leaves and scores of random trees equal those of a walk in Python, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import LAYOUTS
from scipy import sparse
from trees.growing import random_rows, random_structure, random_terms, reference_scores, reference_values

from wald import _core
from wald.models import TreeTerms
from wald.models.tree_arrays import TreesBuilder

SIZES = {
    "one leaf": 1,
    "stumps": 2,
    "a table": 32,
    "two tables": 33,
    "gathers": 65,
    "bytes": 256,
    "cut": 257,
    "large": 700,
}


def scores(terms: TreeTerms, X: object, n_threads: int = 1) -> np.ndarray:
    return terms.pack(np.zeros(0, dtype=np.int64)).scores(X, lambda dtype: 0.0, n_threads)[0]


@pytest.mark.parametrize("categories", [False, True], ids=["numbers", "categories"])
@pytest.mark.parametrize("leaves", SIZES.values(), ids=SIZES)
def test_leaves_and_scores(leaves: int, categories: bool) -> None:
    rng = np.random.default_rng(leaves)
    terms = random_terms(rng, leaves=leaves, categories=categories, n_trees=6)
    X = random_rows(rng, 150, terms.n_features)
    np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
    np.testing.assert_array_equal(terms.scores(X), reference_scores(terms, X))


def path(sides: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """A tree in which each node has the next one on the side that is given, 0 or 1, and a leaf on the other."""
    n = len(sides)
    following = [*range(1, n), ~n]
    leaf = [~i for i in range(n)]
    children = np.array([[a, b] if side == 0 else [b, a] for side, a, b in zip(sides, following, leaf, strict=True)])
    return children[:, 0], children[:, 1]


@pytest.mark.parametrize("n_nodes", [1, 2, 3, 4, 5, 6, 7, 31, 63, 64, 255, 256])
def test_trees_that_are_a_path(n_nodes: int) -> None:
    rng = np.random.default_rng(n_nodes)
    builder = TreesBuilder(3)
    for sides in ([0] * n_nodes, [1] * n_nodes, [i % 2 for i in range(n_nodes)], list(rng.integers(0, 2, n_nodes))):
        feature, threshold = rng.integers(0, 3, n_nodes), rng.integers(-100, 100, n_nodes) / 32
        builder.add(feature, threshold, *path(sides), rng.integers(0, 2, n_nodes), rng.normal(size=n_nodes + 1))
    terms = TreeTerms(builder.build(), np.zeros(1))
    X = rng.choice([*np.arange(-100, 101) / 32, np.nan], (64, 3))
    np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
    np.testing.assert_array_equal(scores(terms, X[:1]), reference_scores(terms, X[:1]))


def test_small_and_large_trees_take_turns() -> None:
    """Small trees are added while rows take the steps of the next one, up to a tree that is not small."""
    rng = np.random.default_rng(12)
    builder = TreesBuilder(5)
    for leaves in (31, 32, 2, 33, 1, 31, 300, 5, 31, 31, 64, 32):
        n = leaves - 1
        feature, threshold, nan_left = rng.integers(0, 5, n), rng.integers(-8, 9, n) / 4, rng.integers(0, 2, n)
        left, right = random_structure(rng, leaves)
        output = int(rng.integers(0, 2))
        builder.add(feature, threshold, left, right, nan_left, rng.normal(size=leaves), output=output)
    terms = TreeTerms(builder.build(), rng.normal(size=2))
    X = random_rows(rng, 97, 5)
    rows = np.arange(1100) * 31 % len(X)
    np.testing.assert_array_equal(terms.scores(X[rows]), reference_scores(terms, X)[rows])


@pytest.mark.parametrize("n_rows", [512, 960, 1100])
def test_trees_of_any_size(n_rows: int) -> None:
    """Tiles of several panels, in pieces of eight, four, two and one."""
    rng = np.random.default_rng(n_rows)
    terms = [random_terms(rng, leaves=leaves, n_trees=5, n_features=9) for leaves in (4, 31, 64, 100, 300)]
    X = random_rows(rng, 97, 9)
    rows = np.arange(n_rows) * 31 % len(X)
    for some in terms:
        np.testing.assert_array_equal(some.values(X[rows]), reference_values(some, X)[rows])
        np.testing.assert_array_equal(some.scores(X[rows]), reference_scores(some, X)[rows])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"f32_sums": True},
        {"scale": 0.3, "divisor": 7.0, "bias": np.array([0.1, 0.2, 0.3])},
        {"truncates": True},
    ],
    ids=lambda options: "-".join(options) or "plain",
)
@pytest.mark.parametrize("values", [1, 3], ids=["own trees", "leaves of three values"])
def test_several_outputs(options: dict, values: int) -> None:
    rng = np.random.default_rng(1)
    terms = random_terms(rng, n_outputs=3, values=values, categories=True, **options)
    X = random_rows(rng, 100, terms.n_features)
    np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
    np.testing.assert_array_equal(terms.scores(X), reference_scores(terms, X))


@pytest.mark.parametrize("n_rows", [1, 5, 7, 8, 63, 64, 65, 1000])
def test_a_row_has_the_same_bits_in_every_call(n_rows: int) -> None:
    rng = np.random.default_rng(2)
    terms = random_terms(rng, n_trees=30, n_outputs=2, leaves=200)
    X = random_rows(rng, 1000, terms.n_features)
    whole = scores(terms, X)
    for layout in LAYOUTS.values():
        # A sparse matrix does not store zeros, which are 0 here, and stores NaN.
        for n_threads in (1, 2):
            np.testing.assert_array_equal(scores(terms, layout(X[:n_rows]), n_threads), whole[:n_rows])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_come_in_any_order(dtype: type) -> None:
    rng = np.random.default_rng(11)
    terms = random_terms(rng, n_trees=20)
    X = random_rows(rng, 1000, terms.n_features).astype(dtype)
    # The first and the last of each 64 rows are as far apart as if the rows followed each other.
    order = np.concatenate([[64 * i, *(64 * i + 1 + rng.permutation(62)), 64 * i + 63] for i in range(10)])
    for rows in (_core.Rows.dense(X), _core.Rows.columns(len(X), list(np.asfortranarray(X).T))):
        rows.take(order)
        found, _ = terms.pack(np.arange(0)).core.scores(rows, 0.0, 1, False)
        np.testing.assert_array_equal(found, terms.scores(X)[order])


@pytest.mark.parametrize("width", [1, 5, 15, 16, 17, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_panels_hold_the_rows(dtype: type, width: int) -> None:
    """Each column is compared with thresholds between all of its values."""
    rng = np.random.default_rng(12)
    X = rng.integers(0, 200, (100, width)).astype(dtype)
    builder = TreesBuilder(width)
    for column in range(width):
        for bit in range(0, 200, 7):
            builder.add([column], [bit + 0.5], [~0], [~1], [0], [0.0, 1.0 + column])
    terms = TreeTerms(builder.build(), np.zeros(1))
    expected = sum((X[:, c] > b + 0.5) * (1.0 + c) for c in range(width) for b in range(0, 200, 7))
    for n in (1, 8, 15, 16, 33, 100):
        np.testing.assert_array_equal(terms.scores(X[:n])[:, 0], expected[:n])
        inexact = X[:n] + (1e-12 if dtype == np.float64 else 0)
        np.testing.assert_array_equal(terms.scores(inexact)[:, 0], expected[:n])


@pytest.mark.parametrize("n_thresholds", [1, 15, 16, 31, 32, 63, 64, 127, 128, 254, 255, 256, 510, 511])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_any_number_of_thresholds(dtype: type, n_thresholds: int) -> None:
    """One feature is compared with thresholds at which its values stand, and NaN goes either way."""
    rng = np.random.default_rng(n_thresholds)
    thresholds = np.sort(rng.normal(size=n_thresholds).astype(dtype)).astype(np.float64)
    near = [thresholds, np.nextafter(thresholds.astype(dtype), np.inf, dtype=dtype), [np.inf, -np.inf, np.nan, 0.0]]
    X = np.concatenate(near).astype(dtype)[:, None]
    for left in ({0}, {1}, {0, 1}):
        builder = TreesBuilder(1)
        nan_left = [i % 2 if len(left) == 2 else min(left) for i in range(n_thresholds)]
        for threshold, nan in zip(thresholds, nan_left, strict=True):
            builder.add([0], [threshold], [~0], [~1], [nan], [0.0, 1.0])
        expected = (thresholds < X).sum(axis=1) + np.isnan(X[:, 0]) * (n_thresholds - sum(nan_left))
        terms = TreeTerms(builder.build(), np.zeros(1))
        for layout in (np.ascontiguousarray, np.asfortranarray, sparse.csr_array):
            np.testing.assert_array_equal(terms.scores(layout(X))[:, 0], expected)


@pytest.mark.parametrize("n_thresholds", [1, 2, 3, 7, 15, 31, 63, 255, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_of_whole_panels_and_of_the_rows_after_them(dtype: type, n_thresholds: int) -> None:
    rng = np.random.default_rng(n_thresholds)
    thresholds = rng.normal(size=(2, n_thresholds)).astype(dtype).astype(np.float64)
    X = np.asfortranarray(rng.choice(np.append(thresholds, [np.nan, np.inf, -np.inf]), (700, 2)).astype(dtype))
    nan_left = rng.integers(0, 2, (2, n_thresholds))
    builder = TreesBuilder(2)
    for f in range(2):
        for threshold, nan in zip(thresholds[f], nan_left[f], strict=True):
            builder.add([f], [threshold], [~0], [~1], [nan], [0.0, 1.0 + f])
    terms = TreeTerms(builder.build(), np.zeros(1))
    right = [(X[:, f, None] > thresholds[f]) | (np.isnan(X[:, f, None]) & (nan_left[f] == 0)) for f in range(2)]
    expected = right[0].sum(axis=1) + 2.0 * right[1].sum(axis=1)
    for n in (1, 40, 63, 64, 65, 128, 256, 257, 320, 700):
        np.testing.assert_array_equal(terms.scores(X[:n])[:, 0], expected[:n])


def test_large_trees_of_few_values() -> None:
    """Leaves of equal values may be one: of one value, of several, and of several of which one is not 0."""
    rng = np.random.default_rng(14)
    X = random_rows(rng, 150, 40)
    left, right = random_structure(rng, 900)
    n = len(left)
    hot = np.eye(3)[rng.integers(0, 3, n + 1)]
    for leaves in (rng.integers(0, 4, (n + 1, 1)), rng.integers(0, 3, (n + 1, 3)), hot, hot * [0.5, 0.25, 0]):
        builder = TreesBuilder(40)
        for _ in range(2):
            feature, threshold = rng.integers(0, 40, n), rng.integers(-8, 9, n) / 4
            builder.add(feature, threshold, left, right, rng.integers(0, 2, n), leaves)
        terms = TreeTerms(builder.build(), np.zeros(leaves.shape[1]))
        np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
        for layout in LAYOUTS.values():
            np.testing.assert_array_equal(terms.scores(layout(X)), reference_scores(terms, X))
            np.testing.assert_array_equal(terms.scores(layout(X[:3])), reference_scores(terms, X[:3]))


def test_a_plan_without_stages_has_nothing_to_trace() -> None:
    from types import SimpleNamespace

    from wald.engine import NO_STAGES
    from wald.outputs import Labels

    rng = np.random.default_rng(11)
    terms = random_terms(rng)
    model = SimpleNamespace(decision=Labels("sign", 2), tie_margin=0.0, working_precision=lambda dtype: 0.0)
    none = np.zeros(0, dtype=np.int64)
    cascade = terms.pack(none).cascade(model, NO_STAGES, np.zeros(0), np.zeros(0))
    assert cascade.trace(random_rows(rng, 9, terms.n_features), 1).margins.shape == (9, 0)
