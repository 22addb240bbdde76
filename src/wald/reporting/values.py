"""Values of single rows by name, for people."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..outputs import Words
from ..sources import ArraySource, source_of
from ..utils.figures import significant

#: A row is shown with at most this many values.
MOST_VALUES = 12
#: Longest text of a value or a label, in characters.
LONGEST = 200
#: Rows that say which values are usual.
_USUAL_ROWS = 2000


def short(value: object) -> str:
    """Write a value as text; numbers with six digits, and long texts cut off.

    Examples
    --------
    >>> short(0.1 + 0.2), short(np.int64(5)), short("x" * 300)[-3:]
    ('0.3', '5', 'xx…')
    """
    if isinstance(value, float | np.floating):
        real = float(value)
        return significant(real, 6) if 1e-6 < abs(real) < 1e15 else f"{real:.6g}"
    words = str(value)
    return words if len(words) <= LONGEST else words[: LONGEST - 2].rstrip() + "…"


def named(words: Words, answer: Any) -> str:
    """An answer as text: what people call it, or its numbers."""
    return short(words.name(answer)) if np.ndim(answer) == 0 else ", ".join(map(short, np.asarray(answer).tolist()))


class RowValues:
    """Names and values of the rows of a container.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or list of texts
    names : list of str or None
        Names of the columns, for containers that have none.
    """

    def __init__(self, X: Any, names: list[str] | None) -> None:
        self._source = source_of(X)
        self._names = names if self._source.names is None else [str(name) for name in self._source.names]
        self._centre: NDArray[np.float64] | None = None

    def of(self, row: int) -> tuple[tuple[tuple[str, str], ...], int]:
        """Names and values of a row, and how many were left out.

        In a wide table, the values that lie farthest from the usual ones are shown; in sparse rows, the largest.
        """
        one = self._source.take(np.array([row])).rows
        if self._source.is_sparse:
            keep = np.argsort(-np.abs(one.data), kind="stable")[:MOST_VALUES]
            pairs = [(self._name(int(one.indices[k])), short(one.data[k])) for k in np.sort(keep)]
            return tuple(pairs), int(one.nnz) - len(pairs)
        if self._source.n_columns is None:
            return self._of_record(next(iter(one)))
        values = np.empty(self._source.n_columns, dtype=object)
        values[:] = self._source.row(row)
        shown = np.arange(len(values))
        if len(values) > MOST_VALUES:
            shown = np.sort(np.argsort(-self._unusual(values), kind="stable")[:MOST_VALUES])
        return tuple((self._name(int(c)), short(values[c])) for c in shown), len(values) - len(shown)

    def _of_record(self, record: Any) -> tuple[tuple[tuple[str, str], ...], int]:
        if not hasattr(record, "items"):
            return (("text", short(record)),), 0
        items = list(record.items())
        return tuple((short(k), short(v)) for k, v in items[:MOST_VALUES]), max(0, len(items) - MOST_VALUES)

    def _name(self, column: int) -> str:
        return f"column {column}" if self._names is None else short(self._names[column])

    def _unusual(self, values: NDArray[Any]) -> NDArray[np.float64]:
        """Distance of each value from the mean of its column, in standard deviations; 0 for what is no number."""
        if self._centre is None:
            n = self._source.n_rows
            table = self._numbers(np.unique(np.linspace(0, n - 1, min(n, _USUAL_ROWS)).astype(np.intp)))
            with np.errstate(all="ignore"):
                counted = np.maximum(np.isfinite(table).sum(axis=0), 1)
                table = np.where(np.isfinite(table), table, 0.0)
                self._centre = table.sum(axis=0) / counted
                self._spread = np.sqrt(np.maximum((table**2).sum(axis=0) / counted - self._centre**2, 0.0))
        with np.errstate(all="ignore"):
            far = np.abs(_as_numbers(values) - self._centre) / np.maximum(self._spread, 1e-12)
        return np.where(np.isfinite(far), far, 0.0)

    def _numbers(self, rows: NDArray[np.intp]) -> NDArray[np.float64]:
        some = self._source.take(rows)
        if isinstance(some, ArraySource) and some.values.dtype.kind in "biuf":
            return some.values.astype(np.float64)
        return np.column_stack([_as_numbers(column) for column in some.objects().T])


def _as_numbers(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind in "biuf":
        return values.astype(np.float64)
    return np.array([float(v) if isinstance(v, int | float | np.number) else np.nan for v in values])
