"""Data frames: their names, and their columns where the library holds them, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

#: Dtypes that the engine reads in place.
NATIVE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars, Arrow or another library that narwhals knows."""
    if isinstance(X, np.ndarray):
        return False
    return nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X)  # the first check is faster


def is_missing(value: Any) -> bool:
    """Whether a single value stands for a missing one: None, pd.NA, NaT, or NaN of any type of number."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, Number | np.generic) and bool(value != value)


def numbers_of(objects: NDArray[Any]) -> NDArray[np.float64]:
    """Convert an array of objects to float64, with NaN for missing values.

    Columns of pandas' extension types with missing values become such arrays, and so do lists that hold None.

    Raises
    ------
    ValueError
        If an object is no number.
    """
    values = objects.ravel().tolist()
    times = {np.datetime64, np.timedelta64} & set(map(type, values))  # NumPy makes numbers of them, and of NaT
    if not times:
        try:
            return objects.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass
    values = [np.nan if is_missing(value) else value for value in values]
    for value in values if times else ():
        if isinstance(value, np.datetime64 | np.timedelta64):
            raise ValueError(f"X must hold numbers. Got {value!r}: convert it.")
    try:
        return np.fromiter(map(float, values), np.float64, len(values)).reshape(objects.shape)
    except (TypeError, OverflowError) as error:
        raise ValueError(str(error)) from None


def is_half_precision(X: Any) -> bool:
    """Whether an array, or a frame as one array, is of dtype float16."""
    if nw.dependencies.is_pandas_dataframe(X):
        dtypes = {getattr(dtype, "numpy_dtype", dtype) for dtype in set(X.dtypes)}
        numeric = len(dtypes) > 0 and all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in dtypes)
        return numeric and np.result_type(*dtypes) == np.float16
    if nw.dependencies.is_pyarrow_table(X):
        return {str(kind) for kind in X.schema.types} == {"halffloat"}
    return isinstance(getattr(X, "dtype", None), np.dtype) and X.dtype == np.float16


def has_names(X: Any, names: NDArray[Any]) -> bool:
    """Whether X is a frame with exactly these column names; faster than scikit-learn's check."""
    if nw.dependencies.is_pandas_dataframe(X):
        same = X.columns.equals(_pandas_index(_Names(names)))
        return bool(same) or bool(X.columns.tolist() == names.tolist())  # indices of other types are never equal
    return nw.dependencies.is_polars_dataframe(X) and bool(X.columns == names.tolist())


@dataclass(frozen=True, eq=False)
class _Names:
    """Names as a key of a cache, compared by the identity of their array: a thousand names take long to hash."""

    names: NDArray[Any]

    def __hash__(self) -> int:
        return id(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Names) and self.names is other.names


@lru_cache(maxsize=16)
def _pandas_index(key: _Names) -> Any:
    """Names as a pandas Index; two of them compare ten times as fast as one converts to a list."""
    return nw.dependencies.get_pandas().Index(key.names.tolist())


def whole_block(X: Any) -> NDArray[Any] | None:
    """View of a pandas frame that is one block of memory; None for any other."""
    if not nw.dependencies.is_pandas_dataframe(X) or X.shape[1] < 2 or X.shape[0] == 0:
        return None
    manager = _pandas_manager(X)
    if manager is not None and len(manager.blocks) > 1:
        return None
    column = column_reader(X)
    ends = [column(c) for c in (0, 1, X.shape[1] - 1)]
    if any(end.dtype not in NATIVE or end.dtype != ends[0].dtype for end in ends):
        return None
    # Columns with different owners are not one block, and X.to_numpy() would copy all of them.
    if any(_owner(end) is not _owner(ends[0]) for end in ends):
        return None
    block = X.to_numpy()
    shared = isinstance(block, np.ndarray) and np.shares_memory(block[:1, :1], ends[0][:1])
    return block if shared and block.dtype == ends[0].dtype else None


