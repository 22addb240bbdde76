"""Answers that a costly model has given before, and that are paid for."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .errors import PartialAnswer

#: Types of pandas for what is missing; nothing else is known of pandas here.
MISSING = ("NAType", "NaTType")


class Logged(NamedTuple):
    """Rows of which the answer is known, and their labels.

    Attributes
    ----------
    rows : int ndarray of shape (n,)
        Ascending.
    labels : ndarray of shape (n,)
    """

    rows: NDArray[np.intp]
    labels: NDArray[Any]


def logged_answers(given: Any, n_rows: int) -> Logged | None:
    """Read a log of answers.

    Parameters
    ----------
    given : array-like of shape (n_rows,), dict from row to answer, PartialAnswer, or None
        In an array, None, NaN, `pandas.NA` or a masked entry stands where the model has not been asked.
    n_rows : int

    Raises
    ------
    ValueError, TypeError
        If there is another number of entries, or a row that is none.
    """
    if given is None:
        return None
    if isinstance(given, PartialAnswer):
        _require_each(len(given.labels), n_rows)
        rows = np.flatnonzero(given.decided)
        return Logged(rows, np.asarray(given.labels)[rows])
    if isinstance(given, Mapping):
        return _of_mapping(given, n_rows)
    if isinstance(given, str | bytes) or not hasattr(given, "__len__"):
        raise TypeError(f"answers must be a list or an array, or a dict from row to answer. Got {given!r}.")
    shape = getattr(given, "shape", (len(given),))
    if len(shape) != 1:
        raise ValueError(f"answers must have one entry for each of the {n_rows} rows of X. Got the shape {shape}.")
    _require_each(len(given), n_rows)
    if isinstance(given, np.ndarray) and given.dtype.kind in "biufUS":
        known = ~np.ma.getmaskarray(given)
        values = np.asarray(given)
        rows = np.flatnonzero(known & ~np.isnan(values)) if values.dtype.kind == "f" else np.flatnonzero(known)
        return Logged(rows, _narrowed(values[rows]))
    entries = given.tolist() if isinstance(given, np.ndarray) else list(given)  # a masked entry becomes None
    rows = np.array([i for i, entry in enumerate(entries) if not _missing(entry)], dtype=np.intp)
    return Logged(rows, _narrowed(np.asarray([entries[i] for i in rows.tolist()])))


def _of_mapping(given: Mapping[Any, Any], n_rows: int) -> Logged:
    entries = {row: entry for row, entry in given.items() if not _missing(entry)}
    for row in entries:
        if isinstance(row, bool) or not isinstance(row, Integral) or not 0 <= int(row) < n_rows:
            raise ValueError(f"answers maps rows of X, which are numbers from 0 to {n_rows - 1}. Got {row!r}.")
    rows = np.array(sorted(int(row) for row in entries), dtype=np.intp)
    return Logged(rows, _narrowed(np.asarray([entries[row] for row in rows.tolist()])))


def _missing(entry: Any) -> bool:
    """Whether an entry stands for no answer."""
    if entry is None or type(entry).__name__ in MISSING:
        return True
    return isinstance(entry, float | np.floating) and bool(np.isnan(entry))


def _narrowed(labels: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers as such, where NaN beside them has made them floating-point numbers."""
    if labels.dtype.kind != "f" or not (np.isfinite(labels).all() and (labels == np.rint(labels)).all()):
        return labels
    return labels.astype(np.int64)


def _require_each(n: int, n_rows: int) -> None:
    if n != n_rows:
        raise ValueError(
            f"answers must have one entry for each of the {n_rows} rows of X (None where the model has not been "
            f"asked), or be a dict from row to answer. Got {n}."
        )
