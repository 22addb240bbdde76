"""One row: the leaves of many small trees, which are found feature by feature, equal those of a walk in Python."""

from __future__ import annotations

import numpy as np
import pytest
from trees.growing import random_rows, random_structure, random_terms, reference_scores

from wald.models import TreeTerms
from wald.models.tree_arrays import TreesBuilder


def score_rows(terms: TreeTerms, X: np.ndarray) -> np.ndarray:
    """Scores of rows that are passed one by one."""
    packed = terms.pack(np.zeros(0, dtype=np.int64))
    return np.concatenate([packed.scores(X[i : i + 1], lambda dtype: 0.0, 1)[0] for i in range(len(X))])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [1, 2, 31, 511, 512, 513, 1100])
def test_any_number_of_trees(n_trees: int, dtype: type) -> None:
    rng = np.random.default_rng(n_trees)
    terms = random_terms(rng, n_trees=n_trees, n_features=5, leaves=16, n_outputs=2)
    X = random_rows(rng, 12, terms.n_features).astype(dtype)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("leaves", [1, 2, 31, 63, 64, 65])
@pytest.mark.parametrize("values", [1, 3], ids=["own trees", "leaves of three values"])
def test_any_number_of_leaves(leaves: int, values: int) -> None:
    rng = np.random.default_rng(leaves)
    terms = random_terms(rng, n_trees=40, n_features=10, leaves=leaves, values=values, n_outputs=values)
    X = random_rows(rng, 30, terms.n_features)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("leaves", [32, 33])
@pytest.mark.parametrize("n_features", [1, 70])
def test_many_nodes_of_each_feature(leaves: int, n_features: int) -> None:
    """Rows begin with the sets of leaves that are kept after some nodes of a feature, 4 and 8 bytes each."""
    rng = np.random.default_rng(leaves)
    terms = random_terms(rng, n_trees=500, n_features=n_features, leaves=leaves)
    assert np.unique(terms.trees.feature, return_counts=True)[1].min() > 64
    X = random_rows(rng, 8, n_features)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("leaves", [2, 3, 33, 64])
def test_trees_as_deep_as_they_have_nodes(leaves: int) -> None:
    rng = np.random.default_rng(leaves)
    n, builder = leaves - 1, TreesBuilder(3)
    for t in range(40):
        inner, outer = [*range(1, n), ~n], [~k for k in range(n)]
        left, right = (inner, outer) if t % 2 else (outer, inner)
        features, thresholds = rng.integers(0, 3, n), rng.integers(-8, 9, n) / 4
        builder.add(features, thresholds, left, right, rng.integers(0, 2, n), rng.normal(size=leaves))
    terms = TreeTerms(builder.build(), np.zeros(1))
    X = random_rows(rng, 60, 3)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values(dtype: type, rounded: bool) -> None:
    """Thresholds beside numbers of the rows, around 0, at infinity and beyond float32, with NaN on either side."""
    limits = np.finfo(np.float32)
    edges = np.array([0.0, limits.smallest_subnormal, limits.tiny, 1.0, limits.max, 1e300, np.inf])
    near = np.concatenate([edges, np.nextafter(edges, np.inf), np.nextafter(edges, -np.inf)])
    thresholds = np.concatenate([near, -near])
    with np.errstate(over="ignore"):
        X = np.append(thresholds, np.nan).astype(dtype)[:, np.newaxis]
        seen = X.astype(np.float32).astype(np.float64) if rounded else X
    rng, builder = np.random.default_rng(0), TreesBuilder(1)
    for _ in range(100):
        left, right = random_structure(rng, 8)
        split = rng.choice(thresholds, 7)
        builder.add([0] * 7, split, left, right, rng.integers(0, 2, 7), rng.normal(size=8))
    terms = TreeTerms(builder.build(), np.zeros(1), f32_rows=rounded)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, seen))


@pytest.mark.parametrize("kind", ["large", "levels", "categories"])
@pytest.mark.parametrize("place", [0, 100, 600])
def test_small_trees_beside_others(kind: str, place: int) -> None:
    """Small trees beside one that walks, that has levels, or that compares categories."""
    rng = np.random.default_rng(place)
    builder = TreesBuilder(5)
    for t in range(1100):
        n_leaves = {"large": 300, "levels": 2, "categories": 2}[kind] if t == place else 8
        left, right = random_structure(rng, n_leaves)
        n = n_leaves - 1
        sets = np.full(n, -1)
        if t == place and kind == "categories":
            sets[0] = builder.add_set(np.array([5], dtype=np.uint32), 30, False)
        features, thresholds, nan_left = rng.integers(0, 5, n), rng.integers(-8, 9, n) / 4, rng.integers(0, 2, n)
        builder.add(features, thresholds, left, right, nan_left, rng.normal(size=n_leaves), categories=sets)
    terms = TreeTerms(builder.build(), np.zeros(1))
    X = random_rows(rng, 8, 5)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))
