"""Running sums: estimates of tree ensembles as mixtures of few sums, whose leaves have values of their own.

A row keeps the sums from stage to stage, so that a stage costs no more than its new trees. A sum has the weights of one
stage's regression, and the sums' stages lie apart by a factor. Since a leaf is looked up in a table anyway, its value
may be any: corrections of leaves are free at run time, and so are sums of what leaves say about a row's error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg

from ..engine import Readout, RunningSums, Stages
from .moments import Floats
from .order import Ints

#: Running sums of which estimates are mixtures, and the least ratio of their numbers of terms.
MOST_SUMS, ANCHOR_RATIO = 8, 2
#: A stage mixes at most so many sums that are complete, and so many that are not.
MIXED = 1, 3
#: Added to the variance of each running sum, as a share of it: sums of similar weights are nearly collinear.
MIXTURE_RIDGE = 1e-6
#: Rows that each leaf is given in addition to its own, where nothing is to be corrected: for values, and for variances.
VALUE_ROWS, VARIANCE_ROWS = 100.0, 2000.0
#: Squared errors are cut at this multiple of their mean, lest few rows decide.
LARGEST_SQUARE = 25.0
#: Corrections are made from at least so many rows, and from at most so many leaves of all rows and trees together.
#: Where rows leave by the margin of one score, variances are made from more.
LEAST_ROWS, MOST_LEAVES, MOST_SPREAD = 1000, 8_000_000, 16_000_000
#: The conjugate gradients stop at this relative residual, or after so many steps.
TOLERANCE, MOST_STEPS = 1e-2, 20


@dataclass(frozen=True, eq=False)
class SummedTerms:
    """The terms of a plan on the order rows.

    Parameters
    ----------
    values : float64 ndarray of shape (n, n_pool)
    order : int64 ndarray of shape (m,)
        Columns of `values` in the plan's order.
    owner : int64 ndarray of shape (m,)
        Output of each ordered term.
    scores : float64 ndarray of shape (n, n_outputs)
        Full scores.
    row_weights : float64 ndarray of shape (n,)
    leaves : int32 ndarray of shape (n, n_pool) or None
        The leaf of each term; None where leaves are not corrected.
    n_leaves : int64 ndarray of shape (n_pool,)
    """

    values: Floats
    order: Ints
    owner: Ints
    scores: Floats
    row_weights: Floats
    leaves: NDArray[np.int32] | None
    n_leaves: Ints

    @property
    def first_leaf(self) -> Ints:
        """Place of each ordered term's first leaf among all leaves of ordered terms, and the number of them."""
        return np.concatenate([[0], np.cumsum(self.n_leaves[self.order])]).astype(np.int64)


def mixed_stages(terms: SummedTerms, stage_terms: Ints, readouts: Sequence[Readout]) -> Stages:
    """Stages whose estimates are the best mixtures of few running sums.

    The sums have the weights of some of the given readouts, from the last one on back; the number of terms falls by a
    factor of at least `ANCHOR_RATIO` from one to the next.

    Parameters
    ----------
    terms : SummedTerms
    stage_terms : int64 ndarray of shape (T,)
    readouts : sequence of T Readout
        Regressions on the terms of each stage.
    """
    if len(stage_terms) == 0:
        return Stages(stage_terms, ())
    anchors = _anchors(stage_terms.tolist())
    weights = np.zeros((len(anchors), int(stage_terms[-1])))
    for row, t in zip(weights, anchors, strict=True):
        own = readouts[t].weights
        row[: own.shape[1]] = own[terms.owner[: own.shape[1]], np.arange(own.shape[1])]
    sums = RunningSums(stage_terms[anchors], weights, (None,) * len(anchors))
    return _mixed(terms, stage_terms, sums)


def corrected_stages(terms: SummedTerms, stages: Stages, fine_spread: bool = False) -> Stages:
    """Stages whose sums have corrected leaves.

    The corrections of a sum are a ridge regression of the error of its own stage's estimate on the leaves of its terms.

    Parameters
    ----------
    terms : SummedTerms
        With leaves.
    stages : Stages
        From `mixed_stages`.
    fine_spread : bool, default=False
        Whether variances are made of more sums.
    """
    assert stages.sums is not None
    assert terms.leaves is not None
    weights, ends = stages.sums.weights, stages.sums.ends
    corrections: list[NDArray[np.float32] | None] = []
    for s, end in enumerate(ends.tolist()):
        if end * len(terms.values) > MOST_LEAVES:
            corrections.append(None)
            continue
        table = np.zeros(terms.first_leaf[end])
        for k in range(terms.scores.shape[1]):
            own = np.flatnonzero(terms.owner[:end] == k)
            partial = terms.values[:, terms.order[own]] @ weights[s, own]
            bias = np.average(terms.scores[:, k] - partial, weights=terms.row_weights)
            _add_ridge(table, terms, own, terms.scores[:, k] - partial - bias, VALUE_ROWS)
        corrections.append(table.astype(np.float32))
    corrected = _mixed(terms, stages.terms, RunningSums(ends, weights, tuple(corrections)))
    return _with_spread(terms, corrected, fine_spread) if terms.scores.shape[1] == 1 else corrected


def _anchors(n_terms: Sequence[int]) -> list[int]:
    """Stages whose readouts become running sums: at most `MOST_SUMS`, the last one first."""
    anchors = [len(n_terms) - 1]
    for t in range(len(n_terms) - 2, -1, -1):
        if len(anchors) < MOST_SUMS and n_terms[t] * ANCHOR_RATIO <= n_terms[anchors[-1]]:
            anchors.append(t)
    return anchors


