"""Transformers that work column by column, in the engine's own form: tables for categories, arrays for numbers."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
)

from ..sources import FrameSource, SomeColumns, Source
from ..sources.arrays import ArraySource
from ..sources.held import column_reader, held_columns
from .affine import ColumnMap, gives_frames, read_step, sliced
from .chain import Chain
from .columns import positions
from .probing import kinds_of
from .step import ROWS_AT_ONCE
from .tables import Lookup, Table, Tables, flat

#: Transformers of numbers that are cheap, and that write a row by itself. They are called as they are.
OF_NUMBERS: tuple[type, ...] = (
    *(SimpleImputer, MissingIndicator, StandardScaler, MinMaxScaler, MaxAbsScaler, RobustScaler, Binarizer, Normalizer),
    *(KBinsDiscretizer, QuantileTransformer, PowerTransformer, SplineTransformer, PolynomialFeatures, VarianceThreshold),
)
#: Bytes that are written at a time, and largest number of rows.
WRITTEN_BYTES, MOST_AT_ONCE = 16 << 20, 1 << 16
#: Up to this number of rows of a table, cells are replaced by a byte.
BYTES = 256


@dataclass(frozen=True, eq=False)
class Numbers:
    """Columns of numbers that one fitted transformer reads.

    Attributes
    ----------
    transformer : transformer or None
        None: they are written as they are.
    columns : list of int
        Numbers of the raw columns.
    first : int
        Number of the first column that is written.
    width : int
    weight : float or None
        Factor of what is written.
    later : list of transformer
        Scalers and imputers that are applied after it.
    """

    transformer: Any
    columns: list[int]
    first: int
    width: int
    weight: float | None
    later: list[Any]

    def arrays(self, source: Source, places: list[int]) -> list[NDArray[Any]] | None:
        """The columns that are written for rows, each as an array; None if the transformers themselves must do it."""
        if self.transformer is None and not self.later and self.weight is None:
            return _columns(source, places)
        X: Any = _selected(source, places)
        if self.transformer is not None:
            X = self.transformer.transform(X)
        if sparse.issparse(X):
            return None
        table = np.asarray(X if self.weight is None else X * self.weight)  # a frame keeps the dtypes of its columns
        if table.ndim != 2 or table.shape[1] != self.width or table.dtype.kind not in "biuf":
            return None
        for step in self.later:
            table = step.transform(table)
        return None if table.dtype.itemsize > 8 or table.dtype == np.float16 else list(np.ascontiguousarray(table.T))


    def operations(self) -> list[list[tuple[str, float]]] | None:
        """What happens to each number, in the order of the transformers' own operations; None if they do more."""
        steps = [] if self.transformer is None else flat(self.transformer)
        found: list[list[tuple[str, float]]] = [[] for _ in self.columns]
        for step in [*steps, self.weight, *self.later]:
            operations = [("multiply", step)] if isinstance(step, float | int) else _operations(step)
            if operations is None or self.width != len(self.columns):
                return None
            for name, by in operations:
                for own, value in zip(found, np.broadcast_to(by, self.width).tolist(), strict=True):
                    own.append((name, float(value)))
        return found

    def maps(self) -> ColumnMap | None:
        """What happens to the columns as one affine map; None if it is none, or if columns are added or dropped."""
        if self.width != len(self.columns):
            return None
        found = ColumnMap(np.full(self.width, 1.0 if self.weight is None else self.weight), np.zeros(self.width))
        own = [] if self.transformer is None else flat(self.transformer)
        before: ColumnMap | None = None
        for step in own:
            read = read_step(step)
            if read is None or read.width != self.width:
                return None
            before = read if before is None else before.then(read)
        found = found if before is None else before.then(found)
        for step in self.later:
            read = read_step(step)
            if read is None:
                return None
            found = found.then(read)
        return found


