"""Readouts: estimates of the full score from the first terms of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from .moments import Floats, Moments, row_chunks

#: As many rows more, in which a term stands alone at its full reach, draw its weight to the model's own.
PRIOR_ROWS = 3.0


@dataclass(frozen=True, eq=False)
class Readout:
    """One stage's estimate ``z = bias + weights @ terms``: weights (K, m), bias (K,)."""

    weights: Floats
    bias: Floats


@dataclass(frozen=True, eq=False)
class Prior:
    """What readouts take from the model where rows say little.

    Attributes
    ----------
    weights : ndarray of shape (K, U)
        The terms' own weights in the full scores.
    strength : ndarray of shape (U,)
        Added to the variance of each term.
    """

    weights: Floats
    strength: Floats

    @classmethod
    def of_rows(cls, coef: Floats, values: Floats, weights: Floats) -> Prior:
        """Take as much as `PRIOR_ROWS` more rows would teach in which each term alone stands at its full reach.

        That is the mean fourth power over the mean square, about its mean: the square of what the term does where it
        does anything. It is three times the variance of a Gaussian, so that the prior is nothing to a term that varies
        in every row, and most of the weight of one that was seen twice, whose regression would be a whim.

        Parameters
        ----------
        coef : ndarray of shape (K, U)
        values : ndarray of shape (n, U)
            Of the terms, on the order rows.
        weights : ndarray of shape (n,)
            Of the rows.
        """
        share = weights / weights.sum()
        centre = share @ values
        size = np.maximum(values.max(axis=0) - centre, centre - values.min(axis=0))
        size[~(size > 0)] = 1.0  # powers of values near 1 neither vanish nor overflow
        second, fourth = np.zeros_like(size), np.zeros_like(size)
        for rows in row_chunks(len(values), 8 * len(size)):
            square = ((values[rows] - centre) / size) ** 2
            second += share[rows] @ square
            fourth += share[rows] @ square**2
        reach = size**2 * np.divide(fourth, second, out=np.zeros_like(fourth), where=second > 0)
        return cls(coef, PRIOR_ROWS / len(values) * reach)


def regressed_readouts(
    moments: Moments,
    order: NDArray[np.int64],
    n_terms: Sequence[int],
    ridge: float = 1e-5,
    prior: Prior | None = None,
) -> list[Readout]:
    """Least-squares estimates of the outputs from the first ``m`` terms, for every ``m`` in ``n_terms``.

    ``B = argmin E || F - B [1, T_1..T_m] ||^2 + ridge``: the conditional mean of F under a joint Gaussian, the best
    linear estimate without it. One Cholesky factor of the ordered covariance serves every stage, since a leading block
    of the factor factors the leading block.

    Parameters
    ----------
    moments : Moments
    order : ndarray of int
        Terms in the order of purchase, at least ``max(n_terms)`` of them.
    n_terms : sequence of int
    ridge : float, default=1e-5
        Added to each term's variance, as a share of it.
    prior : Prior or None, default=None
        Weights to which the estimates are drawn besides; None: to 0, by the ridge alone.
    """
    last = max(n_terms, default=0)
    order = np.asarray(order[:last])
    covariance = moments.terms[np.ix_(order, order)].copy()
    diagonal = np.diag(covariance).copy()
    # a term that does not vary gets a unit pivot and, its covariances being zero, no weight but that of the prior
    still = ~(diagonal > 0)
    strength = np.where(still, 1.0, 0.0 if prior is None else prior.strength[order])
    covariance[np.diag_indices_from(covariance)] = np.where(still, 0.0, diagonal * (1 + ridge)) + strength
    factor = _factor(covariance, ridge)
    outputs = moments.outputs[order]
    if prior is not None:
        outputs = outputs + strength[:, None] * prior.weights[:, order].T
    target = solve_triangular(factor, outputs, lower=True) if last else outputs
    readouts = []
    for m in n_terms:
        if m == 0:
            readouts.append(Readout(np.zeros((len(moments.output_mean), 0)), moments.output_mean.copy()))
            continue
        weights = solve_triangular(factor[:m, :m].T, target[:m], lower=False).T
        readouts.append(
            Readout(np.ascontiguousarray(weights), moments.output_mean - weights @ moments.term_mean[order[:m]])
        )
    return readouts


def _factor(covariance: Floats, ridge: float) -> Floats:
    """Cholesky, with more ridge while rounding makes the matrix indefinite."""
    for attempt in range(8):
        try:
            factor: Floats = cholesky(covariance, lower=True)
            return factor
        except np.linalg.LinAlgError:
            covariance[np.diag_indices_from(covariance)] *= 1 + ridge * 10.0 ** (attempt + 1)
    raise np.linalg.LinAlgError("the covariance of the terms could not be factored; are the rows finite?")


def partial_readouts(
    coef: Floats,
    intercept: Floats,
    term_mean: Floats,
    order: NDArray[np.int64],
    n_terms: Sequence[int],
    *,
    impute: bool = True,
) -> list[Readout]:
    """Partial sums ``b + sum_{j<=m} a_j T_j``, the unseen rest at its mean (``impute``) or left out."""
    rest = np.setdiff1d(np.arange(coef.shape[1]), order)
    full_order = np.concatenate([order, rest]).astype(np.int64)
    readouts = []
    for m in n_terms:
        unseen = full_order[m:]
        bias = intercept + (coef[:, unseen] @ term_mean[unseen] if impute else 0.0)
        readouts.append(Readout(np.ascontiguousarray(coef[:, full_order[:m]]), np.asarray(bias, dtype=np.float64)))
    return readouts
