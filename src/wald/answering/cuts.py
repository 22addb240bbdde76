"""How many rows of a finite data set may be left to surrogates, from a sample drawn without replacement.

Rows are ordered by margin, the surest first. A cut leaves the first k of them to the surrogates. A row loses there if
the surrogates answer it otherwise than the model; rows behind the cut, and rows of the sample, are asked and lose
nothing. Cuts are tried from careful to bold, and the first that fails ends the walk: a fixed sequence, so that one
level serves all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import hypergeom

Floats = NDArray[np.float64]

__all__ = ["cut", "expected_calls", "most_seen"]


def most_seen(n_rows: int, n_sampled: int, allowed: int, confidence: float) -> int:
    """Largest number of wrong rows in a sample at which more wrong rows than allowed are refuted.

    Parameters
    ----------
    n_rows : int
        Rows of which the sample is drawn.
    n_sampled : int
    allowed : int
        Number of wrong rows that may be left.
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
    if allowed + 1 > n_rows:
        return n_sampled
    seen = np.arange(min(n_sampled, allowed + 1) + 1)
    refuted = hypergeom.cdf(seen, n_rows, allowed + 1, n_sampled) <= 1.0 - confidence
    return int(np.count_nonzero(refuted)) - 1


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


def expected_calls(
    wrong: NDArray[np.bool_], n_rows: int, allowed: int, confidence: float, sizes: Sequence[int]
) -> tuple[int, float]:
    """The size of a sample with which the fewest calls are expected.

    Parameters
    ----------
    wrong : bool array of shape (n,)
        Whether the surrogates were wrong on rows like those to come, the surest first.
    n_rows : int
        Number of rows to come.
    allowed : int
        Number of them that may be wrong.
    confidence : float
    sizes : sequence of int
        Sizes to choose from.

    Returns
    -------
    size : int
    calls : float
        The expected number of calls for the sample and the rows behind the cut; `n_rows` if no size leaves any.
    """
    share = np.arange(1, len(wrong) + 1) / max(1, len(wrong))
    rate = np.cumsum(wrong) / max(1, len(wrong))  # wrong rows before each cut, of all rows
    best, fewest = 0, float(n_rows)
    for size in sizes:
        if size >= n_rows:
            continue
        most = most_seen(n_rows, size, allowed, confidence)
        left = share[rate * size <= most] if most >= 0 else share[:0]  # the walk ends where most + 1 are expected
        kept = float(left[-1]) if len(left) else 0.0
        calls = n_rows * (1.0 - kept) + size * kept
        if calls < fewest:
            best, fewest = size, calls
    return best, fewest
