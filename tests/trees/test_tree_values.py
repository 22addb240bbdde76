"""Values that the engine compares: extreme, missing, refused, of every dtype, and categories."""

from __future__ import annotations

import numpy as np
import pytest
from kinds.containers import LAYOUTS
from scipy import sparse
from trees.growing import random_rows, random_terms, reference_scores, reference_values

from wald.models import TreeTerms
from wald.models.tree_arrays import TreesBuilder


def scores(terms: TreeTerms, X: object, n_threads: int = 1) -> np.ndarray:
    return terms.pack(np.zeros(0, dtype=np.int64)).scores(X, lambda dtype: 0.0, n_threads)[0]


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
