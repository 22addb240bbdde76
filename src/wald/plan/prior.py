"""What the model itself says of terms that the plan rows say little of."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .moments import Floats, Moments, row_chunks

#: Rows made up for every term, each of which counts as much as a row that was seen.
PRIOR_ROWS = 25.0
#: A term whose values differ by no more than this share of the largest is constant: what is left is rounding.
_STILL = 1e-10


def with_own_rows(moments: Moments, coef: Floats, values: Floats, weights: Floats) -> Moments:
    """Moments as if there were more rows, in each of which one term stands at its full reach and has its own weight.

    The square of the full reach is the mean fourth power over the mean square, about the mean, by as much as that is
    more than for a Gaussian: what the term does where it does anything, and 0 for a term that varies in every row.
    A term that was active on two rows thus keeps the model's weight, because a regression on two rows says nothing.
    Orders and estimates from such moments are those of a ridge towards the model. Terms that are constant but for
    rounding get no variance at all, and leave nothing to estimate.

    Parameters
    ----------
    moments : Moments
        Of the terms on the order rows.
    coef : ndarray of shape (K, U)
        The terms' own weights in the full scores.
    values : ndarray of shape (n, U)
        Of the terms, on the order rows.
    weights : ndarray of shape (n,)
        Of the rows.
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
    """Mean fourth power over mean square of every term, about its mean, beyond the three mean squares of a Gaussian.

    In units of the largest distance from the mean, ``size``, in which powers neither vanish nor overflow.
    """
    second, fourth = np.zeros_like(size), np.zeros_like(size)
    for rows in row_chunks(len(values), 8 * len(size)):
        square = ((values[rows] - centre) / size) ** 2
        second += share[rows] @ square
        fourth += share[rows] @ square**2
    reach = np.divide(fourth, second, out=np.zeros_like(fourth), where=second > 0) - 3 * second
    return np.asarray(size**2 * np.maximum(reach, 0.0))
