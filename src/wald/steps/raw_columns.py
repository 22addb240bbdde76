"""Raw columns in place of all the columns that transformers write, for sums of one function a raw column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer

from .. import _core
from ..sources import SomeColumns, Source
from ..sources.some_columns import is_read_in_tiles
from .applied import Applied
from .by_column import ByColumn, Part, may_be_costly, n_read_alone, native, of_table
from .chain import Chain
from .cuts import Cuts
from .functions import ByState, ColumnFunction, OfScore
from .known_values import flat
from .numbers import Numbers, of_number, takes_booleans
from .step import Step
from .tables import Tables
from .text_columns import TextColumn, TextReader
from .text_records import TextNames
from .unmet import Silent, Unmet

#: Largest number of rows that are read at a time.
MOST_AT_ONCE = 1 << 18
#: By what bounds of errors are multiplied where the engine multiplies them by the roundoff of float32.
IN_SINGLE = 2.0**-29


@dataclass(frozen=True, eq=False)
class LateTable:
    """Columns whose cells are read when a row needs them.

    Parameters
    ----------
    rows : _core.LateRows
    dtype : dtype
        Float32 or float64.
    notes : list of (callable, _core.Lookup)
        What is to be told which missing cells a column has held.
    unmet : Unmet
    """

    rows: _core.LateRows
    dtype: np.dtype[Any]
    notes: list[tuple[Callable[[Silent], None], _core.Lookup]]
    unmet: Unmet

    def warn(self) -> None:
        """Warn of missing cells, once they were read."""
        for note, lookup in self.notes:
            note(lookup.missing())
        self.unmet.warn()


class RawColumns(ByColumn):
    """Transformers that work column by column, of whose columns a sum is taken.

    One column is written for each raw column of each transformer: the number itself, or the row of a table. For a
    column of texts, there is one for each score, and one for the bound of their errors. What the transformers would
    write of it are the `functions`. Where a value, or a column as a whole, is none that they answer,
    stands what the engine refuses, so that it leaves the row to the model; unless the row leaves before that column.

    Attributes
    ----------
    functions : list of ByState, Numeric and OfScore
        One for each column that is written.
    """

    writes_tables = False
    functions: list[ColumnFunction]

    @classmethod
    def of_sum(cls, chain: Chain, read_texts: TextReader | None = None, n_outputs: int = 1) -> Self | None:
        """Take the first step of a chain apart, what the further ones do is in the sum; None if it cannot be.

        Parameters
        ----------
        chain : Chain
        read_texts : callable or None, default=None
            What reads transformers of texts.
        n_outputs : int, default=1
            Number of scores.
        """
        first = Chain(chain.steps[: n_read_alone(chain)])
        found = cls.of(first, False, np.dtype(np.float64), read_texts=read_texts, n_outputs=n_outputs)
        if found is not None:
            if found.is_costly and chain.branches and not found.text_columns:
                return None  # these run late, for the rows that need them
            found.steps = chain.steps
        return found if found is not None and found._begun() else None

    def _begun(self) -> bool:
        self.functions = []
        self._owners: list[tuple[Part, int]] = []
        for part in self.parts:
            functions = part.functions(len(self.functions))
            if functions is None:
                return False
            self.functions += functions
            self._owners += [(part, k) for k in range(len(functions))]
        return True

    @property
    def width(self) -> int:
        """Number of columns that it writes."""
        return len(self.functions)

    @property
    def is_single(self) -> bool:
        """Whether an encoder writes float32, in which the model may compute then."""
        if self.text_columns:  # beside whose rows in float64 all others become float64
            return False
        tables = (table for part in self.parts if isinstance(part, Tables) for table in part.tables)
        return any(table.values.dtype == np.float32 for table in tables)

    @property
    def n_written(self) -> int:
        """Number of columns that the transformers themselves write."""
        return self._width

    @property
    def text_columns(self) -> list[TextColumn]:
        """The parts that are texts."""
        return [part for part in self.parts if isinstance(part, TextColumn)]

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
        return np.array([part.sources[k] for part, k in self._owners], dtype=np.int64)

    def reads_of(self, number: int) -> list[int]:
        """The raw columns of a column that it writes."""
        part, k = self._owners[number]
        return part.columns if part.sources[k] < 0 else [part.sources[k]]

    def some(self, numbers: Sequence[int]) -> SomeRawColumns:
        """A step for some of the columns that it writes."""
        return SomeRawColumns(self, numbers)

    @cached_property
    def branches(self) -> tuple[SomeRawColumns, ...]:  # type: ignore[override]  # a chain has branches of other steps
        """A step for each column that it writes, or for all columns of a part that writes them together."""
        numbers: dict[Any, list[int]] = {}
        for c, (part, _) in enumerate(self._owners):
            numbers.setdefault(part if part.together else c, []).append(c)
        return tuple(map(self.some, numbers.values()))

    @property
    def of_texts(self) -> list[list[int]]:
        """The columns that it writes of each column of texts."""
        return [[c for c, (owner, _) in enumerate(self._owners) if owner is part] for part in self.text_columns]

    @property
    def takes_long(self) -> NDArray[np.bool_]:
        """Which of the columns that it writes come from texts, or from a transformer that may be costly."""
        slow = {part: isinstance(part, TextColumn) or may_be_costly(part) for part in self.parts}
        return np.array([slow[part] for part, _ in self._owners], dtype=bool)

    @property
    def sums_in_order(self) -> bool:
        """Whether a product with what is written adds up each row in the same order, whatever the other rows are."""
        known = type(self.first) is ColumnTransformer and not any(isinstance(part, Applied) for part in self.parts)
        return known and bool(self.first.sparse_output_)

    def transform(self, source: Source, n_threads: int = 1) -> SomeColumns:
        """Raw numbers and rows of tables; where a column or a value is not understood, what the terms refuse."""
        return self.beside(self.nothing(source.n_rows), range(self.width), source, n_threads=n_threads)

    def nothing(self, n_rows: int) -> SomeColumns:
        """Rows of which no column is read yet."""
        return SomeColumns(n_rows, [None] * self.width, np.dtype(np.float32 if self.is_single else np.float64))

    def beside(
        self,
        held: SomeColumns,
        which: Sequence[int],
        source: Source,
        rows: NDArray[np.int64] | None = None,
        n_threads: int = 1,
    ) -> SomeColumns:
        """Add some of the columns that `transform` writes.

        Parameters
        ----------
        held : SomeColumns
            The columns so far.
        which : sequence of int
        source : Source
        rows : int64 ndarray or None, default=None
            Numbers of the rows of `held` in the source, ascending; None: they are all of its rows.
        n_threads : int, default=1
            For texts.
        """
        columns, single = list(held.columns), held.dtype == np.float32
        which = self._with_texts(which, held)
        for c, values in zip(which, self._read(source, which, rows, n_threads), strict=True):
            by_state = isinstance(self.functions[c], ByState)
            if values is None:
                columns[c] = np.full(held.n_rows, np.nan if by_state else np.inf)
            else:
                columns[c] = values if is_read_in_tiles(values) else native(values)
                single |= values.dtype == np.float32  # states are, where they stand for such columns
        self.unmet.warn()
        if single:  # the engine takes what bounds the errors in units of the precision of the whole table
            new = range(self.width) if held.dtype != np.float32 else which
            for c in new:
                if (values := columns[c]) is not None and _bounds_errors(self.functions[c]):
                    columns[c] = values * IN_SINGLE
        return SomeColumns(held.n_rows, columns, np.dtype(np.float32 if single else np.float64))

    def late(self, source: Source, which: Sequence[int]) -> LateTable | None:
        """Some of the columns that `transform` writes, whose cells are read when a row needs them.

        None if a transformer must run to write one of them.
        """
        if any(isinstance(self._owners[c][0], Applied | TextColumn) for c in which):
            return None
        columns: list[Any] = [None] * self.width
        notes: list[tuple[Callable[[Silent], None], _core.Lookup]] = []
        single = self.is_single
        for c, values in zip(which, self._read(source, which, None, late=True), strict=True):
            by_state = isinstance(self.functions[c], ByState)
            if values is None:
                columns[c] = np.broadcast_to(np.nan if by_state else np.inf, source.n_rows)
            elif isinstance(values, tuple):
                columns[c], note = values
                notes += [] if note is None else [(note, columns[c])]
            else:
                columns[c] = values
                single |= values.dtype == np.float32
        rows = _core.LateRows(source.n_rows, columns)
        return LateTable(rows, np.dtype(np.float32 if single else np.float64), notes, self.unmet)

    def unanswered(self, source: Source) -> NDArray[np.bool_]:
        """Which rows have a value that no table answers, or that is no number in a column of numbers."""
        found: NDArray[np.bool_] = np.zeros(source.n_rows, dtype=bool)
        for function, values in zip(self.functions, self._read(source, range(self.width), None), strict=True):
            if values is None:
                return np.ones(source.n_rows, dtype=bool)
            if isinstance(function, ByState):
                found |= ~(values < function.n_states)  # NaN is not smaller
            elif isinstance(function, OfScore):
                found |= ~np.isfinite(values)
        return found

    def _with_texts(self, which: Sequence[int], held: SomeColumns) -> list[int]:
        """Columns that are to be read, with all that are found together in texts, and without those that were."""
        found: dict[int, None] = {}
        for c in which:
            part, k = self._owners[c]
            if not isinstance(part, TextColumn):
                found[c] = None
            elif held.columns[c] is None:
                found |= dict.fromkeys(range(c - k, c - k + len(part.sources)))
        return list(found)

    def _of_records(self, part: Part, library: str, first: int) -> list[dict[str, Any]] | None:
        if isinstance(part, TextColumn):
            assert self._names is not None  # `of_records` gives up without them
            hidden = TextNames(list(self._names), self.text_columns).first_of(part)
            return [of_number(hidden + k, first + k, []) for k in range(len(part.sources))]
        if isinstance(part, Numbers):
            booleans = part.takes_booleans and all(takes_booleans(step) for _, step in self.steps[1:])
            return [of_number(column, first + k, [], booleans) for k, column in enumerate(part.columns)]
        if isinstance(part, Cuts):
            return part.of_records(first)
        lookups = part.of_records(library) if isinstance(part, Tables) else None
        if not isinstance(part, Tables) or lookups is None:
            return None
        return [
            of_table(table, lookup, np.array([k]), np.arange(float(table.n_rows))[:, None], self.unmet)
            for k, (table, lookup) in enumerate(zip(part.tables, lookups, strict=True), first)
        ]

    def _read(
        self,
        source: Source,
        which: Sequence[int],
        rows: NDArray[np.int64] | None,
        n_threads: int = 1,
        late: bool = False,
    ) -> Iterator[Any]:
        """Some columns, as the parts give them; None for one that only the model's own transformers understand.

        `late`: tables give lookups in place of arrays.
        """
        places = self._places(source) if sklearn.get_config()["transform_output"] == "default" else None
        readers: dict[Part, Callable[[int], Any] | None] = {}
        for c in which:
            part, k = self._owners[c]
            try:
                if part not in readers:
                    readers[part] = None  # which stays if it raises
                    at = [] if places is None else [places[column] for column in part.columns]
                    if min(at, default=-1) >= 0:
                        if late and isinstance(part, Tables):
                            readers[part] = part.late_reader(source, at)
                        else:
                            threads = (n_threads,) if isinstance(part, TextColumn) else ()
                            readers[part] = part.reader(source, at, rows, *threads)
                read = readers[part]
                yield None if read is None else read(k)
            except Exception:  # the model's own transformers will raise theirs
                yield None


def _bounds_errors(function: ColumnFunction) -> bool:
    return isinstance(function, OfScore) and function.output is None


class SomeRawColumns(Step):
    """Some of the columns that `RawColumns` writes.

    Parameters
    ----------
    every : RawColumns
    numbers : sequence of int
    """

    def __init__(self, every: RawColumns, numbers: Sequence[int]) -> None:
        self._every, self.numbers = every, list(numbers)
        self.columns = np.array(self.numbers, dtype=np.intp)

    @property
    def width(self) -> int:
        """Number of the columns."""
        return len(self.numbers)

    @property
    def reads(self) -> Sequence[int]:
        """The raw columns."""
        return sorted({column for c in self.numbers for column in self._every.reads_of(c)})

    def transform(self, source: Source) -> NDArray[Any]:
        """Numbers, or rows of tables."""
        written = self._every.beside(self._every.nothing(source.n_rows), self.numbers, source).columns
        return np.column_stack([values for c in self.numbers if (values := written[c]) is not None])
