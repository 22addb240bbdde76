"""The largest score of a binary model whose probability is not above one half, in the rounding of its library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def even_odds(slope: float) -> float:
    """Largest score with ``1 / (1 + exp(-slope * score)) <= 0.5`` in float64, for a positive slope."""
    return largest_not_above_half(lambda score: 1.0 / (1.0 + np.exp(-slope * score)), np.float64, 1.0 / slope)


def largest_not_above_half(probability: Callable[[Any], Any], dtype: type[Any], high: float) -> float:
    """Largest score between 0 and `high` whose probability is at most one half.

    Parameters
    ----------
    probability : callable
        A non-decreasing function of a score, at most one half at 0 and above it at `high`.
    dtype : type
        Floating-point type of scores and probabilities.
    high : float
    """
    low, above = dtype(0), dtype(high)
    while np.nextafter(low, above) < above:
        middle = dtype(0.5) * (low + above)
        if probability(middle) > 0.5:
            above = middle
        else:
            low = middle
    return float(low)
