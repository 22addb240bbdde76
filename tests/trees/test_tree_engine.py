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


@pytest.mark.parametrize("sides", ["right", "left", "both"])
@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e-39, 1e200])
def test_float64_values_between_neighbouring_floats(scale: float, sides: str) -> None:
    """Thresholds and values that equal each other where they are rounded to float32, and ends of its range."""
    rng = np.random.default_rng(13)
    ulp = 2.0**-23
    near = 1.0 + np.arange(40) * 3 * ulp  # floats, if scaled by 1
    thresholds = scale * (near + rng.choice([0.0, 0.25 * ulp, 0.75 * ulp], 40))
    if scale == 1.0 and sides == "both":
        thresholds = np.concatenate([thresholds, thresholds + 1e-12])  # two in the gap between two floats
    thresholds = np.concatenate([-thresholds, [-0.0], thresholds, [3e38, 1e39, np.inf]])
    nan_left = {"right": np.zeros, "left": np.ones}.get(sides, lambda n: rng.integers(0, 2, n))(len(thresholds))
    builder = TreesBuilder(1)
    for threshold, nan in zip(thresholds, nan_left, strict=True):
        builder.add([0], [threshold], [~0], [~1], [int(nan)], [0.0, 1.0])
    x = np.concatenate([thresholds, np.nextafter(thresholds, -np.inf), np.nextafter(thresholds, np.inf)])
    with np.errstate(over="ignore"):
        rounded = x.astype(np.float32)
    x = np.concatenate([x, rounded, [np.nan, np.inf, -np.inf, 0.0, 1e-310, -1e-310, 1e39, -1e39]])
    x = np.resize(rng.permutation(x), 1100)  # whole panels, and rows after them
    above = (x[:, None] > thresholds) | (np.isnan(x)[:, None] & (nan_left == 0))
    found = scores(TreeTerms(builder.build(), np.zeros(1)), x[:, None])
    np.testing.assert_array_equal(found[:, 0], above.sum(axis=1))


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


def test_levels_that_compare_the_same() -> None:
    """Complete trees whose nodes of a level share a split, as CatBoost's do; and one that is almost such a tree."""
    rng = np.random.default_rng(13)
    X = random_rows(rng, 200, 8)
    for depth in range(1, 10):
        for spoilt in (False, True):
            builder = TreesBuilder(8)
            for _ in range(3):
                n = 2**depth - 1
                level = np.log2(np.arange(1, n + 1)).astype(np.int64)
                feature, threshold = rng.integers(0, 8, depth)[level], rng.integers(-8, 9, depth)[level] / 4
                nan_left = rng.integers(0, 2, depth)[level]
                children = 2 * np.arange(n)
                left, right = (np.where(c < n, c, ~(c - n)) for c in (children + 1, children + 2))
                if spoilt:
                    nan_left[-1] = 1 - nan_left[-1]
                builder.add(feature, threshold, left, right, nan_left, rng.normal(size=n + 1))
            terms = TreeTerms(builder.build(), np.zeros(1))
            np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
            np.testing.assert_array_equal(terms.scores(X), reference_scores(terms, X))
            for row in (X[:1], X[:1].astype(np.float32), X[-1:]):
                np.testing.assert_array_equal(scores(terms, row), reference_scores(terms, row))


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values(dtype: type, depth: int) -> None:
    """Thresholds at infinity, at the largest numbers and around 0, with NaN on either side, for one row and many."""
    limits = np.finfo(dtype)
    edges = np.array([0.0, limits.smallest_subnormal, limits.tiny, 1.0, limits.max, np.inf], dtype=dtype)
    thresholds = np.concatenate([edges, -edges])
    with np.errstate(over="ignore"):  # above the largest number comes infinity
        above = np.nextafter(thresholds, dtype(np.inf))
    X = np.concatenate([thresholds, above, [np.nan]]).astype(dtype)[:, None]
    for nan_left in (0, 1):
        builder = TreesBuilder(1)
        for i, threshold in enumerate(thresholds.astype(np.float64)):
            split = [threshold] if depth == 1 else [threshold, thresholds[i - 1], thresholds[i - 2]]
            left, right = ([~0], [~1]) if depth == 1 else ([1, ~0, ~2], [2, ~1, ~3])
            builder.add([0] * len(split), split, left, right, [nan_left] * len(split), 2.0 ** np.arange(2**depth))
        terms = TreeTerms(builder.build(), np.zeros(1))
        expected = reference_scores(terms, X)
        np.testing.assert_array_equal(scores(terms, X), expected)
        for i in range(len(X)):
            np.testing.assert_array_equal(scores(terms, X[i : i + 1]), expected[i : i + 1])


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


