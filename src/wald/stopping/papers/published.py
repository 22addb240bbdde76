"""Conversion of a rule's published thresholds to a table that `q` can move, and the sides that a rule may use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.boundary import Boundary, Sides
from ..core.walk import Float64Array, Walk


def open_sides(*sides: Sides) -> tuple[bool, bool]:
    """Whether rows may leave as negative, and whether as positive, under the `sides` of a rule and of the promise.

    Examples
    --------
    >>> open_sides("both", "negative"), open_sides("positive", "both"), open_sides("positive", "negative")
    ((True, False), (False, True), (False, False))
    """
    return "positive" not in sides, "negative" not in sides


def published_table(walk: Walk, low: npt.ArrayLike, high: npt.ArrayLike) -> Boundary:
    """Make the table whose thresholds at ``q = 1`` are `low` and `high`.

    Each threshold is measured from the decision threshold (multiclass: from 0), which is its centre, so that ``q``
    multiplies its distance. A threshold closer than the walk's `least_scale`, or beyond the decision threshold, gets
    the least scale instead, and its centre is moved to match.

    Parameters
    ----------
    walk : Walk
    low, high : array-like of shape (T,)
        ``low <= high``; -inf and +inf close a side of a stage. Multiclass: `low` is closed throughout.

    Returns
    -------
    Boundary
        Its thresholds at ``q = 1`` equal the given ones up to rounding, which is never bolder.
    """
    low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
    middle = np.clip(walk.threshold, low, high)
    high_center, high_scale = _side(high, middle, walk.least_scale)
    low_center, low_scale = _side(-low, -middle, walk.least_scale)
    return Boundary(-low_center, low_scale, high_center, high_scale)


def _side(threshold: Float64Array, middle: Float64Array, least: float) -> tuple[Float64Array, Float64Array]:
    """Centre and scale of an upper side."""
    is_open = np.isfinite(threshold)
    target = np.where(is_open, threshold, 0.0)
    scale = np.maximum(target - np.where(is_open, middle, 0.0), least)
    center = target - scale
    # If rounding put centre + scale below the threshold, a row that lies on the threshold would leave.
    short = center + scale < target
    scale[short] += 4.0 * np.finfo(np.float64).eps * (np.abs(target) + scale)[short]
    return np.where(is_open, center, np.inf), np.where(is_open, scale, 0.0)
