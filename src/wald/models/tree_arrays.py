"""Binary decision trees as arrays, as every reader of a tree library hands them over."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .units import Floats, Ints

Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Trees:
    """Binary decision trees as arrays: structures, which send a row to a leaf, and the values of the leaves.

    Parameters
    ----------
    n_features : int
        Number of columns of a row.
    first_node : int64 ndarray of shape (n_structures + 1,)
        Structure s has the nodes ``first_node[s]`` to ``first_node[s + 1]``.
    first_leaf : int64 ndarray of shape (n_trees + 1,)
        Tree t has the leaves ``first_leaf[t]`` to ``first_leaf[t + 1]``.
    feature : int32 ndarray of shape (n_nodes,)
        The column that a node compares.
    threshold : float64 ndarray of shape (n_nodes,)
        A row goes to the left if ``x[feature] <= threshold``.
    left, right : int32 ndarray of shape (n_nodes,)
        Children: nodes of the same structure, which come after their parent; leaf k is ``~k``.
    nan_left : uint8 ndarray of shape (n_nodes,)
        Whether NaN goes to the left.
    categories : int32 ndarray of shape (n_nodes,)
        The node's set of categories, which replaces its threshold, or -1.
    leaves : float64 ndarray of shape (n_leaves,)
        Values of the leaves.
    output : int32 ndarray of shape (n_trees,)
        The output that each tree is added to.
    structure : int32 ndarray of shape (n_trees,)
        The nodes of each tree. Trees share a structure where the leaves of a model have several values.
    first_bit_word : int64 ndarray of shape (n_sets,)
        Set s has the bits from ``bits[first_bit_word[s]]`` on.
    n_categories : int32 ndarray of shape (n_sets,)
    other_left : uint8 ndarray of shape (n_sets,)
        Whether negative numbers and categories beyond the set go to the left.
    bits : uint32 ndarray
        A set bit sends its category to the left.
    """

    n_features: int
    first_node: Ints
    first_leaf: Ints
    feature: Int32s
    threshold: Floats
    left: Int32s
    right: Int32s
    nan_left: Bytes
    categories: Int32s
    leaves: Floats
    output: Int32s
    structure: Int32s
    first_bit_word: Ints
    n_categories: Int32s
    other_left: Bytes
    bits: NDArray[np.uint32]

    @property
    def n_trees(self) -> int:
        """Number of trees."""
        return len(self.output)

    def of_output(self, output: int) -> Trees:
        """The trees of one output."""
        which = np.flatnonzero(self.output == output)
        first, last = self.first_leaf[which], self.first_leaf[which + 1]
        parts = [self.leaves[a:b] for a, b in zip(first.tolist(), last.tolist(), strict=True)]
        return replace(
            self,
            first_leaf=np.concatenate([[0], np.cumsum(last - first)]).astype(np.int64),
            leaves=np.concatenate(parts),
            output=np.zeros(len(which), dtype=np.int32),
            structure=self.structure[which],
        )

    def features_of(self, structures: Int32s) -> Iterator[Ints]:
        """The features that the nodes of each of these structures compare, in ascending order."""
        for s in structures.tolist():
            yield np.unique(self.feature[self.first_node[s] : self.first_node[s + 1]]).astype(np.int64)

    def arrays(self) -> Iterator[tuple[str, NDArray[Any]]]:
        """Names and arrays, in the order of the parameters."""
        for each in fields(self)[1:]:
            yield each.name, getattr(self, each.name)


#: Nodes that a row of `rows_at_thresholds` lies next to, its largest value, and its share of zeros, and of NaN.
MOST_PICKED, LARGEST_PICKED, RARE = 512, 1e30, 0.03


class TreesBuilder:
    """Collects trees from a reader. Nodes may come in any order.

    Parameters
    ----------
    n_features : int
    most_words : int or None, default=None
        Number of words of 32 bits that all sets of categories may take; None: unlimited.
    """

    def __init__(self, n_features: int, most_words: int | None = None) -> None:
        self.n_features = n_features
        self._most_words, self._n_words = most_words, 0
        self._parts: dict[str, list[Any]] = {
            name: [] for name in ("feature", "threshold", "left", "right", "nan_left", "categories", "leaves")
        }
        self._n_nodes, self._n_leaves = [0], [0]
        self._output: list[int] = []
        self._structure: list[int] = []
        self._sets: list[tuple[NDArray[np.uint32], int, bool]] = []

    def add_set(self, bits: NDArray[np.uint32], n_categories: int, other_left: bool) -> int:
        """Add a set of categories whose bits go to the left; returns its number."""
        self._n_words += len(bits)
        if self._most_words is not None and self._n_words > self._most_words:
            raise ValueError(f"Its sets of categories take more than {self._most_words} words.")
        self._sets.append((np.asarray(bits, dtype=np.uint32), n_categories, other_left))
        return len(self._sets) - 1

    def add(
        self,
        feature: Any,
        threshold: Any,
        left: Any,
        right: Any,
        nan_left: Any,
        leaves: Any,
        output: int = 0,
        categories: Any = None,
    ) -> None:
        """Add a tree in the form of `Trees`, whose node 0 is the root.

        Leaves of shape (n_leaves, n_values) are trees of one structure, added to the outputs from `output` on.
        """
        values = np.asarray(leaves, dtype=np.float64).reshape(len(leaves), -1)
        n, n_leaves = len(feature), len(values)
        left, right = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        order = _parents_first(left, right, n, n_leaves)
        place = np.empty(n, dtype=np.int64)
        place[order] = np.arange(n)

        def renumbered(child: NDArray[np.int64]) -> NDArray[np.int64]:
            return np.where(child >= 0, place[np.maximum(child, 0)] if n else child, child)[order]

        chosen = np.full(n, -1) if categories is None else np.asarray(categories)
        for name, array in (
            ("feature", np.asarray(feature)[order]),
            ("threshold", np.asarray(threshold, dtype=np.float64)[order]),
            ("left", renumbered(left)),
            ("right", renumbered(right)),
            ("nan_left", np.asarray(nan_left)[order]),
            ("categories", chosen[order]),
        ):
            self._parts[name].append(array)
        for k, column in enumerate(values.T):
            self._parts["leaves"].append(column)
            self._n_leaves.append(n_leaves)
            self._output.append(output + k)
            self._structure.append(len(self._n_nodes) - 1)
        self._n_nodes.append(n)

    def add_leaf(self, leaves: Any, output: int = 0) -> None:
        """Add a tree without nodes."""
        none = np.zeros(0, dtype=np.int64)
        self.add(none, none, none, none, none, leaves, output)

    def add_nodes(
        self,
        is_leaf: NDArray[np.bool_],
        feature: Any,
        threshold: Any,
        left: Any,
        right: Any,
        nan_left: Any,
        leaves: Any,
        output: int = 0,
        categories: Any = None,
    ) -> None:
        """Add a tree whose leaves are nodes, too: all arrays but `leaves` have an entry for each of either."""
        inner = ~is_leaf
        number = np.where(inner, np.cumsum(inner) - 1, ~(np.cumsum(is_leaf) - 1))
        chosen = None if categories is None else categories[inner]
        children = number[left[inner]], number[right[inner]]
        self.add(feature[inner], threshold[inner], *children, nan_left[inner], leaves, output, chosen)

    def build(self) -> Trees:
        """Return all trees."""

        def joined(name: str, dtype: Any) -> Any:
            return np.concatenate([*self._parts[name], np.zeros(0)]).astype(dtype)

        bits = [bits for bits, _, _ in self._sets]
        return Trees(
            n_features=self.n_features,
            first_node=np.cumsum(self._n_nodes, dtype=np.int64),
            first_leaf=np.cumsum(self._n_leaves, dtype=np.int64),
            feature=joined("feature", np.int32),
            threshold=joined("threshold", np.float64),
            left=joined("left", np.int32),
            right=joined("right", np.int32),
            nan_left=joined("nan_left", np.uint8),
            categories=joined("categories", np.int32),
            leaves=joined("leaves", np.float64),
            output=np.array(self._output, dtype=np.int32),
            structure=np.array(self._structure, dtype=np.int32),
            first_bit_word=np.cumsum([0, *map(len, bits)], dtype=np.int64)[: len(bits)],
            n_categories=np.array([n for _, n, _ in self._sets], dtype=np.int32),
            other_left=np.array([other for _, _, other in self._sets], dtype=np.uint8),
            bits=np.concatenate([*bits, np.zeros(0, dtype=np.uint32)]).astype(np.uint32),
        )


def _parents_first(left: Ints, right: Ints, n: int, n_leaves: int) -> Ints:
    """Nodes level by level, from the root.

    Raises
    ------
    ValueError
        If they are no tree.
    """
    if len(left) != n or len(right) != n or n_leaves != n + 1:
        raise ValueError(f"A tree has {n} nodes, {len(left)} and {len(right)} children and {n_leaves} leaves.")
    inner = np.concatenate([left[left >= 0], right[right >= 0]])
    outer = ~np.concatenate([left[left < 0], right[right < 0]])
    if not (
        (np.array_equal(np.sort(inner), np.arange(1, n)) and np.array_equal(np.sort(outer), np.arange(n_leaves)))
        or n == 0
    ):
        raise ValueError("The nodes of a tree are shared, missing or out of range.")
    order: list[Any] = []
    level = np.arange(min(n, 1))
    while len(level):
        order.append(level)
        below = np.stack([left[level], right[level]], axis=1).ravel()
        level = below[below >= 0]
    found = np.concatenate([*order, np.zeros(0, dtype=np.int64)]).astype(np.int64)
    if len(found) != n:
        raise ValueError("The nodes of a tree run in a circle.")
    return found


def rows_at_thresholds(trees: Trees, n_rows: int, rng: np.random.Generator, nan: bool) -> Floats:
    """Make rows whose values lie next to thresholds of random nodes, half of them the first of a tree.

    Every row gets to the first node of a tree, and few rows to any other one.

    Parameters
    ----------
    trees : Trees
    n_rows : int
    rng : numpy.random.Generator
    nan : bool
        Whether some values are NaN.

    Returns
    -------
    float64 ndarray of shape (n_rows, n_features)
        Each value is the threshold of a node, a neighbour of it in float32 or float64, a category, 0 or NaN.
    """
    rows = np.zeros((n_rows, trees.n_features))
    n_nodes = len(trees.feature)
    if n_nodes == 0:
        return rows
    node = rng.integers(n_nodes, size=(n_rows, min(MOST_PICKED, 4 * trees.n_features)))
    node[:, ::2] = rng.choice(np.unique(trees.first_node[:-1][np.diff(trees.first_node) > 0]), size=node[:, ::2].shape)
    exact = np.clip(np.nan_to_num(trees.threshold[node]), -LARGEST_PICKED, LARGEST_PICKED)
    single = exact.astype(np.float32)
    beside = rng.choice([-np.inf, np.inf], size=node.shape)
    values = np.choose(
        rng.integers(4, size=node.shape),
        [exact, np.nextafter(exact, beside), single, np.nextafter(single, beside.astype(np.float32))],
    )
    is_set = trees.categories[node] >= 0
    if is_set.any():
        most = trees.n_categories[trees.categories[node[is_set]]]
        values[is_set] = rng.integers(0, most.astype(np.int64) + 1)
    rows[np.arange(n_rows)[:, None], trees.feature[node]] = values
    other = rng.random(rows.shape)
    rows[other < RARE] = 0.0
    if nan:
        rows[other > 1 - RARE] = np.nan
    return rows
