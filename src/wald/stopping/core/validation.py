"""Parameter checks with one wording, after scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from ...utils.reals import as_float
from ...utils.stage_table import FloatArray


def require_option(owner: str, name: str, value: object, options: Sequence[str | None]) -> None:
    """Raise ValueError unless `value` is one of `options`."""
    if value not in options:
        known = ", ".join(map(repr, options))
        raise ValueError(f"The {name!r} parameter of {owner} must be one of {known}. Got {value!r} instead.")


def require_fraction(owner: str, name: str, value: float) -> None:
    """Raise ValueError unless `value` lies strictly between 0 and 1."""
    if not (isinstance(value, Real) and 0.0 < value < 1.0):  # also refuses NaN
        raise ValueError(f"The {name!r} parameter of {owner} must lie strictly between 0 and 1. Got {value!r} instead.")


def require_share(owner: str, name: str, value: float) -> None:
    """Raise ValueError unless `value` is at least 0 and below 1."""
    if not (isinstance(value, Real) and 0.0 <= value < 1.0):  # also refuses NaN
        raise ValueError(f"The {name!r} parameter of {owner} must be at least 0 and below 1. Got {value!r} instead.")


def require_not_negative(owner: str, name: str, value: float) -> None:
    """Raise ValueError unless `value` is 0 or more."""
    if not (isinstance(value, Real) and value >= 0.0):  # also refuses NaN
        raise ValueError(f"The {name!r} parameter of {owner} must not be negative. Got {value!r} instead.")


def require_positive(owner: str, name: str, value: float) -> None:
    """Raise ValueError unless `value` is finite and greater than 0."""
    if not (isinstance(value, Real) and 0.0 < as_float(value) < math.inf):
        raise ValueError(f"The {name!r} parameter of {owner} must be finite and positive. Got {value!r} instead.")


def require_integer(owner: str, name: str, value: Any, least: int, most: int | None = None) -> None:
    """Raise ValueError unless `value` is an integer between two bounds, these included."""
    whole = isinstance(value, Integral) and not isinstance(value, bool | np.bool_)
    if not (whole and least <= int(value) and (most is None or int(value) <= most)):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise ValueError(f"The {name!r} parameter of {owner} must be an integer {bounds}. Got {value!r} instead.")


def require_between(owner: str, name: str, value: Any, low: float, high: float = math.inf) -> None:
    """Raise ValueError unless `value` is finite and lies between two bounds, these included."""
    number = as_float(value) if isinstance(value, Real) else math.nan
    if not (math.isfinite(number) and low <= number <= high):  # also refuses NaN
        bounds = f"finite and at least {low:g}" if high == math.inf else f"in [{low:g}, {high:g}]"
        raise ValueError(f"The {name!r} parameter of {owner} must be {bounds}. Got {value!r} instead.")


def require(array: FloatArray | None, name: str, owner: str) -> FloatArray:
    """Return `array`, or raise ValueError saying that `owner` needs it."""
    if array is None:
        raise ValueError(f"{owner} needs {name!r}, which this walk does not have.")
    return array
