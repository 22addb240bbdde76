"""One row: many small trees, whose leaves are found feature by feature, beside a walk in Python."""

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
@pytest.mark.parametrize("n_trees", [31, 32, 511, 512, 513, 1100])
def test_any_number_of_trees(n_trees: int, dtype: type) -> None:
    rng = np.random.default_rng(n_trees)
    terms = random_terms(rng, n_trees=n_trees, leaves=16, n_outputs=2)
    X = random_rows(rng, 12, terms.n_features).astype(dtype)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("leaves", [1, 2, 31, 63, 64, 65])
@pytest.mark.parametrize("categories", [False, True], ids=["numbers", "categories"])
def test_any_number_of_leaves(leaves: int, categories: bool) -> None:
    rng = np.random.default_rng(leaves)
    terms = random_terms(rng, n_trees=40, leaves=leaves, categories=categories)
    X = random_rows(rng, 30, terms.n_features)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("leaves", [2, 3, 33, 64])
def test_trees_as_deep_as_they_have_nodes(leaves: int) -> None:
    rng = np.random.default_rng(leaves)
    n, builder = leaves - 1, TreesBuilder(3)
    for t in range(40):
        inner = [*range(1, n), ~n]
        sides = (inner, [~k for k in range(n)])
        left, right = sides if t % 2 else sides[::-1]
        builder.add(
            rng.integers(0, 3, n),
            rng.integers(-8, 9, n) / 4,
            left,
            right,
            rng.integers(0, 2, n),
            rng.normal(size=leaves),
        )
    terms = TreeTerms(builder.build(), np.zeros(1))
    X = random_rows(rng, 60, 3)
    np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_extreme_values(dtype: type) -> None:
    """Thresholds at infinity, at the largest numbers and around 0, with NaN on either side."""
    limits = np.finfo(dtype)
    edges = np.array([0.0, limits.smallest_subnormal, limits.tiny, 1.0, limits.max, np.inf], dtype=dtype)
    thresholds = np.concatenate([edges, -edges])
    with np.errstate(over="ignore"):  # above the largest number comes infinity
        X = np.concatenate([thresholds, np.nextafter(thresholds, dtype(np.inf)), [np.nan]]).astype(dtype)
    rng, builder = np.random.default_rng(0), TreesBuilder(1)
    for _ in range(60):
        left, right = random_structure(rng, 8)
        split = rng.choice(thresholds, 7).astype(np.float64)
        builder.add([0] * 7, split, left, right, rng.integers(0, 2, 7), rng.normal(size=8))
    terms = TreeTerms(builder.build(), np.zeros(1))
    np.testing.assert_array_equal(score_rows(terms, X[:, None]), reference_scores(terms, X[:, None]))


def test_small_trees_between_others() -> None:
    """Small trees share a group with one that walks, that has levels, or that compares categories."""
    rng = np.random.default_rng(3)
    X = random_rows(rng, 20, 5)
    for place in (0, 25, 49):
        for kind in ("large", "levels", "categories"):
            builder = TreesBuilder(5)
            for t in range(50):
                n_leaves = 8 if t != place else {"large": 300, "levels": 2, "categories": 2}[kind]
                left, right = random_structure(rng, n_leaves)
                n = n_leaves - 1
                sets = np.full(n, -1)
                if t == place and kind == "categories":
                    sets[0] = builder.add_set(np.array([5], dtype=np.uint32), 30, False)
                builder.add(
                    rng.integers(0, 5, n),
                    rng.integers(-8, 9, n) / 4,
                    left,
                    right,
                    rng.integers(0, 2, n),
                    rng.normal(size=n_leaves),
                    categories=sets,
                )
            terms = TreeTerms(builder.build(), np.zeros(1))
            np.testing.assert_array_equal(score_rows(terms, X), reference_scores(terms, X))


def test_groups_of_a_plan() -> None:
    """Each stage of a plan has trees of its own; their sums are those that a whole batch has."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.frozen import FrozenEstimator

    from wald import EarlyExitClassifier

    X, y = load_breast_cancer(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=300, max_leaf_nodes=8, early_stopping=False).fit(X, y)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.1, random_state=0).fit(np.repeat(X, 8, axis=0))
    assert fast.plan_.n_stages > 0
    batch, alone = fast.decision_function(X), [fast.decision_function(X[i : i + 1])[0] for i in range(len(X))]
    np.testing.assert_array_equal(batch, alone)
    np.testing.assert_array_equal(fast.predict(X), [fast.predict_one(x) for x in X])