@pytest.mark.parametrize("dtype", [np.float32, np.uint8])
def test_other_dtypes(dtype: type) -> None:
    rng = np.random.default_rng(3)
    terms = random_terms(rng, categories=True)
    X = np.abs(random_rows(rng, 90, terms.n_features, nan=False)).astype(dtype)
    expected = reference_scores(terms, X.astype(np.float64))
    for layout in (np.ascontiguousarray, np.asfortranarray, lambda rows: np.repeat(rows, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(terms.scores(layout(X)), expected)


def test_float64_rows_between_two_float32_numbers() -> None:
    rng = np.random.default_rng(4)
    builder = TreesBuilder(1)
    thresholds = rng.normal(size=50)
    for threshold in thresholds:
        builder.add([0], [threshold], [~0], [~1], [0], [0.0, 1.0])
    near = np.concatenate([thresholds, np.nextafter(thresholds, 9), np.nextafter(thresholds, -9)])[:, None]
    for X in (near, near.astype(np.float32)):
        exact = (thresholds < X).sum(axis=1, keepdims=True).astype(np.float64)
        np.testing.assert_array_equal(TreeTerms(builder.build(), np.zeros(1)).scores(X), exact)
    rounded = (near.astype(np.float32) > thresholds).sum(axis=1, keepdims=True).astype(np.float64)
    np.testing.assert_array_equal(TreeTerms(builder.build(), np.zeros(1), f32_rows=True).scores(near), rounded)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_values_that_count_as_missing(layout) -> None:
    rng = np.random.default_rng(5)
    zero = (np.arange(40) % 3 == 0).astype(np.uint8)
    X = random_rows(rng, 70, 40)
    X[rng.random(X.shape) < 0.3] = 0.0
    X[rng.random(X.shape) < 0.05] = 1e-36
    for options, missing in (
        ({"zero_is_missing": zero}, (np.abs(X) <= 1e-35) & (zero == 1)),
        ({"missing": 1.0}, X == 1.0),
    ):
        terms = random_terms(rng, **options)
        seen = np.where(missing, np.nan, X)
        np.testing.assert_array_equal(terms.scores(layout(X)), reference_scores(terms, seen))
        np.testing.assert_array_equal(terms.scores(layout(X[:3])), reference_scores(terms, seen[:3]))


def test_absent_values_of_sparse_rows_may_be_missing() -> None:
    rng = np.random.default_rng(6)
    terms = random_terms(rng, absent_is_missing=True)
    X = random_rows(rng, 70, terms.n_features, nan=False)
    X[rng.random(X.shape) < 0.5] = 0.0
    expected = reference_scores(terms, np.where(X == 0, np.nan, X))
    np.testing.assert_array_equal(terms.scores(sparse.csr_array(X)), expected)
    np.testing.assert_array_equal(terms.scores(sparse.csr_array(X[:2])), expected[:2])


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


def arguments(rng: np.random.Generator) -> dict:
    trees = random_terms(rng, n_trees=3, leaves=9, categories=True).trees
    return {name: np.array(array) for name, array in trees.arrays()}


def _pack(arrays: dict) -> None:
    from wald.models import Trees

    TreeTerms(Trees(40, **arrays), np.zeros(1)).scores(np.zeros((1, 40)))


HOSTILE = {
    "a cycle": ("left", 0, 0, "out of range"),
    "a child beyond the tree": ("right", 0, 99, "out of range"),
    "a leaf beyond the tree": ("left", 0, -99, "out of range"),
    "the smallest number": ("left", 0, -(2**31), "out of range"),
    "a feature beyond the columns": ("feature", 0, 40, "feature is out of range"),
    "a negative feature": ("feature", 0, -1, "feature is out of range"),
    "a set that is not there": ("categories", 0, 10_000, "categories are out of range"),
    "nodes that end early": ("first_node", -1, 0, "must ascend"),
    "leaves that end early": ("first_leaf", -1, 0, "must ascend"),
    "no such structure": ("structure", 0, 9, "structure is out of range"),
    "no such output": ("output", 0, 9, "an output is out of range"),
    "a leaf that is not finite": ("leaves", 0, np.inf, "leaves must be finite"),
    "bits beyond the array": ("first_bit_word", 0, 2**40, "outside the bits"),
    "categories without end": ("n_categories", 0, 2**31 - 1, "outside the bits"),
}


@pytest.mark.parametrize(("name", "place", "value", "words"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_arrays_are_refused(name: str, place: int, value: float, words: str) -> None:
    arrays = arguments(np.random.default_rng(7))
    _pack(arrays)
    arrays[name][place] = value
    with pytest.raises(ValueError, match=words):
        _pack(arrays)


def test_a_nan_threshold_is_refused() -> None:
    arrays = arguments(np.random.default_rng(8))
    arrays["threshold"][np.flatnonzero(arrays["categories"] < 0)[0]] = np.nan
    with pytest.raises(ValueError, match="threshold is NaN"):
        _pack(arrays)


def test_arrays_of_other_lengths_are_refused() -> None:
    for name in arguments(np.random.default_rng(9)):
        arrays = arguments(np.random.default_rng(9))
        arrays[name] = arrays[name][:-1]
        if name != "bits" or len(arrays[name]) == 0:
            with pytest.raises(ValueError, match=r"must|need|outside|one leaf more"):
                _pack(arrays)


@pytest.mark.parametrize(
    ("left", "right"),
    [([1, ~0], [1, ~1]), ([1, ~0], [~1, ~1]), ([0], [~0]), ([~0, 1], [~1, ~2]), ([5], [~0])],
    ids=["a shared child", "a shared leaf", "a root below itself", "a node below itself", "out of range"],
)
def test_a_builder_refuses_what_is_no_tree(left: list[int], right: list[int]) -> None:
    n = len(left)
    with pytest.raises(ValueError, match="nodes of a tree"):
        TreesBuilder(2).add([0] * n, [0.0] * n, left, right, [0] * n, [0.0] * (n + 1))


def test_nodes_may_come_in_any_order() -> None:
    rng = np.random.default_rng(10)
    left, right = random_structure(rng, 40)
    n = len(left)
    shuffled = np.concatenate([[0], 1 + rng.permutation(n - 1)])
    feature, threshold, leaves = rng.integers(0, 5, n), rng.normal(size=n), rng.normal(size=40)
    X = rng.normal(size=(80, 5))
    found = []
    for order in (np.arange(n), shuffled):
        place = np.argsort(order)

        def moved(child: np.ndarray, place: np.ndarray = place, order: np.ndarray = order) -> np.ndarray:
            return np.where(child >= 0, place[np.maximum(child, 0)], child)[order]

        builder = TreesBuilder(5)
        builder.add(feature[order], threshold[order], moved(left), moved(right), np.zeros(n), leaves)
        found.append(TreeTerms(builder.build(), np.zeros(1)).scores(X))
    np.testing.assert_array_equal(*found)


def test_values_of_refused_rows_are_nan() -> None:
    rng = np.random.default_rng(13)
    terms = random_terms(rng, n_trees=30, nan=False)
    X = random_rows(rng, 200, terms.n_features)
    values = terms.values(X)
    refused = np.isnan(X).any(axis=1)
    assert np.isnan(values[np.isnan(values).any(axis=1)]).all()
    assert (np.isnan(values).any(axis=1) == refused).all()


@pytest.mark.parametrize("truncates", [False, True], ids=["negative", "truncates"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("n_trees", "most"), [(1, 256), (5, 257), (70, 90), (70, 5000), (200, 90)], ids=lambda n: f"{n}"
)
def test_splits_on_categories(n_trees: int, most: int, dtype: type, truncates: bool) -> None:
    """Few and many splits of a feature, on few and many categories, with all kinds of values."""
    rng = np.random.default_rng(n_trees + most)
    builder = TreesBuilder(2)
    for t in range(n_trees):
        size = most if t == 0 else int(rng.integers(0, most + 1))
        bits = rng.integers(0, 2**32, -(-size // 32), dtype=np.uint32)
        s = builder.add_set(bits, size, bool(t % 2))
        builder.add([t % 3 == 0], [0.0], [~0], [~1], [t % 5 < 2], rng.normal(size=2), categories=np.array([s]))
    terms = TreeTerms(builder.build(), np.zeros(1), truncates=truncates, f32_rows=dtype is np.float32)
    edges = [-np.inf, -2, -1, -0.75, -0.0, 0, 0.5, most - 1, most - 0.5, most, most + 1, 2**31, 1e30, np.inf, np.nan]
    X = np.concatenate([rng.uniform(-2, 1.1 * most, (300, 2)), np.stack([edges, edges[::-1]], axis=1)]).astype(dtype)
    np.testing.assert_array_equal(terms.values(X), reference_values(terms, X))
    for row in X[-len(edges) :]:
        np.testing.assert_array_equal(terms.scores(row[np.newaxis]), reference_scores(terms, row[np.newaxis]))


def test_many_nodes_may_name_one_set() -> None:
    """A set is kept once, however many nodes name it."""
    resource = pytest.importorskip("resource")
    n, words = 3000, 30_000
    builder = TreesBuilder(1)
    s = builder.add_set(np.zeros(words, dtype=np.uint32), 32 * words - 5, False)
    for _ in range(n):
        builder.add([0], [0.0], [~0], [~1], [0], [0.0, 1.0], categories=np.array([s]))
    trees = builder.build()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert TreeTerms(trees, np.zeros(1)).scores(np.zeros((3, 1))).tolist() == [[float(n)]] * 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB; n copies would be 360 MB


def test_sets_of_endless_categories_are_refused() -> None:
    builder = TreesBuilder(1)
    s = builder.add_set(np.zeros(2**19 + 1, dtype=np.uint32), 2**24 + 1, False)
    builder.add([0], [0.0], [~0], [~1], [0], [0.0, 1.0], categories=np.array([s]))
    with pytest.raises(ValueError, match="more than 2\\^24 categories"):
        TreeTerms(builder.build(), np.zeros(1)).scores(np.zeros((1, 1)))


def test_missing_values_that_float32_does_not_hold() -> None:
    """Float32 columns beside float64 ones are compared as they are, in batches as in single rows."""
    pl = pytest.importorskip("polars")

    builder = TreesBuilder(2)
    builder.add([0], [5.0], [~0], [~1], [0], [1.0, 2.0])
    builder.add([1], [5.0], [~0], [~1], [0], [0.0, 0.0])
    terms = TreeTerms(builder.build(), np.zeros(1), missing=0.1)
    for dtype in (np.float32, np.float64):
        frame = pl.DataFrame({"a": np.full(100, 0.1, dtype=dtype), "b": np.zeros(100)})
        many = terms.scores(frame)
        assert (many == (1.0 if dtype == np.float32 else 2.0)).all()  # a missing value goes to the right here
        np.testing.assert_array_equal(terms.scores(frame[:3]), many[:3])
