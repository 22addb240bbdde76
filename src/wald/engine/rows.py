"""Conversion of rows to the engine's form: in place where possible, otherwise in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from .. import _core
from .some_columns import SomeColumns

NATIVE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))
#: Short names that polars has for its dtypes of numbers.
POLARS_NUMBERS = frozenset(["bool", "f32", "f64", *(f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64))])
#: Size of the pieces in which rows are converted, in bytes.
PIECE_BYTES = 4 << 20
#: Number of rows that preprocessing transforms at a time.
PREPROCESSED_ROWS = 16384


@dataclass(frozen=True)
class Conversion:
    """Conversion of rows that the engine does not read in place.

    Parameters
    ----------
    integers : dtype
        Dtype to which arrays of integers and booleans are converted; data frames are converted to float64.
    categories : bool
        Whether columns of categories that are numbers are read as these numbers. If not, they are refused.
    """

    integers: np.dtype[Any]
    categories: bool


#: The conversion of scikit-learn's models.
PLAIN = Conversion(np.dtype(np.float64), True)


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows ``start`` to ``stop`` in the engine's form, and the dtype that the wrapped model would receive."""

    start: int
    stop: int
    rows: _core.Rows
    dtype: np.dtype[Any]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars, Arrow or another library that narwhals knows."""
    if isinstance(X, np.ndarray):
        return False
    return nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X)  # the first check is faster


def is_columnar(X: Any) -> bool:
    """Whether X is stored by columns, so that single columns can be read."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous
    return is_frame(X)


def has_names(X: Any, names: NDArray[Any]) -> bool:
    """Whether X is a frame with exactly these column names; faster than scikit-learn's check."""
    if nw.dependencies.is_pandas_dataframe(X):
        same = X.columns.equals(_pandas_index(tuple(names.tolist())))
        return bool(same) or bool(X.columns.tolist() == names.tolist())  # indices of other types are never equal
    return nw.dependencies.is_polars_dataframe(X) and bool(X.columns == names.tolist())


@lru_cache(maxsize=16)
def _pandas_index(names: tuple[Any, ...]) -> Any:
    """Names as a pandas Index; two of them compare ten times as fast as one converts to a list."""
    return nw.dependencies.get_pandas().Index(names)


def n_rows_of(X: Any) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, indices: NDArray[np.intp]) -> Any:
    """Rows at the given indices, in the same kind of container and, for arrays, the same memory order."""
    if nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_pandas_series(X):
        return X.iloc[indices]
    if isinstance(X, SomeColumns):
        return X.take(indices)
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[indices].to_native()
    if isinstance(X, list | tuple):
        return [X[i] for i in indices]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous:
        return np.take(X.T, indices, axis=1).T
    return X[indices]


def to_array(X: Any, conversion: Conversion = PLAIN) -> Any:
    """Convert rows to an array or a CSR matrix; native dtypes are kept."""
    if sparse.issparse(X):
        return _canonical(X)
    if is_frame(X):
        X = _eager(X, conversion).to_numpy()
    elif isinstance(X, np.ndarray) and X.dtype.kind in "biu" and X.dtype not in NATIVE:
        X = X.astype(conversion.integers)
    if isinstance(X, np.ndarray):
        _refuse_times(X)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in NATIVE:
        return np.asarray(X)
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0)


def pieces(X: Any, conversion: Conversion = PLAIN) -> Iterator[Piece]:
    """Rows of an array, a CSR matrix, a frame or nested lists, piece by piece."""
    if sparse.issparse(X):
        csr = _canonical(X)
        yield Piece(0, csr.shape[0], _csr_rows(csr), _model_dtype(X.dtype))
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in NATIVE and X.flags.aligned:
        X = X.view(np.ndarray)
        yield Piece(0, len(X), _core.Rows.dense(X), X.dtype)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        yield from _converted(X, conversion)
    elif isinstance(X, SomeColumns):
        yield Piece(0, len(X), _core.Rows.columns(len(X), X.columns), X.dtype)
    elif is_frame(X):
        yield from _frame_pieces(X, conversion)
    else:
        values = to_array(X, conversion)
        yield Piece(0, len(values), _core.Rows.dense(np.ascontiguousarray(values)), values.dtype)


def _frame_pieces(X: Any, conversion: Conversion) -> Iterator[Piece]:
    """Pieces of a frame: without a copy if it is one block or has columns that the engine can read, else converted."""
    block = whole_block(X)
    if block is not None:
        yield from pieces(block)
        return
    # Converting few rows is faster than reading columns one by one, except in pandas (4 microseconds per column).
    if min(X.shape) > 0 and (nw.dependencies.is_pandas_dataframe(X) or len(X) > _piece_rows(X)):
        columns = held_columns(X)
        if columns is not None:
            dtype = np.result_type(*{c.dtype for c in columns})
            yield Piece(0, len(X), _core.Rows.columns(len(X), columns), dtype)
            return
    yield from _converted(_eager(X, conversion), PLAIN)


