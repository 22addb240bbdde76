"""Transformers that work column by column, in the engine's own form: tables for categories, arrays for numbers."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from ..sources import SomeColumns, Source
from .affine import gives_frames
from .applied import MOST_WRITTEN, Applied
from .chain import Branch, Chain
from .cuts import Cuts, n_cutting
from .known_values import flat
from .later import Later
from .numbers import Numbers, numbers_of_records
from .pieces import Piece, n_columns_of, pieces_of
from .probing import kinds_of
from .questions import MOST_VALUES
from .step import ROWS_AT_ONCE
from .table import Lookup, Table
from .tables import BYTES, Tables
from .text_columns import TextColumn, TextReader
from .unmet import MISSING, Unmet

#: Packages of transformers that are as cheap as to read their columns.
CHEAP = ("sklearn.preprocessing.", "sklearn.impute.")
#: Some columns of the terms, and what writes them.
Part = Tables | Numbers | Cuts | Applied | TextColumn

#: Bytes that are written at a time, and largest number of rows.
WRITTEN_BYTES, MOST_AT_ONCE = 16 << 20, 1 << 16


class ByColumn(Chain):
    """Fitted transformers that each read some columns: as tables of what they write, or as they are.

    Rows that the tables do not answer, such as those with an unknown category that the encoder refuses, go to the
    transformers themselves.

    Parameters
    ----------
    steps : list of (str, transformer)
    parts : list of Tables, Numbers, Cuts, Applied and TextColumn
        In the order of the columns that they write. Only sums have columns of texts.
    width : int
    absent_is_missing : bool
        Whether the model takes zeros for missing values, as the transformers give it sparse rows.
    integers : dtype
        To which the model converts a table of integers.
    needed : int ndarray or None
        Columns that the model reads; None if it reads all.
    """

    #: Whether tables are written out, so that they must be arrays.
    writes_tables: ClassVar[bool] = True

    def __init__(
        self,
        steps: list[tuple[str, Any]],
        parts: Sequence[Part],
        width: int,
        absent_is_missing: bool,
        integers: np.dtype[Any],
        needed: NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(steps)
        self.parts, self._width, self.absent_is_missing, self.integers = list(parts), width, absent_is_missing, integers
        self.needed = np.arange(width) if needed is None else needed
        self._names = getattr(self.first, "feature_names_in_", None)
        self.unmet = Unmet(None if self._names is None else list(self._names))
        for part in self.parts:
            if isinstance(part, Tables):
                part.unmet = self.unmet
        self._computes_later = any(part.later.computes for part in self.parts)
        self._selects_by_name = any(_are_names(columns) for _, _, columns in getattr(self.first, "transformers_", ()))

    @classmethod
    def of(
        cls,
        chain: Chain,
        absent_is_missing: bool,
        integers: np.dtype[Any],
        needed: NDArray[np.intp] | None = None,
        read_texts: TextReader | None = None,
        n_outputs: int = 1,
    ) -> Self | None:
        """Take a chain apart; None if a transformer in it is none that can be."""
        found = _parts(chain, read_texts, n_outputs)
        if found is None:
            return None
        parts, width, is_sparse = found
        tables = [part for part in parts if isinstance(part, Tables)]
        if cls.writes_tables:
            if any(part.n_values > MOST_VALUES for part in tables):
                return None
            for part in tables:
                part.become_arrays()
        return cls(chain.steps, parts, width, absent_is_missing and is_sparse, integers, needed)

    @cached_property
    def branches(self) -> tuple[Branch, ...]:
        """Those of the chain, if one of them may be costly; else all columns are cheap, and they run as a whole."""
        return Chain(self.steps).branches if self.writes_tables and self.is_costly else ()

    @property
    def is_costly(self) -> bool:
        """Whether it runs a transformer other than those of numbers in scikit-learn."""
        return any(map(may_be_costly, self.parts))

    @property
    def identity(self) -> Chain:
        """The transformers; tables follow from them, and grow with the kinds of rows that are met."""
        return Chain(self.steps)

    @property
    def width(self) -> int:
        """Number of columns that it writes."""
        return self._width

    @property
    def rows_at_once(self) -> int:
        """So many that finding the columns costs little, and that what is written stays small."""
        return int(np.clip(WRITTEN_BYTES // (8 * self.width), ROWS_AT_ONCE, MOST_AT_ONCE))

    def transform(self, source: Source) -> Any:
        """Columns of the terms, each as an array; what the transformers themselves give where the tables end."""
        if sklearn.get_config()["transform_output"] == "default" and source.n_rows:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    written = self._written(source)
                except Exception:  # the transformers below raise their own
                    written = None
            self.unmet.warn()
            if written is not None:
                return written
        return super().transform(source)

    def warn_of_missing(self, source: Source) -> None:
        """Warn of missing cells that encoders never met, where the transformers themselves are to read the rows."""
        try:
            places = self._places(source)
            for part in self.parts:
                if places is not None and isinstance(part, Tables):
                    part.note_missing(source, [places[c] for c in part.columns])
        except Exception:  # the transformers will raise their own
            return
        self.unmet.warn()

    def of_records(self, library: str) -> list[dict[str, Any]] | None:
        """What `_core.Record` needs to know; None if records must become a frame."""
        if self._names is None or self.absent_is_missing:
            return None
        found: list[dict[str, Any]] = []
        for part in self.parts:
            described = self._of_records(part, library, len(found))
            if described is None:
                return None
            found += described
        return found

    def _of_records(self, part: Part, library: str, first: int) -> list[dict[str, Any]] | None:
        """The columns of a part, of which `first` are before it; None for what is run as it is, which needs a frame."""
        if isinstance(part, Numbers):
            return numbers_of_records(part)
        if isinstance(part, Cuts):
            return part.of_records()
        lookups = part.of_records(library) if isinstance(part, Tables) else None
        if not isinstance(part, Tables) or lookups is None:
            return None
        return [
            of_table(table, lookup, table.written, table.values, self.unmet)
            for table, lookup in zip(part.tables, lookups, strict=True)
        ]

    def _written(self, source: Source) -> SomeColumns | None:
        places = self._places(source)
        if places is None:
            return None
        unread = np.zeros(source.n_rows, dtype=np.uint8)
        columns: list[NDArray[Any]] = [unread] * self._width
        wanted: NDArray[np.bool_] = np.zeros(self._width, dtype=bool)
        wanted[self.needed] = True
        dtypes: set[np.dtype[Any]] = set()
        for part in self.parts:
            at = [places[c] for c in part.columns]
            if min(at, default=0) < 0:
                return None
            found: dict[int, NDArray[Any]] | None
            if isinstance(part, TextColumn):  # of sums alone
                return None
            if isinstance(part, Tables):
                found, kinds = self._of_tables(part, source, at, wanted), {table.values.dtype for table in part.tables}
            elif isinstance(part, Cuts):
                cut = part.arrays(source, at)
                found = None if cut is None else dict(enumerate(cut[0], part.later.first))
                kinds = set() if cut is None else {cut[1]}
            else:
                arrays = (
                    part.arrays(source, at)
                    if isinstance(part, Numbers)
                    else part.arrays(source, self.absent_is_missing)
                )
                found = None if arrays is None else dict(enumerate(arrays, part.first))
                kinds = {values.dtype for values in arrays or ()}
            if found is None:
                return None
            dtypes |= kinds
            for c, values in found.items():
                columns[c] = values
        if self._computes_later and {np.dtype(np.float32), np.dtype(np.float64)} <= dtypes:
            return None  # the scalers get all columns in float64
        dtype = np.result_type(*dtypes)
        if dtype.kind in "biu":
            columns = [values if values is unread else values.astype(self.integers) for values in columns]
        read = [native(values, self.absent_is_missing and values is not unread) for values in columns]
        return SomeColumns(
            source.n_rows, read, dtype if dtype.kind in "biu" or dtype == np.float32 else np.dtype(float)
        )

    def _of_tables(
        self, part: Tables, source: Source, places: list[int], wanted: NDArray[np.bool_]
    ) -> dict[int, NDArray[Any]] | None:
        kinds = kinds_of(source, places)
        lookups = None if kinds is None else part.lookups(kinds)
        if lookups is None:
            return None
        columns: dict[int, NDArray[Any]] = {}
        for number, (table, lookup, place) in enumerate(zip(part.tables, lookups, places, strict=True)):
            note = part.noting(number, lookup)
            read = [k for k, c in enumerate(table.written.tolist()) if wanted[c]]
            cells = source.cells(place)
            if len(table.written) == 1:
                values = native(table.values[lookup.rows, 0])
                values, refused = table.keys.take(cells, values, lookup.refused, note=note)
                columns[int(table.written[0])] = values
            else:
                dtype = np.uint8 if len(table.values) <= BYTES else np.float64
                rows, refused = table.keys.take(cells, lookup.rows.astype(dtype), lookup.refused, note=note)
                rows = rows if dtype is np.uint8 else rows.astype(np.intp)
                for k in read:
                    columns[int(table.written[k])] = _small(table.values[:, k])[rows]
            if refused >= 0:
                return None
        return columns

    def _places(self, source: Source) -> Sequence[int] | None:
        """The place of each raw column in given rows; None if the columns are not those of fit."""
        n = n_columns_of(self.first)
        if n is None:
            return None
        if self._names is None or not source.is_named:
            return range(n) if source.n_columns == n and not self._selects_by_name else None
        given = {name: c for c, name in enumerate(source.names or ())}
        if len(given) != source.n_columns:
            return None
        if type(self.first) is FeatureUnion and list(given) != list(self._names):  # it selects no columns
            return None
        return [given.get(name, -1) for name in self._names]


def _are_names(columns: Any) -> bool:
    """Whether a ColumnTransformer selects these columns by name, which it can in data frames alone."""
    if isinstance(columns, slice):
        return isinstance(columns.start or columns.stop, str)
    return isinstance(columns, str) or (np.ndim(columns) == 1 and any(isinstance(c, str) for c in columns))


def _parts(chain: Chain, read_texts: TextReader | None, n_outputs: int) -> tuple[list[Part], int, bool] | None:
    """What writes which columns, how many there are, and whether the chain gives sparse rows."""
    n_alone = n_read_alone(chain)
    front, later = chain.first, [step for _, step in chain.steps[n_alone:]]
    apart = pieces_of(front)
    if apart is None:
        if later or type(front) in (ColumnTransformer, FeatureUnion):
            return None
        part = _alone([step for _, step in chain.steps[:n_alone]])
        return None if part is None else ([part], _width(part), _gives_sparse(chain.steps[n_alone - 1][1]))
    pieces, n_written, is_sparse = apart
    if is_sparse is None and read_texts is None:  # where it matters
        return None
    names = getattr(front, "feature_names_in_", None)
    found: list[Part] = []
    for piece in pieces:
        own = Later.of(later, piece.span, n_written, bool(is_sparse))
        if own is None:
            return None
        read: Part | None = None
        if not piece.gets_table and read_texts is not None:
            read = TextColumn.of(piece, n_written - piece.width, read_texts, n_outputs)
        read = read or _part(piece, None if names is None else list(names), own)
        if read is None:
            return None
        found.append(read)
    if not any(isinstance(part, Tables | Cuts | TextColumn) for part in found):
        return None
    return found, sum(len(part.later.kept) for part in found), bool(is_sparse)


def may_be_costly(part: Part) -> bool:
    """Whether a part runs a transformer other than those of numbers in scikit-learn."""
    steps = flat(part.transformer) if isinstance(part, Applied) else []
    return not all(type(step).__module__.startswith(CHEAP) and type(step) is not FunctionTransformer for step in steps)


def n_read_alone(chain: Chain) -> int:
    """How many of the first transformers are read together: one, or as many as cut numbers."""
    return max(1, n_cutting([step for _, step in chain.steps]))


def _alone(steps: list[Any]) -> Tables | Cuts | None:
    """An encoder, or transformers that cut numbers, in no ColumnTransformer."""
    front = steps[0]
    names, n = getattr(front, "feature_names_in_", None), getattr(front, "n_features_in_", None)
    if n is None:
        return None
    if n_cutting(steps):
        return Cuts.of(steps, list(range(n)), 0, None)
    return Tables.of(front, list(range(n)), None if names is None else list(names), 0, None)


def _width(part: Tables | Cuts) -> int:
    """Number of columns that a part writes, without later transformers."""
    return part.n_written if isinstance(part, Cuts) else sum(len(table.written) for table in part.tables)


def _gives_sparse(step: Any) -> bool:
    return bool(getattr(step, "sparse_output", False)) or getattr(step, "encode", None) == "onehot"


def _part(piece: Piece, names: list[Hashable] | None, later: Later) -> Part | None:
    """What one transformer writes; None if the columns are too many."""
    step, reads, width, weight = piece.part[1], piece.reads, piece.width, piece.weight
    if piece.gets_table:
        own = None if names is None else [names[c] for c in reads]
        tables = Tables.of(step, reads, own, piece.span.start, weight)
        if tables is not None and sum(len(table.written) for table in tables.tables) == width:
            return tables if tables.finished(later) else None
        cuts = Cuts.of(flat(step), reads, piece.span.start, weight, later)
        if cuts is not None and cuts.n_written == width:
            return cuts
        is_identity = type(step) is FunctionTransformer and step.func is None
        numbers = Numbers(None if is_identity else step, reads, width, weight, later)
        affine = not any(gives_frames(each) for each in flat(step)) and numbers.maps() is not None
        if width == len(reads) and (is_identity or affine):
            return numbers
    return Applied(piece, later) if width <= MOST_WRITTEN else None


def of_table(table: Table, lookup: Lookup, written: NDArray[Any], values: NDArray[Any], unmet: Unmet) -> dict[str, Any]:
    """A column of categories for `_core.Record`."""
    noted = [table.keys.n_known + state for state in MISSING] if any(lookup.silent) else []
    return {
        "noted": np.array(noted, dtype=np.int64),
        "note": unmet.note_record,
        "name": table.column,
        "written": np.asarray(written, dtype=np.int64),
        "keys": table.keys.core,
        "edges": None,
        "reaches": False,
        "rows": np.where(lookup.refused, -1, lookup.rows).astype(np.int64),
        "values": np.ascontiguousarray(values, dtype=np.float64),
        "steps": [],
        "booleans": table.booleans,
    }


def native(values: NDArray[Any], zeros_are_missing: bool = False) -> NDArray[Any]:
    """A column in a dtype that the engine reads."""
    if zeros_are_missing:
        values = np.where(values == 0, np.nan, values)
    return values if values.dtype in (np.float32, np.float64, np.uint8) else values.astype(np.float64)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Values as bytes, if they are whole numbers that fit."""
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and not np.signbit(values).any()):
        return native(values)
    fits = len(values) and values.min() >= 0 and values.max() <= 255 and bool((values == np.floor(values)).all())
    return values.astype(np.uint8) if fits else native(values)