def _pandas_manager(frame: Any) -> Any:
    """The object that knows in which blocks a pandas frame holds its columns; None if this pandas hides it."""
    manager = getattr(frame, "_mgr", None)
    return manager if all(hasattr(manager, name) for name in ("blocks", "blknos", "blklocs")) else None


def _owner(array: NDArray[Any]) -> Any:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def column_reader(frame: Any) -> Callable[[int], NDArray[Any]]:
    """Return a function that reads a column of a frame as an array, by its number, with a copy where there is no array.

    Frames have hundreds of columns, so the fastest method of each library is used. If they exist, private methods take
    less than a microsecond per column, where a Series takes 3 microseconds in polars and 10 in pandas. For many columns
    there is `columns_of`.
    """
    if nw.dependencies.is_polars_dataframe(frame):
        series = getattr(getattr(frame, "_df", None), "to_series", None)
        if series is not None:
            return lambda c: series(c).to_numpy(writable=False, allow_copy=True)
        return lambda c: np.asarray(frame.to_series(c).to_numpy())
    if nw.dependencies.is_pandas_dataframe(frame):
        quick = getattr(frame, "_get_column_array", None)
        if quick is not None:
            return lambda c: np.asarray(quick(c))
        return lambda c: np.asarray(frame.iloc[:, c].to_numpy())
    eager = nw.from_native(frame, eager_only=True)
    names = eager.columns
    return lambda c: np.asarray(eager.get_column(names[c]).to_numpy())


def columns_of(frame: Any, numbers: Sequence[int]) -> Iterator[NDArray[Any]]:
    """Read columns of a frame as arrays, by their numbers; for many of them this is faster than a `column_reader`."""
    if len(numbers) == 0:
        return iter(())
    column, held = column_reader(frame), held_columns(frame, numbers)
    return (column(c) if (found := held.array(i)) is None else found for i, c in enumerate(numbers))


@dataclass(frozen=True, eq=False)
class HeldColumns:
    """Columns of a frame, as it holds them.

    Parameters
    ----------
    arrays : list
        For each column an array that is the column; with `lines`, a 2-D array that has the column as a row. Anything
        else stands for a column that is not held as an array, or in which values lack.
    lines : int64 ndarray or None
        Number of the row of each array.
    """

    arrays: list[Any]
    lines: NDArray[np.int64] | None = None

    def array(self, i: int) -> NDArray[Any] | None:
        """The i-th of these columns; None if it is not held as an array."""
        array = self.arrays[i]
        if type(array) is not np.ndarray:
            return None
        return array if self.lines is None else array[self.lines[i]]


def held_columns(frame: Any, numbers: Sequence[int]) -> HeldColumns:
    """Find columns of a frame in its memory, by their numbers.

    Private methods of pandas and polars say where hundreds of columns are in 0.1 microseconds each. If they do not
    exist, no column is found.
    """
    if nw.dependencies.is_pandas_dataframe(frame):
        manager = _pandas_manager(frame)
        if manager is not None:
            blocks, which = manager.blocks, np.asarray(numbers, dtype=np.intp)
            arrays = [blocks[b].values for b in manager.blknos[which].tolist()]
            return HeldColumns(arrays, manager.blklocs[which].astype(np.int64, copy=False))
    if nw.dependencies.is_polars_dataframe(frame) and len(numbers) > 0:
        to_series = getattr(getattr(frame, "_df", None), "to_series", None)
        series = [] if to_series is None else list(map(to_series, numbers))
        kind: Any = type(series[0]) if series else None
        if all(hasattr(kind, name) for name in ("null_count", "to_numpy_view")):
            views = list(map(kind.to_numpy_view, series))  # None for several chunks, and for what is no number
            if any(map(kind.null_count, series)):
                views = [None if one.null_count() else view for one, view in zip(series, views, strict=True)]
            return HeldColumns(views)
    return HeldColumns([None] * len(numbers))