def reads_columns_faster(X: Any, n_columns: int) -> bool:
    """Whether reading some of a frame's columns one by one is faster than converting the whole frame."""
    few = 4 * n_columns <= X.shape[1]
    return few or nw.dependencies.is_pandas_dataframe(X) or len(X) > _piece_rows(X)


def _eager(X: Any, conversion: Conversion = PLAIN) -> Any:
    """The frame as a narwhals frame; duplicate names in pandas are replaced, since only the values are read.

    Raises
    ------
    ValueError
        If it has a column of categories, and the conversion refuses these.
    """
    if nw.dependencies.is_pandas_dataframe(X) and not X.columns.is_unique:
        X = X.set_axis(range(X.shape[1]), axis=1)
    frame = nw.from_native(X, eager_only=True)
    _refuse_columns_of_times(X, frame)
    if not conversion.categories:
        for name, dtype in frame.schema.items():
            if isinstance(dtype, nw.Categorical | nw.Enum):
                raise ValueError(
                    f"Column {name!r} of X has the dtype {dtype}, and the wrapped model was not trained on categories "
                    "with names. Give the numbers on which it was trained."
                )
    return frame


def _may_have_categories(X: Any) -> bool:
    """Whether a frame may have columns of categories; faster than its schema in narwhals."""
    is_pandas = nw.dependencies.is_pandas_dataframe(X)
    if is_pandas and {kind.__name__ for kind in set(map(type, _pandas_blocks(X)))} == {"NumpyBlock"}:
        return False
    if is_pandas or nw.dependencies.is_polars_dataframe(X):
        short_names = None if is_pandas else getattr(getattr(X, "_df", None), "dtype_strings", None)
        if short_names is not None and POLARS_NUMBERS.issuperset(short_names()):  # faster than dtypes
            return False
        dtypes = X.dtypes.to_numpy() if is_pandas else X.dtypes
        names = {kind.__name__ for kind in set(map(type, dtypes))}  # thousands of columns have few types
        return any(name in ("Enum", "ArrowDtype") or name.startswith("Categorical") for name in names)
    return True


def _converted(X: Any, conversion: Conversion) -> Iterator[Piece]:
    """Pieces of an array or a narwhals frame, converted one at a time."""
    step = _piece_rows(X)
    for start in range(0, max(1, len(X)), step):
        part = X[start : start + step]
        given = part if isinstance(part, np.ndarray) else part.to_numpy()
        values = np.require(to_array(given, conversion), requirements=["C", "A"])
        yield Piece(start, start + len(values), _core.Rows.dense(values), _model_dtype(given.dtype))


