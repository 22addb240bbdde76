"""What the engine does for a row of a tree ensemble, in nanoseconds of one machine, so that plans can be compared.

Times of other machines are about proportional. They are counted, not measured: so the same rows give the same plan.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .tree_arrays import Trees
from .units import Ints, Units

#: Rows of a panel, features of a block, thresholds of a column of bins, and splits on categories of a group.
PANEL, BLOCK, THRESHOLDS, GROUPED = 64, 16, 255, 64
#: Trees with more leaves are cut: steps lead to so many exits, and walks from there to the leaves.
STEP_LEAVES, EXITS = 256, 128
#: Of a row: a cache line that is read in order, a block that is turned into columns, and a pass.
LINE, TURN, PASS = 1.6, 1.3, 8.0
#: Of a cache line of a column of which some rows are read, and float32 values of a line.
SCATTERED_LINE, LINE_VALUES = 3.8, 16
#: Of a panel: a column of bins, each step of its search in registers, each later one; a split; a leaf and sum.
COLUMN, SEARCH_STEP, GATHERED_STEP, SPLIT, LEAF = 3.0, 2.2, 25.0, 0.85, 4.0
#: Of a panel: a group of splits on categories, and each of its splits.
GROUP, CATEGORIES = 300.0, 3.0
#: Steps of a search that registers hold, and of a search in a column that a few trees read.
REGISTER_STEPS, FEW_STEPS = 5, 2
#: Of a row: a tree whose leaves are gathered from memory, the walk below a tree's steps, and a stage with its outputs.
GATHERED_LEAF, WALK, STAGE, OUTPUT = 0.4, 13.0, 1.4, 0.6


class TreeWork:
    """Work of a row, for trees in some order.

    Parameters
    ----------
    trees : Trees
    order : int64 ndarray
    columnar : bool
        Whether rows are stored by columns.
    """

    def __init__(self, trees: Trees, order: Ints, columnar: bool) -> None:
        self._columnar = columnar
        self._stage = STAGE + OUTPUT * int(trees.output.max(initial=0) + 1)
        structures = trees.structure[order]
        first, last = trees.first_node[structures], trees.first_node[structures + 1]
        new = np.concatenate([[True], structures[1:] != structures[:-1]]) if len(order) else np.zeros(0, dtype=bool)
        n_leaves = last - first + 1
        steps = np.where(new, _steps(n_leaves), 0)
        self._n_leaves, self._new = n_leaves, new
        nodes = np.concatenate([np.arange(f, f + n) for f, n in zip(first, steps, strict=True)] or [np.zeros(0, int)])
        self._first_node = np.concatenate([[0], np.cumsum(steps)])
        self._feature = trees.feature[nodes].astype(np.int64)
        self._categorical = trees.categories[nodes] >= 0
        compared = np.where(self._categorical, trees.categories[nodes], trees.threshold[nodes].view(np.int64))
        self._nan_left = trees.nan_left[nodes] != 0
        each = np.stack([self._feature, compared, self._categorical, self._nan_left])
        _, split = np.unique(each, axis=1, return_inverse=True)
        self._split = split.ravel()

    def of(self, begin: int, end: int, n_sums: int, n_stages: int, reached: float) -> float:
        """Nanoseconds of a row in a pass of the ordered trees [begin, end), which the share `reached` of rows takes."""
        some = slice(self._first_node[begin], self._first_node[end])
        feature, split = self._feature[some], self._split[some]
        distinct = np.unique(split, return_index=True)[1]
        categorical, nan_left = self._categorical[some][distinct], self._nan_left[some][distinct]
        by_panel = _columns(feature[distinct], categorical, nan_left) + SPLIT * len(split)
        trees = slice(begin, end)
        small = self._n_leaves[trees] <= PANEL
        by_panel += LEAF * n_sums * int(small.sum())
        by_row = GATHERED_LEAF * n_sums * int((~small).sum())
        by_row += WALK * int((self._new[trees] & (self._n_leaves[trees] > STEP_LEAVES)).sum())
        return PASS + self._reading(np.unique(feature), reached) + by_panel / PANEL + by_row + n_stages * self._stage

    def _reading(self, features: Ints, reached: float) -> float:
        if self._columnar:
            if reached == 1.0:  # lines follow each other, so that they are requested ahead
                return len(features) * LINE / LINE_VALUES
            lines = (1.0 - (1.0 - reached) ** LINE_VALUES) / (LINE_VALUES * reached) if reached > 0 else 1.0
            return len(features) * SCATTERED_LINE * lines
        blocks = np.unique(features // BLOCK)
        span = blocks[-1] - blocks[0] + 1 if len(blocks) else 0
        lines = span if 3 * len(blocks) >= span else 2 * len(blocks)
        return float(LINE * lines + TURN * len(blocks))


def units_by_columns(trees: Trees, units: Units) -> Units:
    """The same units, priced by the nanoseconds that each takes for a row that is stored by columns.

    A pass reads a column once, so a unit pays for those columns that no unit before it reads, and for its own steps and
    leaves. Columns of categories are priced like others.
    """
    structures = trees.structure[[members[0] for members in units.members]]
    n_leaves = trees.first_node[structures + 1] - trees.first_node[structures] + 1
    leaf = np.where(n_leaves <= PANEL, LEAF / PANEL, GATHERED_LEAF)
    own = SPLIT / PANEL * _steps(n_leaves) + leaf * [len(members) for members in units.members]
    own += WALK * (n_leaves > STEP_LEAVES)
    column = LINE / LINE_VALUES + (COLUMN + FEW_STEPS * SEARCH_STEP) / PANEL
    buys = tuple(np.append(read, trees.n_features + u) for u, read in enumerate(trees.features_of(structures)))
    return Units.sharing(units.members, buys, np.concatenate([np.full(trees.n_features, column), own]))


def _steps(n_leaves: Ints) -> Ints:
    """Numbers of splits that trees test before walks begin."""
    return np.where(n_leaves > STEP_LEAVES, EXITS, n_leaves) - 1


def _columns(feature: Ints, categorical: NDArray[np.bool_], nan_left: NDArray[np.bool_]) -> float:
    """Nanoseconds of a panel's columns of bins, for distinct splits with these features and sides for NaN."""
    n_thresholds = np.unique((2 * feature + nan_left)[~categorical], return_counts=True)[1]
    steps = np.ceil(np.log2(np.minimum(n_thresholds, THRESHOLDS) + 1))
    columns = -(-n_thresholds // THRESHOLDS)
    searches = SEARCH_STEP * np.minimum(steps, REGISTER_STEPS) + GATHERED_STEP * np.maximum(steps - REGISTER_STEPS, 0)
    n_splits = np.unique(feature[categorical], return_counts=True)[1]
    groups = -(-n_splits // GROUPED)
    return float(columns @ (COLUMN + searches) + GROUP * groups.sum() + CATEGORIES * n_splits.sum())
