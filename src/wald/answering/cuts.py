"""How many rows of a finite data set may be left to surrogates, from a sample drawn without replacement.

Rows are ordered by margin, the surest first. A cut leaves the first k of them to the surrogates. A row loses there if
the surrogates answer it otherwise than the model; rows behind the cut, and rows of the sample, are asked and lose
nothing. The cut is the place of the first wrong row of the sample that is one too many.

Why this holds: let ``most`` be the wrong rows that the sample may show. More than ``allowed`` rows lose only if the
first ``allowed + most + 1`` wrong rows all lie before the cut, of which the sample then has at most ``most``. How many
it has of these is hypergeometric, whichever rows they are. So one level serves all cuts, exactly. If there are only
``allowed + seen + 1`` wrong rows, with ``seen < most``, the sample has at most ``seen`` of them, which is no more
likely: one row more is one more to be seen, at most.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom, poisson

Floats = NDArray[np.float64]

#: Places of cuts, about, over which calls are averaged.
PLACES = 2000

__all__ = ["best_sample", "cut", "fewest_sampled", "most_seen"]


def most_seen(n_rows: int, n_sampled: int, allowed: int, confidence: float) -> int:
    """Largest number of wrong rows before a cut in a sample, at which more than so many others are refuted.

    Parameters
    ----------
    n_rows : int
        Rows of which the sample is drawn.
    n_sampled : int
    allowed : int
        Number of wrong rows that may be left, beside those of the sample.
    confidence : float

    Returns
    -------
    int
        -1 if no sample of this size refutes it.

    Examples
    --------
    >>> most_seen(30_000, 1500, 300, 0.95)
    8
    """
    if n_rows - n_sampled <= allowed:
        return n_sampled
    # one more wrong row that is seen is at least as likely as this one: the probability rises with the number
    low, high = -1, n_sampled
    while high - low > 1:
        seen = (low + high) // 2
        if hypergeom.cdf(seen, n_rows, allowed + 1 + seen, n_sampled) <= 1.0 - confidence:
            low = seen
        else:
            high = seen
    return low


def fewest_sampled(n_rows: int, allowed: int, confidence: float) -> int:
    """Size of the smallest sample that can refute more wrong rows than allowed: one without a wrong row.

    Parameters
    ----------
    n_rows : int
    allowed : int
    confidence : float

    Returns
    -------
    int
        At most ``n_rows - allowed``: then no more are left.

    Examples
    --------
    >>> fewest_sampled(30_000, 300, 0.95)
    296
    """
    low, high = -1, max(0, n_rows - allowed)
    while high - low > 1:
        size = (low + high) // 2
        if most_seen(n_rows, size, allowed, confidence) >= 0:
            high = size
        else:
            low = size
    return high


def cut(places: NDArray[np.intp], wrong: NDArray[np.bool_], most: int, n_rows: int) -> int:
    """How many rows are left to the surrogates: all before the sample shows one wrong row more than it may.

    Parameters
    ----------
    places : int ndarray of shape (n_sampled,)
        Of the rows of the sample among all, the surest first.
    wrong : bool ndarray of shape (n_sampled,)
    most : int
        From `most_seen`.
    n_rows : int

    Examples
    --------
    >>> cut(np.array([2, 5, 7]), np.array([False, True, True]), 1, 9)
    7
    """
    beyond = np.flatnonzero(np.cumsum(wrong) > most)
    return int(places[beyond[0]]) if len(beyond) else n_rows


def best_sample(rates: Floats, allowed: int, confidence: float, sizes: Iterable[int]) -> tuple[int, float]:
    """The size of a sample with which the fewest calls are expected.

    Parameters
    ----------
    rates : float64 ndarray of shape (n_rows,)
        Probability of each row that the surrogates are wrong, the surest first.
    allowed : int
        Number of rows that may be wrong.
    confidence : float
    sizes : iterable of int
        Sizes to choose from.

    Returns
    -------
    size : int
        0 if no size leaves any row.
    calls : float
        The expected number of calls for the sample and the rows behind the cut.
    """
    n_rows = len(rates)
    expected = np.cumsum(rates)[:: max(1, n_rows // PLACES)]
    best, fewest = 0, float(n_rows)
    for size in sizes:
        most = most_seen(n_rows, size, allowed, confidence) if size < n_rows else -1
        if most < 0:
            continue
        # a cut leaves a row if the sample shows no more before it; wrong rows of the sample come about as a Poisson
        left = float(poisson.cdf(most, expected * (size / n_rows)).mean()) * n_rows
        calls = n_rows - left + size * left / n_rows
        if calls < fewest:
            best, fewest = size, calls
    return best, fewest
