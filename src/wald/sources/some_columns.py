"""Rows of which only some columns are held, as they are read from row groups of Parquet files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .arrays import ArraySource
from .building import library_at_hand
from .cells import Cells
from .cells_of import cells_of_array
from .source import PLAIN, Block, Conversion, Source
from .values import NATIVE


class SomeColumns(Source):
    """Rows of which only some columns are held, each as an array of its own.

    Parameters
    ----------
    n_rows : int
    columns : sequence of ndarray of shape (n_rows,) or None
        All of one dtype, which the engine reads in place; None for columns that are not held. Sums of columns also take
        integers and booleans as they are.
    dtype : dtype
        What the wrapped model would receive.
    names : sequence of str or None, default=None
        Names of all columns.

    Examples
    --------
    >>> rows = SomeColumns(3, [np.arange(3.0), None], np.dtype(float))
    >>> rows.take(np.array([2])).array()
    array([[2., 0.]])
    """

    is_columnar = True
    n_columns: int
    names: Sequence[str] | None

    def __init__(
        self,
        n_rows: int,
        columns: Sequence[NDArray[Any] | None],
        dtype: np.dtype[Any],
        names: Sequence[str] | None = None,
    ) -> None:
        self.n_rows, self.n_columns, self.columns, self.dtype, self.names = n_rows, len(columns), columns, dtype, names

    @property
    def rows(self) -> Any:
        """All columns as a data frame, or as an array without names."""
        return ArraySource(self.array(), self.names, library_at_hand()).rows

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """Column-major array in which columns that are not held are 0."""
        held = [(c, values) for c, values in enumerate(self.columns) if values is not None]
        X = (np.empty if len(held) == len(self.columns) else np.zeros)(self.shape, dtype=self.dtype, order="F")
        for c, values in held:
            X[:, c] = values
        return X

    def take(self, rows: NDArray[np.intp] | slice) -> SomeColumns:
        """Rows at the given places."""
        n_rows = len(range(self.n_rows)[rows]) if isinstance(rows, slice) else len(rows)
        columns = [None if values is None else values[rows] for values in self.columns]
        return SomeColumns(n_rows, columns, self.dtype, self.names)

    def select(self, columns: Sequence[int]) -> SomeColumns:
        """The columns with these numbers, in this order."""
        names = None if self.names is None else [self.names[c] for c in columns]
        return SomeColumns(self.n_rows, [self.columns[c] for c in columns], self.dtype, names)

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """The columns as they are; calls that read others raise."""
        held = needed is not None and all(self.columns[c] is not None for c in needed if c < self.n_columns)
        if not held and self._is_native:
            return iter([Block(_core.Rows.columns(self.n_rows, self.columns), 0, self.dtype)])
        block = _Given(self, held)
        return iter([block.filled() if needed is None else block])

    @property
    def _is_native(self) -> bool:
        """Whether the engine reads every column in place."""
        return all(values is None or values.dtype in NATIVE for values in self.columns)

    def cells(self, column: int) -> Cells:
        """A column that is held."""
        values = self.columns[column]
        if values is None:
            raise ValueError(f"Column {column} is not held. Read it first.")
        return cells_of_array(values)

    def beside(self, other: SomeColumns) -> SomeColumns:
        """The columns of both; those of `other` where both hold one."""
        columns = [a if b is None else b for a, b in zip(self.columns, other.columns, strict=True)]
        return SomeColumns(self.n_rows, columns, self.dtype, self.names)

    @staticmethod
    def one_after_another(parts: Sequence[SomeColumns]) -> SomeColumns:
        """The rows of all parts, which hold the same columns."""
        if len(parts) == 1:
            return parts[0]
        across = zip(*(part.columns for part in parts), strict=True)
        columns = [None if values[0] is None else np.concatenate(values) for values in across]
        return SomeColumns(sum(map(len, parts)), columns, parts[0].dtype, parts[0].names)


class _Given(Block):
    """The columns that a call needs, of which integers and booleans become float64 a tile at a time."""

    __slots__ = ("_held", "_source")

    def __init__(self, source: SomeColumns, held: bool) -> None:
        rows = _core.Rows.columns if source._is_native else _core.LateRows
        super().__init__(rows(source.n_rows, list(source.columns)), 0, source.dtype)
        self._source, self._held = source, held

    def filled(self) -> Block:
        """The block with an array for each column, of zeros where nobody needs it."""
        columns = list(self._source.columns)
        if self._held and any(values is None for values in columns):
            zeros = np.zeros(self._source.n_rows, dtype=self._source.dtype)
            columns = [zeros if values is None else values for values in columns]
        read = [values if values is None or values.dtype in NATIVE else values.astype(np.float64) for values in columns]
        return Block(_core.Rows.columns(len(self), read), 0, self.dtype)


def is_read_in_tiles(values: NDArray[Any]) -> bool:
    """Whether sums of columns read an array as it is, though the engine would convert it."""
    whole = values.dtype.kind in "biu" and values.dtype.itemsize <= 8
    return whole and values.dtype.isnative and values.flags.aligned
