"""Scores of rows that policies learn: linear ones, and log odds by boosted trees."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.svm import LinearSVC

from ... import _core
from ...models.tree_arrays import TreesBuilder
from ...models.trees import sum_of_trees
from .evidence import Known, Rows


@dataclass(frozen=True, eq=False)
class LinearScore:
    """``weights @ row + bias``, summed row by row so that a row's score does not depend on the rows beside it."""

    weights: NDArray[np.float32]
    bias: float

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Scores (n,)."""
        if rows.shape[1] != len(self.weights):
            raise ValueError(f"The policy has {len(self.weights)} weights, for rows of {rows.shape[1]} features.")
        return np.asarray(np.einsum("ij,j->i", rows, self.weights) + np.float64(self.bias), dtype=np.float64)

    @classmethod
    def unscaled(cls, weights: NDArray[np.float64], bias: float, scaling: Scaling) -> Self:
        """Convert a score of scaled rows into one of raw rows."""
        raw = weights / scaling.spread
        return cls(raw.astype(np.float32), float(bias - scaling.mean @ raw))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and standard deviations of rows; a constant feature has spread infinity, and so no weight."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Measure rows."""
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        return cls(mean, np.where(spread > 1e-6 * (1 + np.abs(mean)), spread, np.inf))

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Scale rows."""
        return np.asarray((rows - self.mean) / self.spread)


def weighted_svm(
    rows: Rows, wanted: NDArray[np.bool_], weight: NDArray[np.float64], C: float, seed: int
) -> LinearScore:
    """The weighted linear SVM (squared hinge) of each row alone: a structural SVM over a graph without edges.

    Raises ValueError if all rows with a weight have the same label.
    """
    counted = weight > 0
    rows, wanted, weight = rows[counted], wanted[counted], weight[counted]
    if not wanted.any() or wanted.all():
        raise ValueError("every part has the same pseudo-label")
    scaling = Scaling.of(rows)
    svm = LinearSVC(C=C / weight.sum(), dual=False, random_state=seed)
    svm.fit(scaling(rows), wanted, sample_weight=weight)
    return LinearScore.unscaled(svm.coef_[0], float(svm.intercept_[0]), scaling)


class BoostedTrees:
    """Log odds of an event, by ``max_iter`` trees over float32 rows.

    The sums are those of scikit-learn's `HistGradientBoostingClassifier`, bit for bit: thresholds are rounded down to
    float32, which sends float32 rows the same way, and the trees' values are added up in the same order.
    """

    def __init__(
        self, rows: NDArray[np.float32], event: NDArray[np.bool_], max_iter: int = 100, random_state: int | None = None
    ) -> None:
        self._arrays = self._fitted(rows, event, max_iter, random_state)
        self._trees = packed(**self._arrays)

    def __call__(self, rows: NDArray[np.float32]) -> NDArray[np.float64]:
        """Log odds (n,); each depends on its row alone."""
        return sums(self._trees, np.ascontiguousarray(rows, dtype=np.float32))

    def chances(self, known: Known) -> NDArray[np.float64]:
        """Logarithms of the probabilities of parts (n,), from their complex rows; -inf where no group is lacking."""
        return _core.part_chances(self._trees, *known)

    @staticmethod
    def _fitted(
        rows: NDArray[np.float32], event: NDArray[np.bool_], max_iter: int, random_state: int | None
    ) -> dict[str, Any]:
        if event.all() or not event.any():  # nothing to learn: constant odds, with half a row added to either side
            odds = np.log((event.sum() + 0.5) / ((~event).sum() + 0.5))
            return _arrays(float(odds), [], rows.shape[1])
        model = HistGradientBoostingClassifier(
            max_iter=max_iter,
            learning_rate=0.08,
            max_depth=6,
            max_leaf_nodes=24,
            min_samples_leaf=min(40, max(1, len(rows) // 20)),
            l2_regularization=1.0,
            early_stopping=False,
            random_state=random_state,
        ).fit(rows, event)
        trees = [predictor.nodes for (predictor,) in model._predictors]
        return _arrays(float(model._baseline_prediction.ravel()[0]), trees, rows.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return self._arrays

    def __setstate__(self, arrays: dict[str, Any]) -> None:
        self._arrays = arrays
        self._trees = packed(**arrays)


def _arrays(base: float, trees: list[NDArray[Any]], n_features: int) -> dict[str, Any]:
    """Nodes of scikit-learn's trees as `packed` takes them."""

    def column(name: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(nodes[name].astype(dtype) for nodes in trees)])

    leaf = column("is_leaf", bool)
    return {
        "base": base,
        "ends": np.cumsum([0] + [len(nodes) for nodes in trees], dtype=np.int64),
        "feature": column("feature_idx", np.int32),
        "threshold": column("num_threshold", np.float64),
        "left": np.where(leaf, 0, column("left", np.int32)).astype(np.int32),
        "right": np.where(leaf, 0, column("right", np.int32)).astype(np.int32),
        "value": column("value", np.float64),
        "n_features": n_features,
    }


def packed(
    base: float,
    ends: NDArray[np.int64],
    feature: NDArray[np.int32],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    value: NDArray[np.float64],
    n_features: int,
) -> _core.Model:
    """Trees as the engine adds them up: tree t has the nodes ``ends[t]`` to ``ends[t + 1]``, the root first.

    Children are indices within the tree, both 0 at a leaf. Raises ValueError if the nodes form no trees.
    """
    sizes, n = np.diff(ends), len(feature)
    if len(ends) == 0 or ends[0] != 0 or ends[-1] != n or (sizes < 1).any():
        raise ValueError("The ends of trees lead from 0 to the number of nodes, and every tree needs a node.")
    if any(len(nodes) != n for nodes in (threshold, left, right, value)) or n_features >= 2**20:
        raise ValueError("The arrays of trees have an entry for each node, and rows have fewer than 2^20 features.")
    if n and (np.minimum(left, right).min() < 0 or (np.maximum(left, right) >= np.repeat(sizes, sizes)).any()):
        raise ValueError("The children of a node lie in its own tree.")
    leaf, builder = (left == 0) & (right == 0), TreesBuilder(n_features)
    for first, last in pairwise(ends.tolist()):
        nodes = slice(first, last)
        nan_left = np.zeros(last - first)
        children = left[nodes], right[nodes]
        builder.add_nodes(leaf[nodes], feature[nodes], threshold[nodes], *children, nan_left, value[nodes][leaf[nodes]])
    if n == 0:
        builder.add_leaf([0.0])
    return sum_of_trees(builder.build(), base).core


def sums(trees: _core.Model, rows: NDArray[np.float32]) -> NDArray[np.float64]:
    """Sums (n,) of the base and the trees' values for finite rows."""
    if not np.isfinite(rows).all():
        raise ValueError("The rows of trees must be finite.")
    return trees.scores(_core.Rows.dense(rows), 0.0, 1)[0][:, 0]
