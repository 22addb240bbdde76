"""The spread of each row's error: its variance at a stage, relative to the usual one, as a linear function of terms.

Where rows leave by the margin of one score, as values within a tolerance do, a row should leave when its own error is
small, not the usual one. What a row has bought says much about that: kernel values tell how near it lies to vectors
that were seen, features how much of it there is. A linear function of them costs no more than the estimate itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from ..engine import Readout
from .moments import Floats, Moments
from .readout import LEAST_VARIANCE

#: Squared errors are cut at this multiple of their mean, lest few rows decide.
LARGEST_SQUARE = 6.0
#: Added to each term's variance, as a share of it.
RIDGE = 0.3
#: Least number of rows on which a spread is fitted.
LEAST_ROWS = 1000
#: Errors below this share of the scores' own size are rounding.
ROUNDING = 1e-9


def with_spread(
    readouts: Sequence[Readout],
    values: Floats,
    columns: NDArray[np.int64],
    moments: Moments,
    scores: Floats,
    row_weights: Floats,
) -> tuple[Readout, ...]:
    """Readouts of one output with the spread of each row's error.

    Ridge regressions of the squared errors, relative to their mean, on the terms of each stage. One Cholesky factor of
    the terms' correlations serves every stage, as in `regressed_readouts`.

    Parameters
    ----------
    readouts : sequence of Readout
        Each of the first terms in the order, with one output.
    values : float64 ndarray of shape (n, n_pool)
        Values of the candidate terms.
    columns : int64 ndarray of shape (m,)
        The column of `values` of each term in the plan's order.
    moments : Moments
        Of the columns of `values`; where they are shrunk, so is the spread.
    scores : float64 ndarray of shape (n,)
        Full scores.
    row_weights : float64 ndarray of shape (n,)

    Returns
    -------
    tuple of Readout
    """
    last = max((r.weights.shape[1] for r in readouts), default=0)
    columns, share = columns[:last], row_weights / row_weights.sum()
    variance = moments.terms[columns, columns]
    varies = variance > LEAST_VARIANCE * moments.output_variance[0]
    size = np.sqrt(np.where(varies, variance, 1.0))
    correlation = moments.terms[np.ix_(columns, columns)] / np.outer(size, size)
    correlation[~varies, :] = 0.0
    correlation[:, ~varies] = 0.0
    correlation[np.diag_indices_from(correlation)] = 1.0 + RIDGE
    factor = cholesky(correlation, lower=True) if last else correlation
    ordered, mean = values[:, columns], moments.term_mean[columns]
    least = (ROUNDING * float(np.abs(scores).max(initial=0.0))) ** 2
    found = []
    for readout in readouts:
        m = readout.weights.shape[1]
        squares = (ordered[:, :m] @ readout.weights[0] + readout.bias[0] - scores) ** 2
        usual = float(share @ squares)
        if m == 0 or not least < usual < np.inf:
            found.append(replace(readout, spread=np.zeros(m), spread_bias=1.0))
            continue
        goal = np.minimum(squares / usual, LARGEST_SQUARE)
        level = float(share @ goal)
        with_terms = (share * (goal - level)) @ ordered[:, :m]
        target = np.where(varies[:m], with_terms / size[:m], 0.0)
        half = solve_triangular(factor[:m, :m], target, lower=True)
        spread = solve_triangular(factor[:m, :m].T, half, lower=False) / size[:m]
        found.append(replace(readout, spread=spread, spread_bias=level - float(spread @ mean[:m])))
    return tuple(found)
