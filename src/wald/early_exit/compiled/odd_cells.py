"""The cell that an error of a transformer or of a data frame is about, which most of these errors do not name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from typing import Any

import numpy as np

#: What is said of a text that is no number, with the text.
_NO_NUMBER = re.compile(r"could not convert string to float: (b?['\"].*['\"])", re.DOTALL)
#: Words in messages about dates and durations.
_ABOUT_TIMES = re.compile("datetime|timedelta|timestamp", re.IGNORECASE)
#: The name of a type in a message, as in "bad operand type for abs(): 'datetime.date'".
_TYPE_NAME = re.compile(r"'(?:\w+\.)*(\w+)'")
#: Types that rows hold anyway, so that their name explains nothing.
_USUAL_TYPES = frozenset({"str", "int", "float", "bool"})
#: Words in messages about lists, dicts and arrays in cells.
_NO_SCALAR = (
    "setting an array element with a sequence",
    "unhashable type",
    "must be a string or a real number",
    "Complex data not supported",
    "1-dimensional",
    "inhomogeneous",
    "unexpected value while building Series",
    "Per-column arrays",
    "cannot convert",
    "Could not convert",
    "Unsupported value Type",
)
#: Characters of a value that are shown.
SHOWN = 60

#: Column by column: the words for a cell's place by its row, and the cells.
Columns = Iterable[tuple[Callable[[int], str], Iterable[Any]]]


def with_place(error: Exception, columns: Columns) -> str | None:
    """The message of an error and the first cell that explains it; None if no cell does.

    Parameters
    ----------
    error : Exception
    columns : iterable of (callable, iterable)
        For each column the words for a place, by the number of its row, and the values.
    """
    wrong = _wrong(error)
    if wrong is None:
        return None
    for place, values in columns:
        for row, value in enumerate(values):
            if wrong(value):
                what = "X must hold numbers" if is_internal(error) else str(error).splitlines()[0].rstrip(".:")
                return f"{what}: {place(row)} is {shown(value)}."
    return None


def is_internal(error: Exception) -> bool:
    """Whether an error is of a type of NumPy's or a library's own, whose message is about dtypes, or a stack trace."""
    return type(error).__module__.startswith(("numpy", "xgboost"))


def shown(value: Any) -> str:
    """A value in a message, with its type."""
    text = repr(value)
    text = text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
    return text if value is None else f"{text}, a {type(value).__name__}"


def _wrong(error: Exception) -> Callable[[Any], bool] | None:
    """Whether a value explains an error; None for an error that is about no value."""
    message = str(error)
    text = _NO_NUMBER.search(message)
    if text is not None:
        return lambda value: isinstance(value, str | bytes) and repr(value) == text[1]
    if isinstance(error, UnicodeError):
        return _has_no_utf8
    if isinstance(error, OverflowError) or "too large to convert to float" in message:
        return _is_beyond_floats
    if _ABOUT_TIMES.search(message):
        return lambda value: isinstance(value, date | time | timedelta | np.datetime64 | np.timedelta64)
    types = frozenset(_TYPE_NAME.findall(message)) - _USUAL_TYPES if isinstance(error, TypeError) else frozenset()
    no_scalar = any(words in message for words in _NO_SCALAR)
    if types:  # of the cell, or of what a library has made of it
        return lambda value: type(value).__name__ in types or (no_scalar and _is_no_scalar(value))
    if "must be real number" in message:
        return lambda value: value is None or _is_no_scalar(value)
    return _is_no_scalar if no_scalar else None


def _is_no_scalar(value: Any) -> bool:
    return isinstance(value, list | tuple | dict | set | bytes | bytearray | complex | np.ndarray)


def _has_no_utf8(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()
    except UnicodeEncodeError:
        return True
    return False


def _is_beyond_floats(value: Any) -> bool:
    if not isinstance(value, int):
        return False
    try:
        float(value)
    except OverflowError:
        return True
    return False