def _mixed(terms: SummedTerms, stage_terms: Ints, sums: RunningSums) -> Stages:
    """Readouts of all stages: for each output, the regression of its score on its own sums."""
    n_outputs, n_stages = terms.scores.shape[1], len(stage_terms)
    weights = np.zeros((n_stages, n_outputs, len(sums.weights)))
    bias = np.zeros((n_stages, n_outputs))
    for k in range(n_outputs):
        for t, partial in enumerate(_partial_sums(terms, stage_terms, sums, k)):
            near = _nearest(sums.ends, int(stage_terms[t]))
            found, bias[t, k] = _regression(partial[:, near], terms.scores[:, k], terms.row_weights)
            weights[t, k, near] = found
    return Stages(stage_terms, tuple(Readout(w, b) for w, b in zip(weights, bias, strict=True)), sums)


def _partial_sums(terms: SummedTerms, stage_terms: Ints, sums: RunningSums, k: int) -> list[Floats]:
    """The sums of output k at each stage, (n, n_sums)."""
    found: list[Floats] = []
    running, begin, first = np.zeros((len(terms.values), len(sums.weights))), 0, terms.first_leaf
    tables = sums.corrected
    for end in stage_terms.tolist():
        own = begin + np.flatnonzero(terms.owner[begin:end] == k)
        running = running + terms.values[:, terms.order[own]] @ sums.weights[:, own].T
        if tables is not None and terms.leaves is not None:
            for j in own.tolist():
                some = tables[:, first[j] : first[j + 1]]
                for s in np.flatnonzero(some.any(axis=1)).tolist():
                    running[:, s] += some[s][terms.leaves[:, terms.order[j]]]
        found.append(running)
        begin = end
    return found


def _nearest(ends: Ints, n_terms: int) -> Ints:
    """The sums that a stage mixes: the last ones that are complete, and the next ones that are not."""
    order = np.argsort(ends)
    complete = int(np.searchsorted(ends[order], n_terms, side="right"))
    return order[max(0, complete - MIXED[0]) : complete + MIXED[1]]


def _regression(X: Floats, y: Floats, row_weights: Floats) -> tuple[Floats, float]:
    """Weights and bias of a least-squares regression."""
    share = row_weights / row_weights.sum()
    mean, goal = share @ X, float(share @ y)
    centred = X - mean
    gram, target = centred.T @ (centred * share[:, None]), centred.T @ (share * (y - goal))
    scale = np.sqrt(np.maximum(np.diag(gram), np.finfo(float).tiny))
    gram = gram / np.outer(scale, scale)
    gram[np.diag_indices_from(gram)] += MIXTURE_RIDGE
    weights = np.linalg.lstsq(gram, target / scale, rcond=None)[0] / scale
    return weights, goal - float(weights @ mean)


def _with_spread(terms: SummedTerms, stages: Stages, fine: bool) -> Stages:
    """Add sums of what leaves say about the size of a row's error, relative to the usual one."""
    assert stages.sums is not None
    n_sums = len(stages.sums.weights)
    ends, most = np.sort(stages.sums.ends)[1:-1].tolist(), MOST_SPREAD if fine else MOST_LEAVES
    chosen = [end for end in (ends if fine else ends[::2]) if end * len(terms.values) <= most]
    partial = _partial_sums(terms, stages.terms, stages.sums, 0)
    tables: list[NDArray[np.float32] | None] = []
    for end in chosen:
        t = int(np.searchsorted(stages.terms, end))
        readout = stages.readouts[t]
        squares = (readout.bias[0] + partial[t] @ readout.weights[0] - terms.scores[:, 0]) ** 2
        usual = max(float(np.average(squares, weights=terms.row_weights)), np.finfo(float).tiny)
        table = np.zeros(terms.first_leaf[end])
        _add_ridge(table, terms, np.arange(end), np.minimum(squares / usual, LARGEST_SQUARE) - 1.0, VARIANCE_ROWS)
        tables.append(table.astype(np.float32))
    if not tables:
        return stages
    sums = RunningSums(
        np.concatenate([stages.sums.ends, np.array(chosen, dtype=np.int64)]),
        np.vstack([stages.sums.weights, np.zeros((len(tables), stages.sums.weights.shape[1]))]),
        (*stages.sums.corrections, *tables),
    )
    readouts = []
    for end, readout in zip(stages.terms, stages.readouts, strict=True):
        spread = np.zeros(n_sums + len(tables))
        seen = np.searchsorted(chosen, end, side="right")
        if seen:
            spread[n_sums + seen - 1] = 1.0
        weights = np.hstack([readout.weights, np.zeros((1, len(tables)))])
        readouts.append(Readout(weights, readout.bias, spread, 1.0))
    return Stages(stages.terms, tuple(readouts), sums)


def _add_ridge(table: Floats, terms: SummedTerms, which: Ints, goal: Floats, prior_rows: float) -> None:
    """Add a ridge regression of ``goal`` on the leaves of some ordered terms to the table of all leaves."""
    if len(which) == 0 or len(goal) < LEAST_ROWS:
        return
    assert terms.leaves is not None
    n, m = len(goal), len(which)
    columns = terms.leaves[:, terms.order[which]] + terms.first_leaf[which]
    ones = np.ones(n * m, dtype=np.float32)
    A = sparse.csr_array((ones, columns.ravel(), np.arange(0, n * m + 1, m)), shape=(n, len(table)))
    row_weights = terms.row_weights / terms.row_weights.mean()

    def normal(x: Floats) -> Floats:
        product: Floats = A.T @ (row_weights * (A @ x)) + prior_rows * x
        return product

    operator = LinearOperator((len(table), len(table)), matvec=normal, dtype=np.float64)
    found, _ = cg(operator, A.T @ (row_weights * goal), rtol=TOLERANCE, maxiter=MOST_STEPS)
    table += found