def _piece_rows(X: Any) -> int:
    return max(1, PIECE_BYTES // (8 * max(1, int(X.shape[1]))))


def _model_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that the wrapped model receives: integers, booleans and float32 unchanged, all others as float64."""
    return dtype if dtype.kind in "biu" or dtype.type is np.float32 else np.dtype(np.float64)


def whole_block(X: Any) -> NDArray[Any] | None:
    """View of a pandas frame that is one block of memory; None for any other."""
    if not nw.dependencies.is_pandas_dataframe(X) or X.shape[1] < 2 or X.shape[0] == 0:
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


def column_reader(frame: Any) -> Callable[[int], NDArray[Any]]:
    """Return a function that reads a column of a frame as an array, by its number.

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
    column = column_reader(frame)
    if nw.dependencies.is_polars_dataframe(frame) and hasattr(getattr(frame, "_df", None), "get_columns"):
        series = frame._df.get_columns()
        return (series[c].to_numpy(writable=False, allow_copy=True) for c in numbers)
    if not nw.dependencies.is_pandas_dataframe(frame) or not _pandas_blocks(frame):
        return map(column, numbers)
    blocks = [block.values for block in frame._mgr.blocks]  # arrays whose rows are columns, or extension arrays
    block_of, row_of = frame._mgr.blknos.tolist(), frame._mgr.blklocs.tolist()
    held = ((c, blocks[block_of[c]]) for c in numbers)
    return (block[row_of[c]] if type(block) is np.ndarray else column(c) for c, block in held)


def _pandas_blocks(frame: Any) -> Sequence[Any]:
    """The blocks in which a pandas frame holds its columns; none if this pandas does not say where they are."""
    manager: Any = getattr(frame, "_mgr", None)
    return manager.blocks if all(hasattr(manager, name) for name in ("blocks", "blknos", "blklocs")) else ()


def held_columns(frame: Any) -> list[NDArray[Any]] | None:
    """All columns as arrays without a copy; None if the engine cannot read some column in place."""
    if nw.dependencies.is_polars_dataframe(frame):
        series = frame.get_columns()

        def held(c: int) -> Any:
            return series[c].to_numpy(allow_copy=False)

    elif hasattr(frame, "_get_column_array"):  # see column_reader
        held = frame._get_column_array
    else:
        return None
    columns = []
    for c in range(frame.shape[1]):
        try:
            values = held(c)
        except RuntimeError:  # polars: several chunks, or nulls
            return None
        if not isinstance(values, np.ndarray) or values.dtype not in NATIVE or not values.flags.aligned:
            return None
        columns.append(values)
    return columns


def _owner(array: NDArray[Any]) -> Any:
    """The array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Columns:
    """The columns of a frame, read one by one and cached."""

    def __init__(self, X: Any, conversion: Conversion = PLAIN) -> None:
        if not conversion.categories and _may_have_categories(X):
            _eager(X, conversion)
        self.n_rows, n_columns = X.shape
        self._frame = X
        self._columns: list[NDArray[Any] | None] = [None] * n_columns
        self.dtypes: set[np.dtype[Any]] = set()

    def rows(self, needed: Sequence[int]) -> _core.Rows:
        """Rows in the engine's form with the columns ``needed``, and those read before."""
        columns, is_native = self._columns, False
        last: np.dtype[Any] | None = None
        unread = [c for c in needed if c < len(columns) and columns[c] is None]  # the engine refuses too few columns
        for c, values in zip(unread, columns_of(self._frame, unread), strict=True):
            if values.dtype is not last:  # looked up once: there may be thousands of columns
                last, is_native = values.dtype, values.dtype in NATIVE
                self.dtypes.add(_model_dtype(last))
            columns[c] = values if is_native and values.flags.aligned else _as_float64(values)
        return _core.Rows.columns(self.n_rows, columns)


def _as_float64(column: NDArray[Any]) -> NDArray[np.float64]:
    _refuse_times(column)
    given = check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    converted: NDArray[np.float64] = np.require(given, requirements="A")
    return converted


def _refuse_times(values: NDArray[Any]) -> None:
    """Refuse an array of dates or durations, which scikit-learn's check would turn into numbers."""
    if values.dtype.kind in "mM":
        raise TypeError(f"X must hold numbers. Got values of dtype {values.dtype}: convert them.")


def _refuse_columns_of_times(X: Any, frame: Any) -> None:
    """Refuse a frame with such columns; it is given as it is and as narwhals has it, whose schema takes longer."""
    if nw.dependencies.is_pandas_dataframe(X):
        times = [dtype for dtype in set(X.dtypes) if dtype.kind in "mM"]
    else:
        dtypes = X.dtypes if nw.dependencies.is_polars_dataframe(X) else frame.schema.values()
        kinds = {dtype if isinstance(dtype, type) else type(dtype) for dtype in dtypes}
        times = [kind.__name__ for kind in kinds if kind.is_temporal()]  # type: ignore[attr-defined]  # a dtype's class
    if times:
        raise TypeError(f"X must hold numbers. Got a column of dtype {times[0]}: convert it.")


def _canonical(X: Any) -> Any:
    csr = X.tocsr()
    if csr.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        if csr.dtype.kind not in "biuf":
            check_array(csr, accept_sparse="csr")  # raises for complex and object values
        csr = csr.astype(np.float64)
    check_indices(csr)
    if not csr.has_canonical_format:
        csr.check_format()  # sum_duplicates does not check indices
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_indices(csr: Any) -> None:
    """Refuse column indices that would change when they are converted to int32."""
    indices, n_columns = csr.indices, csr.shape[1]
    if n_columns > np.iinfo(np.int32).max:
        raise ValueError(f"At most {np.iinfo(np.int32).max} features are possible. Got {n_columns}.")
    if indices.dtype.itemsize > 4 and len(indices) and not (indices.min() >= 0 and indices.max() < n_columns):
        raise ValueError(f"CSR indices must lie in [0, {n_columns}), the number of features.")


def _csr_rows(csr: Any) -> _core.Rows:
    return _core.Rows.csr(
        np.require(csr.data, requirements=["C", "A"]),
        np.require(csr.indices, np.int32, ["C", "A"]),
        np.require(csr.indptr, np.int64, ["C", "A"]),
        csr.shape[1],
    )
