"""Columns of numbers that a fitted transformer reads: as arrays, as affine maps, and number by number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ..sources import FrameSource, Source
from ..sources.arrays import ArraySource
from ..sources.held import column_reader, held_columns
from .affine import ColumnMap, read_step
from .functions import ColumnFunction, Numeric, PartOfSum
from .known_values import flat
from .later import Later


@dataclass(frozen=True, eq=False)
class Numbers(PartOfSum):
    """Columns of numbers that one fitted transformer reads.

    Attributes
    ----------
    transformer : transformer or None
        None: they are written as they are.
    columns : list of int
        Numbers of the raw columns.
    n_written : int
        Number of columns that the transformer writes.
    weight : float or None
        Factor of what is written.
    later : Later
        Transformers that are applied after it.
    """

    transformer: Any
    columns: list[int]
    n_written: int
    weight: float | None
    later: Later

    @property
    def first(self) -> int:
        """Number of the first column that is written in the end."""
        return self.later.first

    @property
    def width(self) -> int:
        """Number of columns that are written in the end."""
        return len(self.later.kept)

    @property
    def takes_booleans(self) -> bool:
        """Whether it certainly takes a column of booleans, for 0 and 1."""
        own = [] if self.transformer is None else flat(self.transformer)
        return all(map(takes_booleans, [*own, *self.later.steps]))

    def arrays(self, source: Source, places: list[int]) -> list[NDArray[Any]] | None:
        """The columns that are written for rows, each as an array; None if the transformers themselves must do it."""
        if self.transformer is None and not self.later.steps and self.weight is None:
            return None if _hold_na(source, places) else columns_of(source, places)
        X: Any = _selected(source, places)
        if self.transformer is not None:
            X = self.transformer.transform(X)
        if sparse.issparse(X):
            return None
        table = np.asarray(X if self.weight is None else X * self.weight)  # a frame keeps the dtypes of its columns
        if table.ndim != 2 or table.shape[1] != self.n_written or table.dtype.kind not in "biuf":
            return None
        table = self.later.transform(table)
        return None if table.dtype.itemsize > 8 or table.dtype == np.float16 else list(np.ascontiguousarray(table.T))

    def operations(self) -> list[list[tuple[str, float]]] | None:
        """What happens to each number, in the order of the transformers' own operations; None if they do more."""
        steps = [] if self.transformer is None else flat(self.transformer)
        found: list[list[tuple[str, float]]] = [[] for _ in self.columns]
        for step in [*steps, self.weight, *self.later.steps]:
            operations = [("multiply", step)] if isinstance(step, float | int) else operations_of(step)
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
        for step in self.later.steps:
            read = read_step(step)
            if read is None:
                return None
            found = found.then(read)
        return found

    def functions(self, first: int) -> list[ColumnFunction] | None:
        """What it writes as functions of its columns, which are those from number `first` on in a sum of columns.

        None if it does more than an affine map.
        """
        maps = self.maps()
        if maps is None:
            return None
        fills = [None] * self.width if maps.fill is None else list(maps.fill[:, None])
        return [
            Numeric(
                first + k, maps.scale[[k]], maps.shift[[k]], fills[k], np.array([self.first + k]), maps.magnitude[[k]]
            )
            for k in range(self.width)
        ]

    def reader(
        self, source: Source, places: list[int], rows: NDArray[np.int64] | None = None
    ) -> Callable[[int], NDArray[Any] | None]:
        """What gives the numbers of the k-th column; None if it holds something else. Parameters as for `Tables`."""
        return number_reader(source, places, rows)


def of_number(column: int, written: int, steps: list[tuple[str, float]], booleans: bool = False) -> dict[str, Any]:
    """A column of numbers for `_core.Record`, in which True and False may stand for 1 and 0."""
    none, nothing = np.empty(0, dtype=np.int64), np.empty((0, 1))
    place = np.array([written], dtype=np.int64)
    table = {"keys": None, "edges": None, "reaches": False, "rows": none, "values": nothing}
    return {
        "name": column,
        "written": place,
        **table,
        "noted": none,
        "note": None,
        "steps": steps,
        "booleans": booleans,
    }


def numbers_of_records(part: Numbers) -> list[dict[str, Any]] | None:
    """Columns of numbers for `_core.Record`; None if more happens to them than it does."""
    operations = part.operations()
    if operations is None:
        return None
    booleans = part.takes_booleans
    return [of_number(c, part.first + k, operations[k], booleans) for k, c in enumerate(part.columns)]


def operations_of(step: Any) -> list[tuple[str, Any]] | None:
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


def takes_booleans(step: Any) -> bool:
    """Whether a scaler, an imputer or a selector takes a column of booleans, for 0 and 1."""
    step = getattr(step, "step", step)
    return not isinstance(step, SimpleImputer) or step.strategy in ("mean", "median")


def columns_of(source: Source, places: list[int]) -> list[NDArray[Any]] | None:
    """Columns of numbers as arrays; None if one of them holds something else."""
    column, found = number_reader(source, places), list[NDArray[Any]]()
    for k in range(len(places)):
        values = column(k)
        if values is None:
            return None
        found.append(values)
    return found


def number_reader(
    source: Source, places: list[int], rows: NDArray[np.int64] | None = None
) -> Callable[[int], NDArray[Any] | None]:
    """What gives the k-th of some columns as an array, of some rows; None if it holds something else than numbers."""
    some: Any = slice(None) if rows is None else rows
    if isinstance(source, ArraySource):
        table = source.values
        return (lambda k: table[:, places[k]][some]) if table.dtype.kind in "biuf" else lambda k: None
    if not isinstance(source, FrameSource):
        return lambda k: None
    held, read = held_columns(source.rows, places), column_reader(source.rows)

    def column(k: int) -> NDArray[Any] | None:
        values = held.array(k)
        values = read(places[k]) if values is None else values
        of_numbers = values.dtype.kind in "biuf" and values.dtype != np.float16 and values.dtype.itemsize <= 8
        return values[some] if of_numbers else None

    return column


def _selected(source: Source, places: list[int]) -> Any:
    """Some columns in the container of the rows."""
    return source.values[:, places] if isinstance(source, ArraySource) else source.select(places).rows


def _hold_na(source: Source, places: list[int]) -> bool:
    """Whether columns hold pandas.NA, which a ColumnTransformer does not pass through among numbers."""
    if source.library != "pandas":
        return False
    columns = (source.rows.iloc[:, c].array for c in places)
    missing = ((column, getattr(column.dtype, "na_value", None)) for column in columns)
    return any(type(na).__name__ == "NAType" and na in column for column, na in missing)
