"""Real numbers of callers as floats."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def require_real(name: str, value: object) -> None:
    """Raise TypeError for what is neither None nor a real number."""
    if isinstance(value, bool) or not isinstance(value, Real | None):
        raise TypeError(f"{name} must be a number. Got {value!r} instead.")


def as_float(value: Any) -> float:
    """A real number as a float; infinite where it is too large for one, so that a check of its range refuses it."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
