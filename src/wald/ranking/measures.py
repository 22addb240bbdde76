"""What a ranking has lost: rows that are missing among the first k, and NDCG. Rows of a group stand side by side."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .groups import Indices, RowGroups

Floats = NDArray[np.float64]


def places(scores: Floats, groups: RowGroups) -> Indices:
    """Place of each row in its group, from 0 on, the largest score first; rows of equal scores stay in their order.

    Examples
    --------
    >>> places(np.array([1.0, 3.0, 1.0, 2.0]), RowGroups(np.array([3, 4]))).tolist()
    [1, 0, 2, 0]
    """
    order = np.lexsort((-scores, groups.members))
    found = np.empty(len(scores), dtype=np.int64)
    found[order] = np.arange(len(scores)) - np.repeat(groups.starts, groups.sizes)
    return found


def missing_shares(full: Floats, early: Floats, groups: RowGroups, k: int) -> Floats:
    """Share of each group's first k rows, or of all if there are fewer, that early scores leave out.

    Parameters
    ----------
    full, early : float64 ndarray of shape (n_rows,)
    groups : RowGroups
    k : int

    Returns
    -------
    float64 ndarray of shape (n_groups,)

    Examples
    --------
    >>> missing_shares(np.array([3.0, 2.0, 1.0]), np.array([3.0, 0.0, 1.0]), RowGroups.one(3), 2).tolist()
    [0.5]
    """
    if not len(groups):
        return np.zeros(0)
    kept = (places(full, groups) < k) & (places(early, groups) < k)
    return 1.0 - np.add.reduceat(kept.astype(np.float64), groups.starts) / np.minimum(groups.sizes, k)


def ndcg(relevance: Floats, scores: Floats, groups: RowGroups, k: int) -> Floats:
    """Normalized discounted cumulative gain of each group's first k rows; 1 for groups without a relevant row.

    A row of relevance r gains ``2 ** r - 1``, divided by ``log2(2 + place)``.

    Examples
    --------
    >>> ndcg(np.array([0.0, 1.0]), np.array([2.0, 1.0]), RowGroups.one(2), 10).round(3).tolist()
    [0.631]
    """
    if not len(groups):
        return np.zeros(0)

    def discounted(order_by: Floats) -> Floats:
        place = places(order_by, groups)
        gains = np.where(place < k, np.expm1(relevance * np.log(2.0)) / np.log2(2.0 + place), 0.0)
        return np.asarray(np.add.reduceat(gains, groups.starts), dtype=np.float64)

    best = discounted(relevance)
    return np.where(best > 0, discounted(scores) / np.where(best > 0, best, 1.0), 1.0)
