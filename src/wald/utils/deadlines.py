"""The check of a deadline, which means the same at every `predict`."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

from .reals import as_float


def checked_deadline(given: Any) -> float:
    """Seconds of a deadline; infinite for None.

    Raises
    ------
    TypeError, ValueError
        If it is no positive number.
    """
    if given is None:
        return math.inf
    if isinstance(given, bool) or not isinstance(given, Real):
        raise TypeError(f"deadline must be a number. Got {given!r} instead.")
    seconds = as_float(given)
    if not seconds > 0:
        raise ValueError(f"deadline must be a positive number of seconds. Got {given!r} instead.")
    return seconds
