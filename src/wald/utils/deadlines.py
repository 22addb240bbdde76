"""The check of a deadline, which means the same at every `predict`."""

from __future__ import annotations

import math
from typing import Any

from .reals import as_float, require_real


def checked_deadline(given: Any) -> float:
    """Seconds of a deadline; infinite for None.

    Raises
    ------
    TypeError, ValueError
        If it is no positive number.
    """
    if given is None:
        return math.inf
    require_real("deadline", given)
    seconds = as_float(given)
    if not seconds > 0:
        raise ValueError(f"deadline must be a positive number of seconds. Got {given!r} instead.")
    return seconds
