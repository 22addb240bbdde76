"""Shrinkage of moments towards the model's own weights, for terms that vary on few plan rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .moments import Floats, Moments, row_chunks

#: Number of pseudo-rows per term; each counts as much as an observed row.
PRIOR_ROWS = 25.0
#: A term whose values differ by at most this share of the largest one is constant up to rounding.
_CONSTANT = 1e-10


def with_pseudo_rows(moments: Moments, coef: Floats, values: Floats, weights: Floats) -> Moments:
    """Add pseudo-rows to moments: each moves one term away from its mean, and the scores by the model's own weight.

    The squared deviation of a term in its pseudo-rows is the ratio of its fourth central moment to its variance, minus
    three variances, so that it is 0 for a Gaussian term. It is large for terms that are constant on most rows. A term
    that varies on two rows only keeps nearly the model's weight, because a regression on two rows is meaningless.
    Orders and estimates from such moments are those of a ridge regression towards the model's weights. Terms that are
    constant up to rounding get variance 0.

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
    varies = high - low > _CONSTANT * np.maximum(np.abs(low), np.abs(high))
    farthest = np.where(varies, np.maximum(high - moments.term_mean, moments.term_mean - low), 1.0)
    squared = _squared_deviations(moments.term_mean, farthest, values, weights / weights.sum())
    strength = np.where(varies, PRIOR_ROWS / len(values) * squared, 0.0)
    terms = moments.terms * np.outer(varies, varies)
    terms[np.diag_indices_from(terms)] += strength
    own = strength[:, None] * coef.T
    return replace(
        moments,
        terms=terms,
        outputs=moments.outputs * varies[:, None] + own,
        output_variance=moments.output_variance + np.einsum("jk,kj->k", own, coef),
    )


def _squared_deviations(mean: Floats, farthest: Floats, values: Floats, share: Floats) -> Floats:
    """Fourth central moment of every term divided by its variance, minus three variances; at least 0.

    Deviations are divided by the largest one, ``farthest``, so that powers cannot over- or underflow.
    """
    second, fourth = np.zeros_like(farthest), np.zeros_like(farthest)
    for rows in row_chunks(len(values), 8 * len(farthest)):
        square = ((values[rows] - mean) / farthest) ** 2
        second += share[rows] @ square
        fourth += share[rows] @ square**2
    excess = np.divide(fourth, second, out=np.zeros_like(fourth), where=second > 0) - 3 * second
    return np.asarray(farthest**2 * np.maximum(excess, 0.0))
