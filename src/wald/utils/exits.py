"""The exit test: an estimate outside the thresholds of its stage lets the row leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def exits(estimates: NDArray[Any], low: Any, high: Any) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Compare estimates with thresholds strictly, so that a row whose estimate is NaN never leaves.

    Parameters
    ----------
    estimates : ndarray of shape (n_rows,) or (n_rows, n_stages)
        Scores of a model with one output, or confidences.
    low, high : float, or ndarray of shape (n_stages,)
        Thresholds; ``low`` is None for confidences, which have no lower side.

    Returns
    -------
    leaves, above : bool ndarrays of the shape of `estimates`
        Whether the row may leave, and whether it leaves on the upper side.

    Examples
    --------
    >>> leaves, above = exits(np.array([-3.0, 0.0, np.nan, 2.0]), -1.0, 1.0)
    >>> leaves.tolist(), above.tolist()
    ([True, False, False, True], [False, False, False, True])
    """
    above = estimates > high
    return above if low is None else above | (estimates < low), above
