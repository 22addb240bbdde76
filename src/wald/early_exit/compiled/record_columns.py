"""Columns of records in the kinds that the columns of `fit` had, as the transformers that read them say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...models.column_kinds import ColumnKind, Holds
from ...sources.cells import objects_of
from ...sources.values import is_missing, number_at

#: Gives the words for a value's place, by the number of its record.
Place = Callable[[int], str]


def in_kind(values: Any, kind: ColumnKind, library: str | None, place: Place) -> Any:
    """Values of a column, for a frame of a library.

    Parameters
    ----------
    values : sequence
    kind : ColumnKind
        What the column held in `fit`.
    library : {"pandas", "polars", "pyarrow"} or None
    place : callable

    Raises
    ------
    ValueError
        If a value is none that a column of polars or Arrow can hold beside the others. pandas holds any object.
    """
    values = list(values)
    if kind.holds == Holds.TEXTS:
        return _texts(values, kind, library, place)
    if kind.holds not in (Holds.NUMBERS, Holds.BOOLEANS):
        return values
    missing = [is_missing(value) for value in values]
    if values and all(missing):  # None alone would be a column of objects, in which imputers do not find it
        return np.full(len(values), np.nan)
    if library == "pandas" or (len(set(map(type, values))) <= 1 and all(map(_is_plain, values))):
        return values
    return np.array([_number(value, place, i) for i, value in enumerate(values)], dtype=np.float64)


def _texts(values: list[Any], kind: ColumnKind, library: str | None, place: Place) -> Any:
    """Texts, and what stands for a missing one."""
    if library == "pandas":
        return objects_of([kind.missing if is_missing(value) else value for value in values])
    for i, value in enumerate(values):
        if not (isinstance(value, str) or is_missing(value)):
            raise ValueError(f"{place(i)} must be a text, as in fit. Got {value!r}, a {type(value).__name__}.")
    texts = [None if is_missing(value) else str(value) for value in values]  # neither library has NaN among texts
    if library == "pyarrow":
        import pyarrow

        return pyarrow.array(texts, pyarrow.large_string())
    import polars

    return polars.Series(texts, dtype=polars.String)


def _is_plain(value: Any) -> bool:
    """Whether this is one of Python's or NumPy's own numbers, of which any library makes a column."""
    small = isinstance(value, int) and -(2**63) <= value < 2**63
    return small or isinstance(value, float | np.number | np.bool_)


def _number(value: Any, place: Place, record: int) -> float:
    """A number, or a text of one, which scikit-learn takes, too."""
    if isinstance(value, str):
        try:
            return float(value)
        except ValueError:
            pass
    return number_at(value, lambda: place(record), True)
