"""Rankings of groups that come one after the other: some at a time are answered in one call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ..sources import source_of

#: Scores of rows, from the rows and the number of the group of each.
Scores = Callable[[Any, NDArray[np.intp]], NDArray[Any]]


def ranked_each(scores: Scores, groups: Iterable[Any], k: int | None, n_rows: int) -> Iterator[NDArray[np.intp]]:
    """The rows of each group, the best first; `scores` is called with whole groups of about ``n_rows`` rows.

    Parameters
    ----------
    scores : callable
    groups : iterable of tables
    k : int or None
        How many of the best rows.
    n_rows : int

    Yields
    ------
    intp ndarray of shape (min(k, n_rows of the group),)
    """
    if not (isinstance(groups, Iterable) or hasattr(groups, "__getitem__")):  # by which Python iterates, too
        raise TypeError(f"groups must be an iterable of tables, one of each group. Got {groups!r}.")
    held: list[Any] = []
    sizes: list[int] = []
    n_done = 0
    for rows in groups:
        size = source_of(rows).n_rows
        if held and (sum(sizes) + size > n_rows or not _alike(held[0], rows)):
            yield from _ranked(scores, held, sizes, k, n_done)
            n_done += len(held)
            held, sizes = [], []
        held.append(rows)
        sizes.append(size)
    yield from _ranked(scores, held, sizes, k, n_done)


def _ranked(
    scores: Scores, groups: list[Any], sizes: list[int], k: int | None, n_before: int
) -> Iterator[NDArray[np.intp]]:
    if len(groups) > 1:
        try:
            found = scores(_joined(groups), np.repeat(np.arange(len(groups)), sizes))
        except (ValueError, TypeError):  # each by itself, so that the error is about the rows of one group
            found = None
        if found is not None:
            for own in np.split(found, np.cumsum(sizes)[:-1]):
                yield np.argsort(-own, kind="stable")[:k]
            return
    for number, (rows, size) in enumerate(zip(groups, sizes, strict=True), n_before):
        try:
            own = scores(rows, np.zeros(size, dtype=np.intp))
        except (ValueError, TypeError) as error:
            error.add_note(f"This is about group {number} of the stream, from 0.")
            raise
        yield np.argsort(-own, kind="stable")[:k]


def _alike(rows: Any, others: Any) -> bool:
    """Whether rows can be put below others without any value being converted."""
    if type(rows) is not type(others):
        return False
    if isinstance(rows, np.ndarray):
        shaped = rows.ndim == others.ndim == 2 and rows.shape[1] == others.shape[1]
        return bool(shaped and rows.dtype == others.dtype)
    if nw.dependencies.is_pandas_dataframe(rows):
        return bool(rows.columns.equals(others.columns) and rows.dtypes.equals(others.dtypes))
    return bool(nw.dependencies.is_polars_dataframe(rows) and rows.schema == others.schema)


def _joined(groups: list[Any]) -> Any:
    if isinstance(groups[0], np.ndarray):
        return np.concatenate(groups)
    return nw.maybe_reset_index(nw.concat([nw.from_native(rows) for rows in groups])).to_native()
