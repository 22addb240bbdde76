"""Random trees, and a reference that walks them node by node."""

from __future__ import annotations

from typing import Any

import numpy as np

from wald.models import Trees, TreeTerms
from wald.models.tree_arrays import TreesBuilder


def random_structure(rng: np.random.Generator, n_leaves: int) -> tuple[np.ndarray, np.ndarray]:
    """Children of the nodes of a random tree; leaf k is ~k."""
    left, right, open_ends = [], [], [(-1, 0)]
    while len(left) < n_leaves - 1:
        parent, side = open_ends.pop(int(rng.integers(len(open_ends))))
        if parent >= 0:
            (left if side == 0 else right)[parent] = len(left)
        open_ends += [(len(left), 0), (len(left), 1)]
        left.append(0)
        right.append(0)
    for leaf, (parent, side) in enumerate(rng.permutation(open_ends)):
        if parent >= 0:
            (left if side == 0 else right)[parent] = ~leaf
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def random_terms(
    rng: np.random.Generator,
    n_trees: int = 12,
    n_features: int = 40,
    n_outputs: int = 1,
    leaves: int = 31,
    categories: bool = False,
    values: int = 1,
    **options: Any,
) -> TreeTerms:
    """An ensemble whose thresholds are small multiples of 1/4, so that rows meet them exactly."""
    builder = TreesBuilder(n_features)
    for t in range(n_trees):
        n_leaves = int(rng.integers(1, leaves + 1)) if t else leaves
        left, right = random_structure(rng, n_leaves)
        n = n_leaves - 1
        sets = np.full(n, -1)
        for node in np.flatnonzero(rng.random(n) < 0.3) if categories else ():
            bits = rng.integers(0, 2**32, int(rng.integers(1, 4)), dtype=np.uint32)
            size = 32 * len(bits) - int(rng.integers(0, 9))
            sets[node] = builder.add_set(bits, size, bool(rng.random() < 0.5))
        builder.add(
            rng.integers(0, n_features, n),
            rng.integers(-8, 9, n) / 4,
            left,
            right,
            rng.integers(0, 2, n),
            rng.normal(size=(n_leaves, values)),
            output=t % n_outputs if values == 1 else 0,
            categories=sets,
        )
    return TreeTerms(builder.build(), rng.normal(size=n_outputs), **options)


def random_rows(rng: np.random.Generator, n_rows: int, n_features: int, nan: bool = True) -> np.ndarray:
    """Multiples of 1/4, some of them large, negative or missing."""
    X = rng.integers(-12, 13, (n_rows, n_features)) / 4
    X = np.where(rng.random(X.shape) < 0.1, rng.integers(0, 200, X.shape), X)
    if nan:
        X[rng.random(X.shape) < 0.1] = np.nan
    X = np.where(rng.random(X.shape) < 0.02, -0.5, X)
    return np.asarray(X, dtype=np.float64)


def goes_left(trees: Trees, node: int, x: float, truncates: bool) -> bool:
    """Whether a node sends a value to the left."""
    if np.isnan(x):
        return bool(trees.nan_left[node])
    s = trees.categories[node]
    if s < 0:
        return bool(x <= trees.threshold[node])
    if (x <= -1 if truncates else x < 0) or max(x, 0) >= trees.n_categories[s]:
        return bool(trees.other_left[s])
    category = int(x)
    return bool(trees.bits[trees.first_bit_word[s] + category // 32] >> np.uint32(category % 32) & 1)


def reference_values(terms: TreeTerms, X: np.ndarray) -> np.ndarray:
    """The leaf of every tree."""
    trees = terms.trees
    found = np.empty((len(X), trees.n_trees))
    for t in range(trees.n_trees):
        s = trees.structure[t]
        first, n = trees.first_node[s], trees.first_node[s + 1] - trees.first_node[s]
        for i, x in enumerate(X):
            at = 0 if n else -1
            while at >= 0:
                node = first + at
                left = goes_left(trees, node, x[trees.feature[node]], terms.truncates)
                at = int((trees.left if left else trees.right)[node])
            found[i, t] = trees.leaves[trees.first_leaf[t] + ~at]
    return found


def reference_scores(terms: TreeTerms, X: np.ndarray) -> np.ndarray:
    """Leaves added to the base in the order of the trees."""
    dtype = np.float32 if terms.f32_sums else np.float64
    values = reference_values(terms, X).astype(dtype)
    sums = np.repeat(terms.base[np.newaxis].astype(dtype), len(X), axis=0)
    for t, k in enumerate(terms.trees.output):
        sums[:, k] += values[:, t]
    return sums.astype(np.float64) * terms.scale / terms.divisor + terms.bias
