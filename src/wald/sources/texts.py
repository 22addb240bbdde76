"""Texts, from whatever holds them."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .arrays import RawSource
from .frames import FrameSource, is_frame
from .source import Source

__all__ = ["NoTextError", "refuse_no_texts", "texts_in", "texts_of"]


def texts_of(source: Source) -> list[Any] | None:
    """The rows as a list, in which anything may stand that is no text; None if they are no single column.

    Parameters
    ----------
    source : Source
        Texts as they were given.
    """
    rows: Any = source.rows if isinstance(source, RawSource) and source.n_columns is None else None
    if isinstance(rows, list | tuple):
        return list(rows)
    if isinstance(rows, np.ndarray) or nw.dependencies.is_pandas_like_series(rows):
        found: list[Any] = rows.tolist()
        return found
    if nw.dependencies.is_polars_series(rows):
        return list(rows.to_list())
    return None if rows is None or isinstance(rows, str | bytes) else list(rows)


def texts_in(source: Source, column: int, rows: NDArray[np.int64] | slice) -> list[Any]:
    """Some cells of a column as a list, as the library of the rows gives them one by one.

    Parameters
    ----------
    source : Source
    column : int
    rows : int ndarray or slice
    """
    if not isinstance(source, FrameSource):
        found: list[Any] = source.cells(column).objects()[rows].tolist()
        return found
    if source.library == "pandas":
        return list(source.rows.iloc[rows, column].tolist())
    some = source.select([column]).take(rows)
    return list(nw.from_native(some.rows, eager_only=True)[:, 0].to_list())


class NoTextError(ValueError, AttributeError):
    """Rows that are no texts: bad input, and the error that vectorizers raise, which ask each row for its methods."""


def refuse_no_texts(X: Any) -> None:
    """Raise an error, of scikit-learn's own type where it has one, for what is no list or column of texts."""
    if isinstance(X, str | bytes):
        raise ValueError(
            f"X must hold texts, as a list or a column. Got one {type(X).__name__}: for one text use predict_one."
        )
    rows = X.rows if isinstance(X, Source) else X
    if isinstance(rows, np.ndarray) and rows.ndim != 1:
        raise NoTextError(
            f"X must hold texts, as a list or a column. Got an array of shape {rows.shape}: pass one of its columns."
        )
    if is_frame(rows):
        raise TypeError(
            f"X must hold texts, as a list or a column. Got a data frame of shape {rows.shape}, of which scikit-learn "
            "would read the names of the columns: pass the column that holds the texts."
        )
