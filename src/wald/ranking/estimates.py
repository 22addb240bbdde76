"""Estimates of full scores from the first trees of an order, made best for rows near the k-th place of their group."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import RunningSums, Stages
from ..models import Terms
from ..models.protocols import Stepped
from ..plan.moments import boundary_weights, gather_moments, row_chunks
from ..plan.order import greedy_order
from ..plan.prior import with_pseudo_rows
from ..plan.readout import regressed_readouts
from ..plan.sums import LEAST_ROWS, SummedTerms, corrected_stages, mixed_stages
from .groups import Indices, RowGroups
from .measures import Floats, places

#: Rows on which order and readouts are fitted: at most so many, and so many bytes of tree values.
MOST_ROWS, MOST_BYTES = 40_000, 1 << 29
#: Weights of rows: those near the k-th place of their group count more, by this width in medians, and with this floor.
WIDTH, FLOOR = 0.5, 0.02


def distances_to_last_place(scores: Floats, groups: RowGroups, k: int) -> Floats:
    """How far each row lies from entering or leaving the first k; infinite in groups without other rows."""
    place, members = places(scores, groups), groups.members
    last, next_one = np.full(len(groups), -np.inf), np.full(len(groups), -np.inf)
    for of_groups, wanted in ((last, k - 1), (next_one, k)):
        here = place == wanted
        of_groups[members[here]] = scores[here]
    with np.errstate(invalid="ignore"):
        middle = 0.5 * (last + next_one)
    return np.where(np.isfinite(middle[members]), np.abs(scores - middle[members]), np.inf)


def row_weights(scores: Floats, groups: RowGroups, k: int) -> Floats:
    """Weights by which regressions count rows."""
    return boundary_weights(distances_to_last_place(scores, groups, k), WIDTH, FLOOR)


@dataclass(frozen=True, eq=False)
class Fitted:
    """An order of the trees, and what makes stages of it.

    Attributes
    ----------
    terms : int64 ndarray of shape (n_trees,)
        Trees in their order.
    stages : callable
        From numbers of trees, ascending, to stages.
    n_leaves : int64 ndarray of shape (n_trees,)
        Leaves of each tree that are corrected.
    """

    terms: Indices
    stages: Callable[[Indices], Stages]
    n_leaves: Indices

    def subset(self, stages: Stages, keep: Sequence[int]) -> Stages:
        """Some of the stages, with sums that end where the last of them does."""
        chosen = stages.subset(keep)
        if (sums := chosen.sums) is None:
            return chosen
        m = int(chosen.terms[-1])
        n = int(self.n_leaves[self.terms[:m]].sum())
        corrections = tuple(None if c is None else c[:n] for c in sums.corrections)
        sums = RunningSums(np.minimum(sums.ends, m), np.ascontiguousarray(sums.weights[:, :m]), corrections)
        return replace(chosen, sums=sums)


def fitted_order(terms: Terms, X: Any, scores: Floats, weights: Floats, rng: np.random.Generator) -> Fitted:
    """Order the trees greedily, by how much each says about the full score given those before it.

    Parameters
    ----------
    terms : Terms
    X : array or CSR of shape (n_rows, n_features)
    scores, weights : float64 ndarray of shape (n_rows,)
    rng : numpy.random.Generator
        Chooses rows where there are too many.
    """
    n = terms.n_terms
    most = min(MOST_ROWS, max(LEAST_ROWS, MOST_BYTES // (8 * n)))
    if len(scores) > most:
        some = np.sort(rng.choice(len(scores), most, replace=False))
        X, scores, weights = X[some], scores[some], weights[some]
    values, outputs = terms.values(X, np.arange(n)), scores[:, None]
    chunks = (
        (values[rows].copy(), outputs[rows].copy(), weights[None, rows]) for rows in row_chunks(len(values), 8 * n)
    )
    (moments,) = gather_moments(chunks, n, 1, 1)
    drawn = with_pseudo_rows(moments, terms.coef, values, weights)
    order = greedy_order(drawn, list(np.arange(n)[:, None]), np.ones(n), n)
    order = np.concatenate([order, np.setdiff1d(np.arange(n), order)]).astype(np.int64)
    stepped = Stepped.of(terms)
    counts = None if stepped is None or len(values) < LEAST_ROWS else stepped.leaf_counts()
    leaves = None if stepped is None or counts is None else stepped.leaves(X, np.arange(n))
    n_leaves = np.zeros(n, dtype=np.int64) if counts is None else counts
    summed = SummedTerms(values, order, np.zeros(n, dtype=np.int64), outputs, weights, leaves, n_leaves)

    def stages(stage_terms: Indices) -> Stages:
        readouts = regressed_readouts(drawn, order, stage_terms.tolist(), still_weights=terms.coef)
        mixed = mixed_stages(summed, stage_terms, readouts)
        return corrected_stages(summed, mixed) if leaves is not None else mixed

    return Fitted(order, stages, n_leaves)


def usual_errors(
    estimates: NDArray[np.float32], spread: NDArray[np.float32], scores: Floats, weights: Floats, groups: RowGroups
) -> Floats:
    """Usual error of each stage's estimates, relative to a row's spread.

    What all rows of a group have in common is left out, since it changes no place.

    Parameters
    ----------
    estimates, spread : float32 ndarray of shape (n_rows, n_stages)
    scores, weights : float64 ndarray of shape (n_rows,)
    groups : RowGroups

    Returns
    -------
    float64 ndarray of shape (n_stages,)
    """
    off = scores[:, None] - estimates.astype(np.float64)
    total = np.add.reduceat(weights, groups.starts)
    off -= (np.add.reduceat(weights[:, None] * off, groups.starts) / total[:, None])[groups.members]
    return np.sqrt(np.average((off / spread) ** 2, axis=0, weights=weights))
