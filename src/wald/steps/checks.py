"""`check_step`: whether a step keeps what `Step` promises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ..sources import FrameSource, Source, source_of
from ..utils.clauses import require_clauses
from .chain import Chain
from .step import Step


def check_step(step: Step, source: Source) -> None:
    """Check that an implementation of `Step` keeps its contract on some rows.

    * kind: it inherits `Step`; `reads` are numbers of columns, ascending, and `width` is a number, or None.
    * columns: it writes a row for each row, and `width` columns.
    * again: it writes the same once more, and leaves the rows as they are.
    * rows: what it writes for a row does not depend on the other rows, to the last bit.
    * reads: it does not depend on columns that it does not read.
    * branches: side by side, they write what a chain writes.

    Parameters
    ----------
    step : Step
    source : Source
        At least three rows that it takes.

    Raises
    ------
    AssertionError
        If a clause fails; the message begins with its name in brackets.
    """
    require_clauses(CLAUSES, type(step).__name__, step, source)


def _kind(step: Step, source: Source) -> Iterator[str]:
    if not isinstance(step, Step):
        yield "inherit wald.steps.Step"
    reads, width = step.reads, step.width
    if reads is not None:
        numbers = list(reads)
        if numbers != sorted(set(numbers)) or not all(0 <= c < (source.n_columns or 0) for c in numbers):
            yield f"reads must be numbers of columns of the rows, ascending. Got {numbers}"
    given: object = width
    if given is not None and not (isinstance(given, int) and given >= 1):
        yield f"width must be a number of columns, or None. Got {width!r}"
    if source.n_rows < 3:
        yield "the check needs three rows"


def _columns(step: Step, source: Source) -> Iterator[str]:
    found = source_of(step.transform(source))
    if found.n_rows != source.n_rows or found.n_columns is None:
        yield f"transform must give a table of {source.n_rows} rows. Got {found.shape}"
    elif step.width is not None and found.n_columns != step.width:
        yield f"transform gives {found.n_columns} columns, and width is {step.width}"


def _again(step: Step, source: Source) -> Iterator[str]:
    before, values = repr(source.objects().tolist()), _values(step, source)
    if not np.array_equal(values, _values(step, source), equal_nan=True):
        yield "transform must give the same again"
    if repr(source.objects().tolist()) != before:
        yield "transform must not change the rows"


def _rows(step: Step, source: Source) -> Iterator[str]:
    values, last = _values(step, source), source.n_rows - 1
    for some in (np.array([last]), np.array([last, 0, last]), np.arange(1, last)):
        if not np.array_equal(_values(step, source.take(some)), values[some], equal_nan=True):
            yield f"the rows {some[:3].tolist()} have other columns where they are given without the other rows"


def _reads(step: Step, source: Source) -> Iterator[str]:
    if step.reads is None:
        return
    others = np.setdiff1d(np.arange(source.n_columns or 0), step.reads)
    moved = _with_reversed(source, others)
    if moved is not None and not np.array_equal(_values(step, moved), _values(step, source), equal_nan=True):
        yield f"transform depends on one of the columns {others[:8].tolist()}, which are not in reads"


def _branches(step: Step, source: Source) -> Iterator[str]:
    if not isinstance(step, Chain) or not step.branches:
        return
    values = _values(step, source)
    beside = [_values(branch, source) for branch in step.branches]
    if not np.array_equal(np.hstack(beside), values, equal_nan=True):
        yield "the branches side by side must write what the chain writes"
    if not np.array_equal(np.concatenate([branch.columns for branch in step.branches]), np.arange(values.shape[1])):
        yield "the branches must write all columns, in their order"


CLAUSES = {
    "kind": _kind,
    "columns": _columns,
    "again": _again,
    "rows": _rows,
    "reads": _reads,
    "branches": _branches,
}


def _values(step: Step, source: Source) -> NDArray[np.float64]:
    found: Any = source_of(step.transform(source)).array()
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found, dtype=np.float64)


def _with_reversed(source: Source, columns: NDArray[np.intp]) -> Source | None:
    """The rows with the values of some columns in the opposite order; None for rows that are no array or frame."""
    if isinstance(source, FrameSource):
        frame = nw.from_native(source.rows, eager_only=True)
        names = [frame.columns[c] for c in columns]
        return source_of(frame.with_columns(*(frame.get_column(name)[::-1].alias(name) for name in names)).to_native())
    if isinstance(source.rows, np.ndarray) and source.rows.ndim == 2:
        rows = source.rows.copy()
        rows[:, columns] = rows[::-1][:, columns]
        return source_of(rows)
    return None
