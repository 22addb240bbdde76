"""Orders of the units: greedy forward selection on the covariance of the terms, and sorting."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..models.units import Purchase
from .moments import Floats, Moments

Ints = NDArray[np.int64]

#: A residual variance below this share of the initial one is rounding error, and is not used as a pivot.
_FLOOR = 1e-7


def greedy_order(
    moments: Moments,
    units: Sequence[Ints],
    costs: Floats | Purchase,
    n_select: int,
    first: Sequence[int] = (),
) -> Ints:
    """Forward selection of the unit that reduces the outputs' residual variance most per cost.

    The gain of a unit u given those selected is ``c' S^-1 c / cost``, with ``S`` the residual covariance of its terms
    and ``c`` their residual covariance with the outputs, every output divided by its standard deviation. The residuals
    come from a partial Cholesky factorization, so n units of one term take O(n m^2) time for m selected. Later units
    are selected in growing blocks, whose residuals come from one matrix product.

    Parameters
    ----------
    moments : Moments
    units : sequence of int arrays
        The terms of each unit.
    costs : ndarray of shape (n_units,) or Purchase
        Positive costs; or costs that fall as units are selected. A unit that costs nothing any more comes next.
    n_select : int
        Largest number of units to order.
    first : sequence of int, default=()
        Units that come first, whatever their gain.

    Returns
    -------
    ndarray of shape (at most n_select,)
        Units in their order. Selection stops early when no unit gains anything.
    """
    state = _Residuals(moments)
    unused = np.ones(len(units), dtype=bool)
    chosen: list[int] = []

    def select(batch: Sequence[int]) -> None:
        state.sweep([np.asarray(units[u]) for u in batch])
        chosen.extend(int(u) for u in batch)
        unused[np.asarray(batch)] = False
        if isinstance(costs, Purchase):
            for u in batch:
                costs.buy(u)

    if len(first):
        select(list(first))
    single = len(units) > 0 and all(len(u) == 1 for u in units)
    terms = np.concatenate(units) if single else None
    while len(chosen) < n_select and unused.any():
        gains = state.term_gains()[terms] if terms is not None else state.unit_gains(units, unused)
        gains = np.where(unused, _per_cost(gains, costs), -1.0)
        block = 1 if len(chosen) < 256 or isinstance(costs, Purchase) else min(32, len(chosen) // 64)
        block = min(block, n_select - len(chosen))
        batch = np.argsort(-gains, kind="stable")[:block]
        batch = batch[gains[batch] > 0]
        if len(batch) == 0:
            break
        select(batch.tolist())
    return np.asarray(chosen, dtype=np.int64)


def _per_cost(gains: Floats, costs: Floats | Purchase) -> Floats:
    """Gains per cost; if units cost nothing any more, their gains alone."""
    if not isinstance(costs, Purchase):
        return gains / costs
    free = costs.costs == 0.0
    if (gains[free] > 0).any():
        return np.where(free, gains, 0.0)
    return np.where(free, 0.0, gains / np.where(free, 1.0, costs.costs))


class _Residuals:
    """Residual variances of terms and residual covariances with the outputs, given the selected terms."""

    def __init__(self, moments: Moments) -> None:
        self._covariance = moments.terms
        self._factor = np.empty((len(moments.terms), 64), order="F")
        self._n = 0
        self._start = np.maximum(np.diag(moments.terms), 0.0)  # rounding can make the variance of a constant negative
        self.variance = self._start.copy()
        varies = moments.output_variance > np.finfo(float).tiny  # constant outputs need no explanation
        scale = np.sqrt(np.where(varies, moments.output_variance, 1.0))
        self.outputs = np.where(varies, moments.outputs / scale, 0.0)

    def sweep(self, batch: Sequence[Ints]) -> None:
        """Condition on the terms of a batch of units."""
        terms = np.concatenate(batch)
        factor = self._factor[:, : self._n]
        columns = self._covariance[:, terms] - factor @ factor[terms].T
        first_new = self._n
        for k, j in enumerate(terms):
            new = self._factor[:, first_new : self._n]
            column = columns[:, k] - new @ new[j]
            pivot = column[j]
            if pivot > _FLOOR * self._start[j] and pivot > 0:
                self._append(column / np.sqrt(pivot), int(j))
            self.variance[j] = 0.0
            self.outputs[j] = 0.0

    def _append(self, column: Floats, j: int) -> None:
        if self._n == self._factor.shape[1]:
            grown = np.empty((len(column), 2 * self._n), order="F")
            grown[:, : self._n] = self._factor
            self._factor = grown
        self._factor[:, self._n] = column
        self._n += 1
        self.variance -= column**2
        self.outputs -= np.outer(column, self.outputs[j] / column[j])

    def term_gains(self) -> Floats:
        """Gain of every term as a unit of its own."""
        usable = self.variance > _FLOOR * self._start
        power = np.einsum("jk,jk->j", self.outputs, self.outputs)
        gains: Floats = np.where(usable, power / np.where(usable, self.variance, 1.0), 0.0)
        return gains

    def unit_gains(self, units: Sequence[Ints], unused: NDArray[np.bool_]) -> Floats:
        """Gains of the unused units; 0 for the others."""
        gains = np.zeros(len(units))
        for u in np.flatnonzero(unused).tolist():
            terms = np.asarray(units[u])
            terms = terms[self.variance[terms] > _FLOOR * self._start[terms]]
            if len(terms) == 0:
                continue
            factor = self._factor[terms, : self._n]
            residual = self._covariance[np.ix_(terms, terms)] - factor @ factor.T
            residual[np.diag_indices_from(residual)] += _FLOOR * self._start[terms]
            outputs = self.outputs[terms]
            gains[u] = max(0.0, float(np.sum(outputs * np.linalg.solve(residual, outputs))))
        return gains


def sorted_order(weights: Floats, moments: Moments, units: Sequence[Ints], costs: Floats) -> Ints:
    """Units by the spread of their contribution per cost: ``sum |a_j| sd(T_j) / cost``, largest first.

    ``weights`` (U,) is the largest coefficient of each term over the outputs, in absolute value.
    """
    spread = np.abs(weights) * np.sqrt(np.maximum(np.diag(moments.terms), 0.0))
    per_cost = np.array([spread[u].sum() for u in units]) / costs
    return np.argsort(-per_cost, kind="stable")
