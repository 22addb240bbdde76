"""Parameter checks with one wording, after scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

from ...utils.stage_table import FloatArray


def require_option(owner: str, name: str, value: object, options: Sequence[str]) -> None:
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
    if not value >= 0.0:  # also refuses NaN
        raise ValueError(f"The {name!r} parameter of {owner} must not be negative. Got {value!r} instead.")


def require_positive(owner: str, name: str, value: float) -> None:
    """Raise ValueError unless `value` is finite and greater than 0."""
    if not (isinstance(value, Real) and math.isfinite(value) and value > 0.0):
        raise ValueError(f"The {name!r} parameter of {owner} must be finite and positive. Got {value!r} instead.")


def require(array: FloatArray | None, name: str, owner: str) -> FloatArray:
    """Return `array`, or raise ValueError saying that `owner` needs it."""
    if array is None:
        raise ValueError(f"{owner} needs {name!r}, which this walk does not have.")
    return array
