"""Encoders of categories as tables: what they write for each category, for an unknown value, and for a missing one.

A table is not derived from an encoder's attributes. The encoder itself is asked about every value that it knows, once,
in the container and dtype in which rows come: what it does with unknown, missing, infrequent or dropped categories, and
which values are equal to it, is what the table says.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from ..sources import Source
from .functions import ByState, ColumnFunction
from .keys import NA, NAN, NONE, Keys
from .known_values import ENCODERS, flat, for_keys, known_values, unknown_value
from .later import Later, nothing_later
from .probing import Kind, all_held, holds, kinds_of, made_table
from .unmet import NEVER, Silent, Unmet, met_in_fit, silent_states
from .written import Floats, Written, canonical, columns_of, differing, equal, keys_of, stacked

#: What finds the values of cells, and what is then told which missing cells were met, if anybody wants to know.
LateCells = tuple[_core.Lookup, Callable[[Silent], None] | None]
#: Largest number of values in the tables of one encoder as arrays, and in one array that it is asked for.
MOST_VALUES = 1 << 22
#: Up to this number of rows of a table, cells are replaced by a byte.
BYTES = 256
#: Rows of random values on which the tables are compared with the encoder.
COMPARED = 64


@dataclass(frozen=True, eq=False)
class Lookup:
    """What the states of a column's cells become, for cells of one kind.

    Attributes
    ----------
    rows : int ndarray of shape (n_states,)
        Row of the column's table for each state of its keys.
    refused : bool ndarray of shape (n_states,)
        States about which the encoder itself must be asked, or which raise.
    silent : tuple of bool
        Whether None, NaN and pandas.NA are taken for an unknown category.
    """

    rows: NDArray[np.int64]
    refused: NDArray[np.bool_]
    silent: Silent = NEVER


@dataclass(eq=False)
class Table:
    """One column that is read, and what is written for the values that it may have.

    Attributes
    ----------
    column : int
        Number of the raw column.
    keys : Keys
    own : int ndarray of shape (n_own,)
        Numbers of the columns that it determines, among those of the encoder.
    asked : ndarray or CSR matrix of shape (n_rows, n_own)
        The distinct rows of these columns.
    written : int ndarray of shape (n_written,)
        Numbers of the columns that are written in the end.
    values : ndarray or CSR matrix of shape (n_rows, n_written)
        What is written for each of the rows.
    booleans : bool
        Whether the known values are True and False.
    """

    column: int
    keys: Keys
    own: NDArray[np.intp]
    asked: Written
    written: NDArray[np.intp]
    values: Written
    booleans: bool = False
    _rows: dict[bytes, int] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return int(self.values.shape[0])

    def has(self, values: Written) -> bool:
        """Whether a row holds these values."""
        return keys_of(values)[0] in self._rows

    def begin(self, states: Written) -> None:
        """Take the distinct rows of values of the written columns."""
        new = []
        for i, key in enumerate(keys_of(states)):
            if key not in self._rows:
                self._rows[key] = len(self._rows)
                new.append(i)
        self.asked = self.values = states[new]

    def rows_of(self, states: Written) -> NDArray[np.int64]:
        """Rows of the table for these values of the written columns; -1 where it has none."""
        return np.array([self._rows.get(key, -1) for key in keys_of(states)], dtype=np.int64)


class Tables:
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

    Attributes
    ----------
    together : bool
        Whether a sum gets all of its columns at the price of one.
    """

    together: ClassVar[bool] = False

    def __init__(
        self, transformer: Any, columns: list[int], names: list[Any] | None, first: int, weight: float | None
    ) -> None:
        self.transformer, self.columns, self.names, self._weight, self._first = (
            transformer,
            columns,
            names,
            weight,
            first,
        )
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
        return made if made._begun() else None

    def of_records(self, library: str) -> list[Lookup] | None:
        """What values in records become, as they do in a frame that is made of these."""
        lookups = self.lookups(tuple(_record_kind(known, library) for known in self._known))
        if lookups is None:
            return None
        return [
            _one_missing(lookup, len(known), any(value != value for value in categories.tolist()))
            for lookup, known, categories in zip(lookups, self._known, self._categories, strict=True)
        ]

    def lookups(self, kinds: tuple[Kind, ...]) -> list[Lookup] | None:
        """What cells of these kinds become, a lookup for each table; None if the encoder itself must be asked."""
        if kinds not in self._lookups:
            self._lookups[kinds] = self._looked_up(kinds)
        return self._lookups[kinds]

    @property
    def sources(self) -> list[int]:
        """The raw column of each column that a sum reads."""
        return self.columns

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

    # ---- asking ----------------------------------------------------------------------------------------------------

    def _begun(self) -> bool:
        """Make the tables from rows of the kinds that the encoder's own categories have."""
        kinds = self._own_kinds()
        if kinds is None:
            return False
        lookups = self._looked_up(kinds)
        if lookups is None:
            return False
        self._lookups[kinds] = lookups
        return True

    def _own_kinds(self) -> tuple[Kind, ...] | None:
        """Kinds in which the known values certainly are what the encoder means."""
        text = np.dtype(object)
        dtypes = [text if isinstance(known, list) else known.dtype for known in self._known]
        if self.names is None:
            same = dtypes[0] if len(set(dtypes)) == 1 else text
            return (("numpy", same),) * len(dtypes)
        if find_spec("pandas") is None:
            return None
        import pandas  # noqa: F401 - probing reads it from the loaded modules

        return tuple(("pandas", dtype) for dtype in dtypes)

    def _looked_up(self, kinds: tuple[Kind, ...]) -> list[Lookup] | None:
        states = [self._states(known, kind) for known, kind in zip(self._known, kinds, strict=True)]
        if any(not each for each in states):
            return None
        usual = [next(iter(each.values())) for each in states]
        begun = not self.tables
        try:
            base = self._asked(kinds, [[value] for value in usual], begins=begun, n_rows=max(map(len, states)))
        except Exception:  # whatever the encoder refuses
            return None
        found: list[tuple[NDArray[np.intp], Written]] = []
        for j, each in enumerate(states):
            asked = self._asked_of(kinds, usual, j, each)
            if asked is None:
                return None
            found.append(asked)
        first = base.toarray()[0] if self._sparse else base[0]
        differences = [differing(values, first) for _, values in found]
        if begun and not self._begin_tables(first, differences):
            return None
        if not begun and not all(table.has(columns_of(base, table.own)) for table in self.tables):
            return None
        lookups: list[Lookup] = []
        for table, (which, values), differs in zip(self.tables, found, differences, strict=True):
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
            known, categories = self._known[len(lookups)], self._categories[len(lookups)]
            silent = silent_states(
                flat(self.transformer), categories, rows, refused, len(known), isinstance(known, list)
            )
            lookups.append(Lookup(rows, refused, silent))
        return lookups if self._agrees(kinds, states, lookups) else None

    def _states(self, known: Any, kind: Kind) -> dict[int, Any]:
        """The states that cells of a kind can have, each with a value that has it."""
        text = isinstance(known, list)
        values = list(known) if text else known.tolist()
        missing: list[Any] = [None, float("nan")]
        if find_spec("pandas") is not None:
            import pandas

            missing.append(pandas.NA)
        every = dict(enumerate(values))
        certain = text and (kind[1] in (np.dtype(object), "category") or "str" in str(kind[1]).lower())
        found = every if certain or all_held(kind, values) else {s: v for s, v in every.items() if holds(kind, v)}
        unknown = unknown_value(values, kind, text)
        others = enumerate([*unknown, *missing], len(values) + 1 - len(unknown))
        return found | {s: value for s, value in others if holds(kind, value)}

    def _asked_of(
        self, kinds: tuple[Kind, ...], usual: list[Any], j: int, states: dict[int, Any]
    ) -> tuple[NDArray[np.intp], Written] | None:
        """What is written for the states of column j, beside usual values in the others; without those that raise."""

        def ask(which: list[int]) -> Written:
            lists = [[value] * len(which) for value in usual]
            lists[j] = [states[s] for s in which]
            return self._asked(kinds, lists)

        n_known = len(self._known[j])
        known, others = [s for s in states if s < n_known], [s for s in states if s >= n_known]
        try:
            return np.array([*known, *others], dtype=np.intp), ask([*known, *others])
        except Exception:  # one of them is refused
            pass
        which, values = list(known), []
        try:
            values += [ask(known)] if known else []
        except Exception:
            return None
        for s in others:
            try:
                values.append(ask([s]))
            except Exception:  # the encoder itself will say so
                continue
            which.append(s)
        return np.array(which, dtype=np.intp), stacked(values)

    def _asked(
        self, kinds: tuple[Kind, ...], lists: list[list[Any]], *, begins: bool = False, n_rows: int = 0
    ) -> Written:
        """What the transformer writes for rows of these values.

        `begins`: whether this decides if tables are sparse, because up to `n_rows` rows will be asked for.
        """
        with warnings.catch_warnings(), sklearn.config_context(transform_output="default"):
            warnings.simplefilter("ignore")
            written = self.transformer.transform(made_table(kinds, self.names, lists))
        if begins and n_rows * written.shape[1] > MOST_VALUES:
            if not sparse.issparse(written):
                raise MemoryError("no array as large")
            self._sparse = True
        table = written if self._weight is None else written * self._weight
        if self._sparse:
            return canonical(table)
        table = table.toarray() if sparse.issparse(table) else np.asarray(table)
        if table.ndim != 2 or table.dtype.kind not in "biuf":
            raise TypeError("no table of numbers")
        return table

    # ---- the tables ------------------------------------------------------------------------------------------------

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
            booleans = _are_booleans(self._known[j])
            self.tables.append(Table(column, keys, written, nothing, written + self._first, nothing, booleans))
        return True

    def _agrees(self, kinds: tuple[Kind, ...], states: list[dict[int, Any]], lookups: list[Lookup]) -> bool:
        """Whether the transformer writes for random rows what the tables say."""
        rng = np.random.default_rng(0)
        lists, rows = [], []
        for each, lookup in zip(states, lookups, strict=True):
            allowed = [s for s in each if not lookup.refused[s]]
            if not allowed:
                return False
            drawn = rng.choice(allowed, COMPARED)
            lists.append([each[int(s)] for s in drawn])
            rows.append(lookup.rows[drawn])
        try:
            own = self._asked(kinds, lists)
        except Exception:
            return False
        pairs = zip(self.tables, rows, strict=True)
        return all(equal(columns_of(own, table.own), table.asked[at]) for table, at in pairs)


def _one_missing(lookup: Lookup, n_known: int, is_nan: bool) -> Lookup:
    """A lookup in which all missing values count as the one that the encoder may know."""
    rows, refused = lookup.rows.copy(), lookup.refused.copy()
    missing = [n_known + state for state in (NONE, NAN, NA)]
    own = n_known + (NAN if is_nan or refused[n_known + NONE] else NONE)
    rows[missing], refused[missing] = rows[own], refused[own]
    return Lookup(rows, refused, lookup.silent if lookup.silent[NAN - NONE if own == n_known + NAN else 0] else NEVER)


def _are_booleans(known: list[str] | NDArray[Any]) -> bool:
    return not isinstance(known, list) and known.dtype == bool


def _record_kind(known: list[str] | NDArray[Any], library: str) -> Kind:
    """The kind of the column that a frame gets for values of records."""
    text, booleans = isinstance(known, list), _are_booleans(known)
    if library != "polars":
        return "pandas", np.dtype(object if text else bool if booleans else np.float64)
    import polars

    return "polars", polars.String if text else polars.Boolean if booleans else polars.Float64
