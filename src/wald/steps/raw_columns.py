"""Raw columns in place of all the columns that transformers write, for sums of one function a raw column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..sources import SomeColumns, Source
from .affine import ColumnMap
from .by_column import BYTES, ByColumn, Numbers, native
from .chain import Chain
from .functions import ByState, ColumnFunction, Numeric
from .probing import kinds_of
from .tables import Tables


class RawColumns(ByColumn):
    """Transformers that work column by column, of whose columns a sum is taken.

    One column is written for each raw column of each transformer: the number itself, or the row of a table. What the
    transformers would write of it are the `functions`. A row that a table does not answer gets no number there, so that
    the engine leaves it to the model.

    Attributes
    ----------
    functions : list of ByState and Numeric
        One for each column that is written.
    columns : ColumnMap
        What happens to the numbers, among all the columns that the transformers write.
    """

    functions: list[ColumnFunction]
    columns: ColumnMap

    @classmethod
    def of_sum(cls, chain: Chain) -> Self | None:
        """Take a chain apart; None if one of its transformers is no table and no affine map."""
        found = cls.of(chain, False, np.dtype(np.float64))
        return found if found is not None and found._begun() else None

    def _begun(self) -> bool:
        self.functions = []
        n = self._width
        self._source_columns: list[int] = []
        scale, shift, magnitude = np.ones(n), np.zeros(n), np.zeros(n)
        for part in self.parts:
            if isinstance(part, Tables):
                for table in part.tables:
                    values = table.values.astype(np.float64)
                    if not np.isfinite(values).all():
                        return False
                    self.functions.append(ByState(len(self.functions), values, table.written))
                    self._source_columns.append(table.column)
                continue
            maps = part.maps()
            if maps is None:
                return False
            span = slice(part.first, part.first + part.width)
            scale[span], shift[span], magnitude[span] = maps.scale, maps.shift, maps.magnitude
            fill = maps.raw_fill()
            for k, column in enumerate(part.columns):
                one, written = np.ones(1), np.array([part.first + k], dtype=np.intp)
                filled = None if fill is None else fill[[k]]
                self.functions.append(Numeric(len(self.functions), one, np.zeros(1), filled, written))
                self._source_columns.append(column)
        self.columns = ColumnMap(scale, shift, None, magnitude)
        return True

    @property
    def width(self) -> int:
        """Number of columns that it writes."""
        return len(self.functions)

    @property
    def source_columns(self) -> NDArray[np.int64]:
        """The raw column of each column that it writes."""
        return np.array(self._source_columns, dtype=np.int64)

    def transform(self, source: Source) -> Any:
        """Raw numbers and rows of tables; in rows that a table does not answer, NaN or a row that no table has."""
        try:
            written = self._written(source)
        except Exception:  # the model's own transformers will raise theirs
            written = None
        if written is not None:
            return written
        nothing: NDArray[np.float64] = np.full(source.n_rows, np.nan)
        return SomeColumns(source.n_rows, [nothing] * self.width, np.dtype(np.float64))

    def _written(self, source: Source) -> SomeColumns | None:
        places = self._places(source)
        if places is None:
            return None
        columns: list[NDArray[Any]] = []
        single = False
        for part in self.parts:
            at = [places[c] for c in part.columns]
            if min(at, default=0) < 0:
                return None
            found = self._rows_of_tables(part, source, at) if isinstance(part, Tables) else _numbers(part, source, at)
            if found is None:
                return None
            if isinstance(part, Numbers):
                single |= any(values.dtype == np.float32 for values in found)
            columns += [native(values, False) for values in found]
        return SomeColumns(source.n_rows, columns, np.dtype(np.float32 if single else np.float64))

    def _rows_of_tables(self, part: Tables, source: Source, places: list[int]) -> list[NDArray[Any]] | None:
        kinds = kinds_of(source, places)
        lookups = None if kinds is None else part.lookups(kinds)
        if lookups is None:
            return None
        columns = []
        for table, lookup, place in zip(part.tables, lookups, places, strict=True):
            few = len(table.values) < BYTES
            rows = np.where(lookup.refused, BYTES - 1 if few else np.nan, lookup.rows)
            allowed = np.zeros_like(lookup.refused)
            columns.append(table.keys.take(source.cells(place), rows.astype(np.uint8 if few else np.float64), allowed)[0])
        return columns


def _numbers(part: Numbers, source: Source, places: list[int]) -> list[NDArray[Any]] | None:
    return Numbers(None, part.columns, part.first, part.width, None, []).arrays(source, places)
