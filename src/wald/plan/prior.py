"""Shrinkage of moments towards the model's own weights, for terms that vary on few plan rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .moments import Floats, Moments, row_chunks

#: Number of pseudo-rows per term; each counts as much as an observed row.
PRIOR_ROWS = 25.0
#: A term whose values differ by no more than this share of the largest is constant; the differences are rounding.
_STILL = 1e-10


def with_own_rows(moments: Moments, coef: Floats, values: Floats, weights: Floats) -> Moments:
    """Moments with pseudo-rows, in each of which one term alone deviates from its mean, with the model's own weight.

    The squared deviation is the ratio of the term's fourth central moment to its variance, less three variances, which
    is that ratio for a Gaussian. It is large for terms that are constant on most rows, and 0 for terms that vary on
    every row. A term that was active on two rows keeps the model's weight, because a regression on two rows is
    meaningless. Orders and estimates from such moments are those of a ridge regression towards the model. Terms that
    are constant up to rounding get variance 0.

    Parameters
    ----------
    moments : Moments
        Moments of the terms on the order rows.
    coef : ndarray of shape (K, U)
        The model's weights of the terms in the full scores.
    values : ndarray of shape (n, U)
        Values of the terms on the order rows.
    weights : ndarray of shape (n,)
        Weights of the rows.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    varies = high - low > _STILL * np.maximum(np.abs(low), np.abs(high))
    size = np.where(varies, np.maximum(high - moments.term_mean, moments.term_mean - low), 1.0)
    reach = _squared_reach(moments.term_mean, size, values, weights / weights.sum())
    strength = np.where(varies, PRIOR_ROWS / len(values) * reach, 0.0)
    terms = moments.terms * np.outer(varies, varies)
    terms[np.diag_indices_from(terms)] += strength
    own = strength[:, None] * coef.T
    return replace(
        moments,
        terms=terms,
        outputs=moments.outputs * varies[:, None] + own,
        output_variance=moments.output_variance + np.einsum("jk,kj->k", own, coef),
    )


def _squared_reach(centre: Floats, size: Floats, values: Floats, share: Floats) -> Floats:
    """Fourth central moment over variance of every term, less three variances as for a Gaussian; at least 0.

    Values are divided by ``size``, the largest distance from the mean, so that powers cannot over- or underflow.
    """
    second, fourth = np.zeros_like(size), np.zeros_like(size)
    for rows in row_chunks(len(values), 8 * len(size)):
        square = ((values[rows] - centre) / size) ** 2
        second += share[rows] @ square
        fourth += share[rows] @ square**2
    reach = np.divide(fourth, second, out=np.zeros_like(fourth), where=second > 0) - 3 * second
    return np.asarray(size**2 * np.maximum(reach, 0.0))
