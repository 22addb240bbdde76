"""Conversion of rows to the engine's form: in place where possible, otherwise in pieces of bounded size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from .. import _core
from .frames import NATIVE, column_reader, held_columns, is_frame, numbers_of, whole_block
from .some_columns import SomeColumns

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
        Dtype to which arrays are converted that hold integers, booleans, or floating point numbers of another size or
        byte order than the engine reads; data frames are converted to float64.
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


def is_columnar(X: Any) -> bool:
    """Whether X is stored by columns, so that single columns can be read."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous
    return is_frame(X)


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
    elif isinstance(X, np.ndarray) and X.dtype.kind in "biuf" and X.dtype not in NATIVE:
        X = X.astype(conversion.integers)
    if isinstance(X, np.ndarray):
        _refuse_times(X)
        X = numbers_of(X) if X.dtype.kind == "O" else X
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in NATIVE:
        return np.asarray(X)
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0)


def pieces(X: Any, conversion: Conversion = PLAIN) -> Iterator[Piece]:
    """Rows of an array, a CSR matrix, a frame or nested lists, piece by piece; a piece is given back."""
    if isinstance(X, Piece):
        yield X
    elif sparse.issparse(X):
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
    if min(X.shape) > 0:
        rows = _core.Rows.columns(len(X), [None] * X.shape[1])
        held = held_columns(X, range(X.shape[1]))
        dtypes, others = rows.add(range(X.shape[1]), held.arrays, held.lines)
        if not others:
            yield Piece(0, len(X), rows, np.result_type(*dtypes))
            return
    yield from _converted(_eager(X, conversion), PLAIN)


def reads_columns_faster(X: Any, n_columns: int) -> bool:
    """Whether reading some of a frame's columns one by one is faster than converting the whole frame."""
    if nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_polars_dataframe(X):
        return True
    return 4 * n_columns <= X.shape[1] or len(X) > _piece_rows(X)


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


class Columns:
    """The columns of a frame, each of which is read when it is needed first."""

    def __init__(self, X: Any, conversion: Conversion = PLAIN) -> None:
        n_rows, self._n_columns = X.shape
        self._frame, self._conversion = X, conversion
        self._rows = _core.Rows.columns(n_rows, [None] * self._n_columns)
        self._read: list[Sequence[int]] = []
        self.dtypes: set[np.dtype[Any]] = set()

    def rows(self, needed: Sequence[int]) -> _core.Rows:
        """Rows in the engine's form with the columns ``needed``, and those read before."""
        if max(needed, default=0) >= self._n_columns:
            return self._rows  # the engine refuses too few columns
        read = frozenset().union(*self._read)
        unread = [c for c in needed if c not in read] if read else needed
        self._read.append(unread)
        held = held_columns(self._frame, unread)
        dtypes, others = self._rows.add(unread, held.arrays, held.lines)
        self.dtypes.update(map(np.dtype, dtypes))
        if others:
            self._convert({unread[i]: held.array(i) for i in others})
        return self._rows

    def _convert(self, columns: dict[int, NDArray[Any] | None]) -> None:
        """Read columns with a copy, by their numbers; None for those that the frame does not hold as arrays."""
        apart = [c for c, values in columns.items() if values is None]
        if apart and not self._conversion.categories:
            _eager(_without_rows(self._frame, apart), self._conversion)  # raises if there are categories
        column, read = column_reader(self._frame), []
        for c, held in columns.items():
            values = column(c) if held is None else held
            self.dtypes.add(_model_dtype(values.dtype))
            in_place = values.dtype in NATIVE and values.flags.aligned
            read.append(values if in_place else _as_float64(values))
        self._rows.add(list(columns), read)


def by_columns(X: Any, read: Sequence[int] | None, conversion: Conversion) -> Any:
    """Read some columns of a frame, or all of them, one by one, where this is faster than converting the frame.

    Parameters
    ----------
    X : rows
    read : sequence of int or None
        Numbers of the columns that are needed; None for all.
    conversion : Conversion

    Returns
    -------
    Piece or rows
        A piece in which other columns are 0; ``X`` itself if it is no such frame.
    """
    if not is_frame(X) or min(X.shape) == 0:
        return X
    n_rows, n_columns = X.shape
    needed = range(n_columns) if read is None else read
    if max(needed, default=0) >= n_columns or whole_block(X) is not None or not reads_columns_faster(X, len(needed)):
        return X
    columns = Columns(X, conversion)
    rows = columns.rows(needed)
    others = sorted(set(range(n_columns)).difference(needed))
    rows.add(others, [np.zeros(n_rows)] * len(others))
    dtypes = columns.dtypes or {np.dtype(np.float64)}
    return Piece(0, n_rows, rows, np.result_type(*dtypes))


def _without_rows(frame: Any, numbers: Sequence[int]) -> Any:
    """Some columns of a frame, by their numbers, without their rows."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return frame.iloc[:0, numbers]
    return nw.from_native(frame, eager_only=True)[:0, numbers].to_native()


def _as_float64(column: NDArray[Any]) -> NDArray[np.float64]:
    if column.dtype.kind in "biuf":
        return column.astype(np.float64)  # a copy is aligned
    _refuse_times(column)
    column = numbers_of(column) if column.dtype.kind == "O" else column
    given = check_array(column, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    converted: NDArray[np.float64] = np.require(given, requirements="A")
    return converted


def _refuse_times(values: NDArray[Any]) -> None:
    """Refuse an array of dates or durations, which scikit-learn's check would turn into numbers."""
    if values.dtype.kind in "mM":
        raise ValueError(f"X must hold numbers. Got values of dtype {values.dtype}: convert them.")


def _refuse_columns_of_times(X: Any, frame: Any) -> None:
    """Refuse a frame with such columns; it is given as it is and as narwhals has it, whose schema takes longer."""
    if nw.dependencies.is_pandas_dataframe(X):
        times = [dtype for dtype in set(X.dtypes) if dtype.kind in "mM"]
    else:
        dtypes = X.dtypes if nw.dependencies.is_polars_dataframe(X) else frame.schema.values()
        kinds = {dtype if isinstance(dtype, type) else type(dtype) for dtype in dtypes}
        times = [kind.__name__ for kind in kinds if kind.is_temporal()]  # type: ignore[attr-defined]  # a dtype's class
    if times:
        raise ValueError(f"X must hold numbers. Got a column of dtype {times[0]}: convert it.")


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