class ByColumn(Chain):
    """Fitted transformers that work column by column.

    Rows that the tables do not answer, such as those with an unknown category that the encoder refuses, go to the
    transformers themselves.

    Parameters
    ----------
    steps : list of (str, transformer)
    parts : list of Tables and Numbers
        In the order of the columns that they write.
    width : int
    absent_is_missing : bool
        Whether the model takes zeros for missing values, as the transformers give it sparse rows.
    integers : dtype
        To which the model converts a table of integers.
    needed : int ndarray or None
        Columns that the model reads; None if it reads all.
    """

    def __init__(
        self,
        steps: list[tuple[str, Any]],
        parts: Sequence[Tables | Numbers],
        width: int,
        absent_is_missing: bool,
        integers: np.dtype[Any],
        needed: NDArray[np.intp] | None = None,
    ) -> None:
        super().__init__(steps)
        self.parts, self._width, self.absent_is_missing, self.integers = list(parts), width, absent_is_missing, integers
        self.needed = np.arange(width) if needed is None else needed
        self._names = getattr(self.first, "feature_names_in_", None)

    @classmethod
    def of(
        cls,
        chain: Chain,
        absent_is_missing: bool,
        integers: np.dtype[Any],
        needed: NDArray[np.intp] | None = None,
    ) -> ByColumn | None:
        """Take a chain apart; None if a transformer in it is none that can be."""
        found = _parts(chain)
        if found is None:
            return None
        parts, width, is_sparse = found
        return cls(chain.steps, parts, width, absent_is_missing and is_sparse, integers, needed)

    @property
    def branches(self) -> tuple[Any, ...]:  # type: ignore[override]  # a chain finds them once
        """None: all columns are cheap."""
        return ()

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
            if written is not None:
                return written
        return super().transform(source)

    def of_records(self, library: str) -> list[dict[str, Any]] | None:
        """What `_core.Record` needs to know; None if records must become a frame."""
        if self._names is None or self.absent_is_missing:
            return None
        found: list[dict[str, Any]] = []
        for part in self.parts:
            described = self._tables_of_records(part, library) if isinstance(part, Tables) else _numbers_of_records(part)
            if described is None:
                return None
            found += described
        return found

    def _tables_of_records(self, part: Tables, library: str) -> list[dict[str, Any]] | None:
        lookups = part.of_records(library)
        if lookups is None:
            return None
        return [
            of_table(table, lookup, table.written, table.values)
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
            found = self._of_tables(part, source, at, wanted) if isinstance(part, Tables) else part.arrays(source, at)
            if found is None:
                return None
            if isinstance(found, dict):
                dtypes |= {table.values.dtype for table in part.tables}  # type: ignore[union-attr]
                for c, values in found.items():
                    columns[c] = values
            else:
                dtypes |= {values.dtype for values in found}
                for c, values in enumerate(found, part.first):  # type: ignore[union-attr]
                    columns[c] = values
        dtype = np.result_type(*dtypes)
        if dtype.kind in "biu":
            columns = [values if values is unread else values.astype(self.integers) for values in columns]
        read = [native(values, self.absent_is_missing and values is not unread) for values in columns]
        return SomeColumns(source.n_rows, read, dtype if dtype.kind in "biu" or dtype == np.float32 else np.dtype(float))

    def _of_tables(
        self, part: Tables, source: Source, places: list[int], wanted: NDArray[np.bool_]
    ) -> dict[int, NDArray[Any]] | None:
        kinds = kinds_of(source, places)
        lookups = None if kinds is None else part.lookups(kinds)
        if lookups is None:
            return None
        columns: dict[int, NDArray[Any]] = {}
        for table, lookup, place in zip(part.tables, lookups, places, strict=True):
            read = [k for k, c in enumerate(table.written.tolist()) if wanted[c]]
            if not read:
                continue
            cells = source.cells(place)
            if len(table.written) == 1:
                values, refused = table.keys.take(cells, _in_place(table.values[lookup.rows, 0]), lookup.refused)
                columns[int(table.written[0])] = values
            else:
                dtype = np.uint8 if len(table.values) <= BYTES else np.float64
                rows, refused = table.keys.take(cells, lookup.rows.astype(dtype), lookup.refused)
                rows = rows if dtype is np.uint8 else rows.astype(np.intp)
                for k in read:
                    columns[int(table.written[k])] = _small(table.values[:, k])[rows]
            if refused >= 0:
                return None
        return columns

    def _places(self, source: Source) -> Sequence[int] | None:
        """The place of each raw column in given rows; None if the columns are not those of fit."""
        n = self.first.n_features_in_
        if self._names is None or not source.is_named:
            return range(n) if source.n_columns == n else None
        given = {name: c for c, name in enumerate(source.names or ())}
        if len(given) != source.n_columns:
            return None
        return [given.get(name, -1) for name in self._names]


def _parts(chain: Chain) -> tuple[list[Tables | Numbers], int, bool] | None:
    """What writes which columns, how many there are, and whether the chain gives sparse rows."""
    front, later = chain.first, [step for _, step in chain.steps[1:]]
    if type(front) is not ColumnTransformer:
        names = getattr(front, "feature_names_in_", None)
        n = getattr(front, "n_features_in_", None)
        if later or n is None:
            return None
        given = None if names is None else names.tolist()
        tables = Tables.of(front, list(range(n)), given, 0, None)
        if tables is None:
            return None
        return [tables], sum(len(table.written) for table in tables.tables), bool(getattr(front, "sparse_output", False))
    if gives_frames(front):
        return None
    is_sparse = bool(getattr(front, "sparse_output_", True))
    if later and is_sparse:
        return None
    found: list[Tables | Numbers] = []
    end, written = 0, getattr(front, "output_indices_", {})
    for name, step, columns in front.transformers_:
        span = written.get(name, slice(0, 0))
        if (isinstance(step, str) and step == "drop") or span.stop == span.start:
            continue
        if span.start != end or isinstance(columns, str | int):
            return None
        end = span.stop
        own = [sliced(each, np.arange(span.start, span.stop)) for each in later]
        part = _part(front, name, step, columns, span, own)
        if part is None or None in own:
            return None
        found.append(part)
    return (found, end, is_sparse) if any(isinstance(part, Tables) for part in found) else None


def _part(front: Any, name: str, step: Any, columns: Any, span: slice, later: list[Any]) -> Tables | Numbers | None:
    names: list[Hashable] | None = None if not hasattr(front, "feature_names_in_") else front.feature_names_in_.tolist()
    reads = positions(columns, front.n_features_in_, names)
    weight = (front.transformer_weights or {}).get(name)
    own_names = None if names is None else [names[c] for c in reads]
    tables = Tables.of(step, reads, own_names, span.start, weight)
    width = span.stop - span.start
    if tables is not None:
        if sum(len(table.written) for table in tables.tables) != width:
            return None
        for table in tables.tables:
            _after(table, later, span.start, width)
        return tables
    if type(step) is FunctionTransformer and step.func is None:
        return Numbers(None, reads, span.start, width, weight, later) if width == len(reads) else None
    known = all(type(each) in OF_NUMBERS and not gives_frames(each) for each in flat(step))
    return Numbers(step, reads, span.start, width, weight, later) if known else None


def _after(table: Table, later: list[Any], first: int, width: int) -> None:
    """Apply later transformers to the values of a table."""
    for step in later:
        rows = np.zeros((len(table.values), width), dtype=table.values.dtype)
        rows[:, table.written - first] = table.values
        table.values = np.asarray(step.transform(rows))[:, table.written - first]


def of_table(table: Table, lookup: Lookup, written: NDArray[Any], values: NDArray[Any]) -> dict[str, Any]:
    """A column of categories for `_core.Record`."""
    return {
        "name": table.column,
        "written": np.asarray(written, dtype=np.int64),
        "keys": table.keys.core,
        "rows": np.where(lookup.refused, -1, lookup.rows).astype(np.int64),
        "values": np.ascontiguousarray(values, dtype=np.float64),
        "steps": [],
    }


def of_number(column: int, written: int, steps: list[tuple[str, float]]) -> dict[str, Any]:
    """A column of numbers for `_core.Record`."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, 1))
    place = np.array([written], dtype=np.int64)
    return {"name": column, "written": place, "keys": None, "rows": none, "values": nothing, "steps": steps}


def _numbers_of_records(part: Numbers) -> list[dict[str, Any]] | None:
    operations = part.operations()
    if operations is None:
        return None
    return [of_number(c, part.first + k, operations[k]) for k, c in enumerate(part.columns)]


def _operations(step: Any) -> list[tuple[str, Any]] | None:
    """What a fitted scaler or imputer does to numbers, in its own order; None for other transformers."""
    if step is None:
        return []
    if type(step) is SimpleImputer:
        numbers = step.statistics_.dtype == np.float64 and not np.isnan(step.statistics_).any()
        replaces_nan = isinstance(step.missing_values, float) and step.missing_values != step.missing_values
        return [("fill", step.statistics_)] if numbers and replaces_nan and not step.add_indicator else None
    if type(step) is StandardScaler:
        centred = [("subtract", step.mean_)] if step.with_mean else []
        return [*centred, ("divide", step.scale_)] if step.with_std else centred
    if type(step) is RobustScaler:
        centred = [("subtract", step.center_)] if step.with_centering else []
        return [*centred, ("divide", step.scale_)] if step.with_scaling else centred
    if type(step) is MinMaxScaler and not step.clip:
        return [("multiply", step.scale_), ("add", step.min_)]
    if type(step) is MaxAbsScaler and not getattr(step, "clip", False):
        return [("divide", step.scale_)]
    return None


def _columns(source: Source, places: list[int]) -> list[NDArray[Any]] | None:
    """Columns of numbers as arrays; None if one of them holds something else."""
    if isinstance(source, ArraySource):
        return [source.values[:, c] for c in places] if source.values.dtype.kind in "biuf" else None
    if not isinstance(source, FrameSource):
        return None
    held, read = held_columns(source.rows, places), column_reader(source.rows)
    found = []
    for i, c in enumerate(places):
        values = held.array(i)
        values = read(c) if values is None else values
        if values.dtype.kind not in "biuf" or values.dtype == np.float16 or values.dtype.itemsize > 8:
            return None
        found.append(values)
    return found


def _selected(source: Source, places: list[int]) -> Any:
    """Some columns in the container of the rows."""
    return source.values[:, places] if isinstance(source, ArraySource) else source.select(places).rows


def native(values: NDArray[Any], zeros_are_missing: bool) -> NDArray[Any]:
    """A column in a dtype that the engine reads."""
    if zeros_are_missing:
        values = np.where(values == 0, np.nan, values)
    return values if values.dtype in (np.float32, np.float64, np.uint8) else values.astype(np.float64)


def _in_place(values: NDArray[Any]) -> NDArray[Any]:
    return values if values.dtype in (np.float32, np.float64, np.uint8) else values.astype(np.float64)


def _small(values: NDArray[Any]) -> NDArray[Any]:
    """Values as bytes, if they are whole numbers that fit."""
    if values.dtype.kind == "f" and not (np.isfinite(values).all() and not np.signbit(values).any()):
        return _in_place(values)
    fits = len(values) and values.min() >= 0 and values.max() <= 255 and bool((values == np.floor(values)).all())
    return values.astype(np.uint8) if fits else _in_place(values)


__all__ = ["ByColumn", "Lookup", "Numbers"]
