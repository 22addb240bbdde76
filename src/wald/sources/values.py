"""Values of users' containers as numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

#: Dtypes that the engine reads in place.
NATIVE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))


def is_missing(value: Any) -> bool:
    """Whether a single value stands for a missing one: None, pd.NA, NaT, or NaN of any type of number."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number | np.generic) and bool(value != value)


def numbers_of(objects: NDArray[Any]) -> NDArray[np.float64]:
    """Convert an array of objects to float64, with NaN for missing values.

    Columns of pandas' extension types with missing values become such arrays, and so do lists that hold None.

    Raises
    ------
    ValueError
        If an object is no number.
    """
    values = objects.ravel().tolist()
    times = {np.datetime64, np.timedelta64} & set(map(type, values))  # NumPy makes numbers of them, and of NaT
    if not times:
        try:
            return objects.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    values = [np.nan if is_missing(value) else value for value in values]
    for value in values if times else ():
        if isinstance(value, np.datetime64 | np.timedelta64):
            raise ValueError(f"X must hold numbers. Got {value!r}: convert it.")
    try:
        return np.fromiter(map(float, values), np.float64, len(values)).reshape(objects.shape)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def number_at(value: Any, where: Callable[[], str], allow_missing: bool) -> float:
    """A single value as a float; NaN for None, pd.NA, NaT and the NaN of any type."""
    if is_missing(value):
        if allow_missing or isinstance(value, float | np.floating):  # whether NaN is taken, the engine says
            return math.nan
        raise ValueError(f"{where()} is {value!r}, and the model takes no missing values.")
    no_number = complex | np.complexfloating | np.timedelta64  # though each of them is a Number
    if isinstance(value, Number | np.bool_) and not isinstance(value, no_number):
        try:
            return float(value)  # type: ignore[arg-type]  # Decimal and Fraction are numbers, too
        except OverflowError:
            raise ValueError(f"{where()} is too large for a float64.") from None
    raise ValueError(f"{where()} must be a number. Got {value!r}, a {type(value).__name__}.")


def as_numbers(values: Any) -> NDArray[Any]:
    """A table as numbers: in place if its dtype is native, otherwise as float64 or float32."""
    if isinstance(values, np.ndarray):
        refuse_times(values)
        values = numbers_of(values) if values.dtype.kind == "O" else values
        if values.ndim == 2 and values.dtype in NATIVE:
            return np.asarray(values)
    checked: NDArray[Any] = check_array(
        values, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0
    )
    return checked


def refuse_times(values: NDArray[Any]) -> None:
    """Refuse an array of dates or durations, which scikit-learn's check would turn into numbers."""
    if values.dtype.kind in "mM":
        raise ValueError(f"X must hold numbers. Got values of dtype {values.dtype}: convert them.")


def becomes_float64(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of floating point numbers that models take as float64."""
    return dtype.kind == "f" and dtype.type not in (np.float32, np.float64)


def plain_numbers(values: NDArray[Any], single: bool) -> NDArray[Any]:
    """An array with float64 in place of objects, and of float16 and extended precision unless ``single``."""
    if values.dtype.kind == "O":
        return numbers_of(values)
    return values.astype(np.float64) if becomes_float64(values.dtype) and not single else values
