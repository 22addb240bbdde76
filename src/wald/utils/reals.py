"""Real numbers of callers as floats."""

from __future__ import annotations

import math
from typing import Any


def as_float(value: Any) -> float:
    """A real number as a float; infinite where it is too large for one, so that a check of its range refuses it."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
