"""Encoders of categories as tables: what they write for each category, for an unknown value, and for a missing one.

A table is not derived from an encoder's attributes. The encoder itself is asked about every value that it knows, once,
in the container and dtype in which rows come: what it does with unknown, missing, infrequent or dropped categories, and
which values are equal to it, is what the table says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..sources import Source
from .functions import ByState, ColumnFunction, PartOfSum
from .keys import Keys
from .known_values import ENCODERS, flat, for_keys, known_values
from .later import Later, nothing_later
from .probing import Kind, kinds_of
from .questions import MOST_VALUES, Questions, are_booleans, own_kinds, record_kind
from .table import Lookup, Table
from .unmet import Silent, Unmet, met_in_fit, silent_states
from .written import Floats, Written, columns_of, differing, equal

#: What finds the values of cells, and what is then told which missing cells were met, if anybody wants to know.
LateCells = tuple[_core.Lookup, Callable[[Silent], None] | None]
#: Up to this number of rows of a table, cells are replaced by a byte.
BYTES = 256
#: Rows of random values on which the tables are compared with the encoder.
COMPARED = 64


class Tables(PartOfSum):
    """The tables of one fitted encoder, alone or in a pipeline of transformers that work column by column.

    Parameters
    ----------
    transformer : transformer
    columns : list of int
        Numbers of the raw columns that it reads.
    names : list of names or None
        Their names, if it was fitted on a data frame.
    first : int
        Number of the first column that it writes.
    weight : float or None
        Factor of what it writes.
    """

    def __init__(
        self, transformer: Any, columns: list[int], names: list[Any] | None, first: int, weight: float | None
    ) -> None:
        self.transformer, self.columns, self.names = transformer, columns, names
        self._weight, self._first = weight, first
        self._known = known_values(transformer, len(columns)) or []
        self.later = nothing_later(slice(first, first))
        self.tables: list[Table] = []
        self._sparse = False  # whether the tables are sparse
        self._lookups: dict[tuple[Kind, ...], list[Lookup] | None] = {}
        self._met: dict[int, str] = {}  # the kinds of missing cells that the encoder knows
        self.unmet = Unmet(None)  # of no rows; those who read rows have their own

    @classmethod
    def of(
        cls, transformer: Any, columns: list[int], names: list[Any] | None, first: int, weight: float | None
    ) -> Tables | None:
        """Ask a transformer for its tables; None if it has none."""
        if known_values(transformer, len(columns)) is None:
            return None
        made = cls(transformer, columns, names, first, weight)
        kinds = own_kinds(made._known, names is not None)
        return None if kinds is None or made.lookups(kinds) is None else made

    def of_records(self, library: str) -> list[Lookup] | None:
        """What values in records become, as they do in a frame that is made of these."""
        lookups = self.lookups(tuple(record_kind(known, library) for known in self._known))
        if lookups is None:
            return None
        return [
            lookup.with_one_missing(len(known), any(value != value for value in categories.tolist()))
            for lookup, known, categories in zip(lookups, self._known, self._categories, strict=True)
        ]

    def lookups(self, kinds: tuple[Kind, ...]) -> list[Lookup] | None:
        """What cells of these kinds become, a lookup for each table; None if the encoder itself must be asked."""
        if kinds not in self._lookups:
            self._lookups[kinds] = self._looked_up(kinds)
        return self._lookups[kinds]

    @property
    def n_values(self) -> int:
        """Number of values that the tables have as arrays."""
        return sum(table.n_rows * len(table.written) for table in self.tables)

    def finished(self, later: Later) -> bool:
        """Apply later transformers to what the tables hold; False if they refuse it."""
        self.later = later
        if not later.steps:
            return True
        if self.n_values > MOST_VALUES:
            return False
        self.become_arrays()
        width = sum(len(table.own) for table in self.tables)
        for table in self.tables:
            rows = np.zeros((table.n_rows, width), dtype=table.values.dtype)
            rows[:, table.own] = table.values
            try:
                values = later.transform(rows)
            except ValueError:  # it holds NaN, which they do not take
                return False
            left = np.isin(later.kept, table.own)
            table.values, table.written = values[:, left], later.first + np.flatnonzero(left)
        return True

    def become_arrays(self) -> None:
        """Let what is written be arrays."""
        for table in self.tables:
            if sparse.issparse(table.values):
                table.values = table.values.toarray()

    def functions(self, first: int) -> list[ColumnFunction] | None:
        """What it writes as functions of its columns, which are those from number `first` on in a sum of columns."""
        return [
            ByState(first + k, table.values.astype(np.float64), table.written) for k, table in enumerate(self.tables)
        ]

    def reader(
        self, source: Source, places: list[int], rows: NDArray[np.int64] | None = None
    ) -> Callable[[int], NDArray[Any]] | None:
        """What gives the rows of the k-th table for the cells of its column; None if the encoder must be asked itself.

        A cell that the table does not answer gets a row that no table has, or NaN.

        Parameters
        ----------
        source : Source
        places : list of int
            Where each of its columns is.
        rows : int64 ndarray or None, default=None
            Some rows, ascending; None: all.
        """
        found = self.late_reader(source, places)
        if found is None:
            return None

        def read(k: int) -> NDArray[Any]:
            lookup, note = found(k)
            values: NDArray[Any] = lookup.result(rows)[0]
            if note is not None:
                note(lookup.missing())
            return values

        return read

    def late_reader(self, source: Source, places: list[int]) -> Callable[[int], LateCells] | None:
        """The same for cells that are read when they are asked for, and what is then told of missing ones."""
        kinds = kinds_of(source, places)
        lookups = None if kinds is None else self.lookups(kinds)
        if lookups is None:
            return None

        def read(k: int) -> LateCells:
            table, lookup = self.tables[k], lookups[k]
            few = table.n_rows < BYTES
            states = np.where(lookup.refused, BYTES - 1 if few else np.nan, lookup.rows)
            values = states.astype(np.uint8 if few else np.float64)
            return table.keys.lookup(source.cells(places[k]), values), self.noting(k, lookup)

        return read

    def note_missing(self, source: Source, places: list[int]) -> None:
        """Note the missing cells of rows whose columns are at these places, for `unmet`."""
        found = None if min(places, default=-1) < 0 else self.late_reader(source, places)
        for k in range(len(self.tables) if found is not None else 0):
            assert found is not None
            lookup, note = found(k)
            if note is not None:
                lookup.result()
                note(lookup.missing())

    def noting(self, k: int, lookup: Lookup) -> Callable[[Silent], None] | None:
        """What is told of missing cells in the k-th column; None if they are no surprise."""
        if not any(lookup.silent):
            return None
        if k not in self._met:
            self._met[k] = " and ".join(met_in_fit(self._categories[k])) or "none of them"
        met = self._met[k]
        return self.unmet.noting(self.tables[k].column, lookup.silent, met)

    @property
    def _categories(self) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = next(s for s in flat(self.transformer) if type(s) in ENCODERS).categories_
        return found

    # ---- making the tables -----------------------------------------------------------------------------------------

    def _looked_up(self, kinds: tuple[Kind, ...]) -> list[Lookup] | None:
        questions = Questions(self.transformer, self.names, self._weight, self._known, kinds, self._sparse)
        if not all(questions.states):
            return None
        begun = not self.tables
        try:
            base = questions.first(begun)
        except Exception:  # whatever the encoder refuses
            return None
        self._sparse = questions.sparse
        found: list[tuple[NDArray[np.intp], Written]] = []
        for j in range(len(self._known)):
            answered = questions.of_states(j)
            if answered is None:
                return None
            found.append(answered)
        first = base.toarray()[0] if self._sparse else base[0]
        differences = [differing(values, first) for _, values in found]
        if begun and not self._begin_tables(first, differences):
            return None
        if not begun and not all(table.has(columns_of(base, table.own)) for table in self.tables):
            return None
        lookups: list[Lookup] = []
        for k, (table, (which, values), differs) in enumerate(zip(self.tables, found, differences, strict=True)):
            differs[table.own] = False
            if differs.any():
                return None
            states_of = columns_of(values, table.own)
            if begun:
                table.begin(states_of)
            at = table.rows_of(states_of)
            rows: NDArray[np.int64] = np.zeros(table.keys.n_states, dtype=np.int64)
            refused: NDArray[np.bool_] = np.ones(table.keys.n_states, dtype=bool)
            rows[which[at >= 0]], refused[which[at >= 0]] = at[at >= 0], False
            known, categories = self._known[k], self._categories[k]
            text = isinstance(known, list)
            silent = silent_states(flat(self.transformer), categories, rows, refused, len(known), text)
            lookups.append(Lookup(rows, refused, silent))
        return lookups if self._agrees(questions, lookups) else None

    def _begin_tables(self, base: Floats, differences: list[NDArray[np.bool_]]) -> bool:
        """Find which column determines which of the written ones; False if one is determined by several."""
        owner = np.full(len(base), -1)
        for j, differs in enumerate(differences):
            if (owner[differs] >= 0).any():
                return False
            owner[differs] = j
        owner[owner < 0] = 0  # the same whatever the values are
        for j, column in enumerate(self.columns):
            written = np.flatnonzero(owner == j)
            nothing = np.empty((0, len(written)), dtype=base.dtype)
            keys = Keys(for_keys(self._known[j]))
            booleans = are_booleans(self._known[j])
            self.tables.append(Table(column, keys, written, nothing, written + self._first, nothing, booleans))
        return True

    def _agrees(self, questions: Questions, lookups: list[Lookup]) -> bool:
        """Whether the transformer writes for random rows what the tables say."""
        rng = np.random.default_rng(0)
        lists, rows = [], []
        for each, lookup in zip(questions.states, lookups, strict=True):
            allowed = [s for s in each if not lookup.refused[s]]
            if not allowed:
                return False
            drawn = rng.choice(allowed, COMPARED)
            lists.append([each[int(s)] for s in drawn])
            rows.append(lookup.rows[drawn])
        try:
            own = questions.answers(lists)
        except Exception:
            return False
        pairs = zip(self.tables, rows, strict=True)
        return all(equal(columns_of(own, table.own), table.asked[at]) for table, at in pairs)
