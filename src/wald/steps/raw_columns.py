"""Raw columns in place of all the columns that transformers write, for sums of one function a raw column."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray

from ..sources import SomeColumns, Source
from .applied import Applied
from .by_column import ByColumn, native, of_table
from .chain import Chain
from .functions import ByState, ColumnFunction
from .numbers import Numbers, of_number
from .tables import Tables, flat

#: Largest number of rows that are read at a time.
MOST_AT_ONCE = 1 << 18


class RawColumns(ByColumn):
    """Transformers that work column by column, of whose columns a sum is taken.

    One column is written for each raw column of each transformer: the number itself, or the row of a table. What the
    transformers would write of it are the `functions`. A row that a table does not answer gets no number there, so that
    the engine leaves it to the model.

    Attributes
    ----------
    functions : list of ByState and Numeric
        One for each column that is written.
    """

    writes_tables = False
    functions: list[ColumnFunction]

    @classmethod
    def of_sum(cls, chain: Chain) -> Self | None:
        """Take the first step of a chain apart, what the further ones do is in the sum; None if it cannot be."""
        found = cls.of(Chain(chain.steps[:1]), False, np.dtype(np.float64))
        if found is not None:
            if found.is_costly and chain.branches:  # these run late, for the rows that need them
                return None
            found.steps = chain.steps
        return found if found is not None and found._begun() else None

    def _begun(self) -> bool:
        self.functions = []
        self._source_columns: list[int] = []
        for part in self.parts:
            functions = part.functions(len(self.functions))
            if functions is None:
                return False
            self.functions += functions
            self._source_columns += part.sources
        return True

    @property
    def width(self) -> int:
        """Number of columns that it writes."""
        return len(self.functions)

    @property
    def is_single(self) -> bool:
        """Whether an encoder writes float32, in which the model may compute then."""
        tables = (table for part in self.parts if isinstance(part, Tables) for table in part.tables)
        return any(table.values.dtype == np.float32 for table in tables)

    @property
    def rows_at_once(self) -> int:
        """Many, if columns are read where they lie."""
        return super().rows_at_once if any(isinstance(part, Applied) for part in self.parts) else MOST_AT_ONCE

    @property
    def n_steps(self) -> int:
        """Largest number of transformers that a number passes through, and one for its weight."""
        most = max((len(flat(part.transformer)) for part in self.parts if part.transformer is not None), default=0)
        return most + len(self.steps)

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

    def unanswered(self, source: Source) -> NDArray[np.bool_]:
        """Which rows have a value that no table answers."""
        found: NDArray[np.bool_] = np.zeros(source.n_rows, dtype=bool)
        written = self.transform(source)
        for function, values in zip(self.functions, written.columns, strict=True):
            if isinstance(function, ByState):
                found |= ~(values < function.n_states)  # NaN is not smaller
        return found

    def of_records(self, library: str) -> list[dict[str, Any]] | None:
        """What `_core.Record` needs to know; None if records must become a frame."""
        if self._names is None:
            return None
        found: list[dict[str, Any]] = []
        for part in self.parts:
            if isinstance(part, Numbers):
                found += [of_number(column, len(found) + k, []) for k, column in enumerate(part.columns)]
                continue
            lookups = part.of_records(library) if isinstance(part, Tables) else None
            if not isinstance(part, Tables) or lookups is None:
                return None
            for table, lookup in zip(part.tables, lookups, strict=True):
                rows = np.arange(table.n_rows, dtype=np.float64)[:, None]
                found.append(of_table(table, lookup, np.array([len(found)]), rows))
        return found

    def _written(self, source: Source) -> SomeColumns | None:
        places = self._places(source) if sklearn.get_config()["transform_output"] == "default" else None
        if places is None:
            return None
        columns: list[NDArray[Any]] = []
        single = self.is_single
        for part in self.parts:
            at = [places[c] for c in part.columns]
            if min(at, default=0) < 0:
                return None
            for k in range(len(part.sources)):
                values = part.raw_column(source, k, at)
                if values is None:
                    return None
                single |= isinstance(part, Numbers) and values.dtype == np.float32
                columns.append(native(values, False))
        return SomeColumns(source.n_rows, columns, np.dtype(np.float32 if single else np.float64))
