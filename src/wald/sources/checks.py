"""`check_source`: whether a source keeps what `Source` promises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..utils.clauses import require_clauses
from .source import Block, Source
from .values import NATIVE, numbers_of

#: Number of rows of a block whose values are compared, and the number that the engine is told to take for NaN.
ROWS, STANDS_FOR_NAN = 12, 0.123456789


def check_source(source: Source) -> None:
    """Check that an implementation of `Source` keeps its contract.

    Parameters
    ----------
    source : Source
        At least two rows, of finite numbers or NaN unless they have no columns.

    Raises
    ------
    AssertionError
        If a clause fails; the message begins with its name in brackets.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.sources import check_source, source_of
    >>> check_source(source_of(np.eye(3)))
    """
    clauses = CLAUSES if getattr(source, "n_columns", None) is not None else {**CLAUSES, "take": _take_objects}
    require_clauses(clauses, type(source).__name__, source)


def _kind(source: Source) -> Iterator[str]:
    if not isinstance(source, Source):
        yield "inherit wald.sources.Source"
    n_rows: Any = source.n_rows
    if not isinstance(n_rows, int) or n_rows < 2:
        yield "n_rows must be an int, and the check needs two rows"
    if source.n_columns is not None and not isinstance(source.n_columns, int):
        yield "n_columns must be an int, or None"


def _names(source: Source) -> Iterator[str]:
    if source.names is not None and len(source.names) != source.n_columns:
        yield f"names must have {source.n_columns} entries, and has {len(source.names)}"


def _array(source: Source) -> Iterator[str]:
    if source.n_columns is None:
        return
    X = source.array()
    if sparse.issparse(X) != source.is_sparse:
        yield "array must be a CSR matrix if is_sparse says so, and an ndarray otherwise"
    elif X.shape != source.shape:
        yield f"array must have the shape {source.shape}, and has {X.shape}"
    elif X.dtype not in NATIVE:
        yield f"array must be float32, float64 or uint8. Got {X.dtype}"
    elif not np.array_equal(_dense(source.array()), _dense(X), equal_nan=True):
        yield "array must give the same numbers again"


def _take(source: Source) -> Iterator[str]:
    X, last = _dense(source.array()), source.n_rows - 1
    for rows in (np.array([last, 0, last]), np.array([], dtype=np.intp), slice(1, last), slice(0, 0)):
        some = source.take(rows)
        if some.n_rows != len(X[rows]) or some.n_columns != source.n_columns:
            yield f"take({rows!r}) must have {len(X[rows])} rows, and the same columns"
        elif some.names is not None and list(some.names) != list(source.names or ()):
            yield "take must keep the names"
        elif not np.array_equal(_dense(some.array()), X[rows], equal_nan=True):
            yield f"take({rows!r}) must have the numbers of these rows, whatever the other rows"


def _take_objects(source: Source) -> Iterator[str]:
    last = source.n_rows - 1
    if source.take(np.array([last, 0])).n_rows != 2 or source.take(slice(1)).n_rows != 1:
        yield "take must have as many rows as were asked for"
    if repr(source.take(np.array([last])).objects()[0]) != repr(source.objects()[last]):
        yield "take must give the rows at these places"


def _blocks(source: Source) -> Iterator[str]:
    if source.n_columns is None:
        return
    X, last = _dense(source.array()), source.n_columns - 1
    for needed in (None, [last], [*range(source.n_columns)]):
        start = 0
        for block in source.blocks(needed=needed):
            if block.start != start:
                yield f"a block must start at row {start}, where the one before ends. Got {block.start}"
            end = start + len(block)  # a block may have fewer rows once it was read
            yield from _read(block, X[start:end], needed)
            start = end
        if start != source.n_rows:
            yield f"blocks must have {source.n_rows} rows together, and have {start}"


def _read(block: Block, X: NDArray[Any], needed: list[int] | None) -> Iterator[str]:
    """Compare what the engine reads of a block with the numbers of its rows."""
    if needed is None and not block.whole:
        yield "a block must have all columns where none is named"
    rows: NDArray[np.intp] = np.arange(len(block))
    if not block.whole:
        rows = np.ascontiguousarray(rows[::-2])
        block = block.rest(rows, range(X.shape[1]))
        if len(block) != len(rows):
            yield f"rest must have the {len(rows)} rows that were asked for, and has {len(block)}"
    yield from _same(X[rows], _plain_values(block, X.shape[1]))


def _same(X: NDArray[Any], found: NDArray[Any]) -> Iterator[str]:
    if not np.array_equal(found[:ROWS], np.where(np.isnan(X), STANDS_FOR_NAN, X.astype(np.float64))[:ROWS]):
        yield "the engine must read of blocks what array gives"


def _plain_values(block: Block, width: int) -> NDArray[np.float64]:
    """The values that the engine reads: those of a linear model with an output for each column."""
    model = _core.Model.linear(
        order=np.arange(width, dtype=np.int32),
        coef=np.eye(width),
        intercept=np.zeros(width),
        fill=np.full(width, STANDS_FOR_NAN),
        magnitude=np.ones(width),
        bias_magnitude=0.0,
        depth=0.0,
    )
    return model.scores(block.rows, 0.0, 1)[0]


def _cells(source: Source) -> Iterator[str]:
    if source.n_columns is None:
        return
    X = _dense(source.array()).astype(np.float64)
    for c in range(source.n_columns):
        cells = source.cells(c)
        if cells.n_rows != source.n_rows or len(cells.objects()) != source.n_rows:
            yield f"cells({c}) must have {source.n_rows} rows"
        elif not np.array_equal(numbers_of(cells.objects()), X[:, c], equal_nan=True):
            yield f"cells({c}) must have the values of this column"


def _row(source: Source) -> Iterator[str]:
    values = source.row(source.n_rows - 1)
    if source.n_columns is not None and len(values) != source.n_columns:
        yield f"row must have {source.n_columns} values, and has {len(values)}"


def _unchanged(source: Source) -> Iterator[str]:
    """The clauses before have read the source in every way."""
    if len(source) != source.n_rows:
        yield "n_rows must stay, and be the length"


def _dense(X: Any) -> NDArray[Any]:
    dense: NDArray[Any] = X.toarray() if sparse.issparse(X) else X
    return dense


#: Checks by their names in messages.
CLAUSES: dict[str, Callable[[Source], Iterator[str]]] = {
    "kind": _kind,
    "names": _names,
    "array": _array,
    "take": _take,
    "blocks": _blocks,
    "cells": _cells,
    "row": _row,
    "length": _unchanged,
}
