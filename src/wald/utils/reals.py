"""Real numbers of callers as floats."""

from __future__ import annotations

import math
from typing import SupportsFloat


def as_float(value: SupportsFloat) -> float:
    """A real number as a float; infinite where it is too large for one, so that a check of its range refuses it."""
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, 1 if value > 0 else -1)  # type: ignore[operator]  # a real number
