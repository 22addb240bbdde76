"""Rows as users have them, in the form that the engine reads: in place, or in bounded pieces where it cannot."""

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

NATIVE = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.uint8))
#: Rows that must be converted are converted this many bytes at a time.
PIECE_BYTES = 4 << 20
#: Rows that a transformer must see first are transformed this many at a time.
PREPROCESSED_ROWS = 16384


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows ``start`` to ``stop`` in the engine's form, and the dtype in which the wrapped model would meet them."""

    start: int
    stop: int
    rows: _core.Rows
    dtype: np.dtype[Any]


def is_frame(X: Any) -> bool:
    """Whether X is a data frame of pandas, polars, Arrow or another library that narwhals knows."""
    if isinstance(X, np.ndarray):
        return False
    return nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_into_dataframe(X)  # the first takes no time


def is_columnar(X: Any) -> bool:
    """Whether a column lies together in memory, so that it can be read without its neighbours."""
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous
    return is_frame(X)


def has_names(X: Any, names: NDArray[Any]) -> bool:
    """Whether X is a frame with exactly these column names; a quick check before scikit-learn's thorough one."""
    if nw.dependencies.is_pandas_dataframe(X):
        same = X.columns.equals(_pandas_index(tuple(names.tolist())))
        return bool(same) or bool(X.columns.tolist() == names.tolist())  # indices of other types are never equal
    return nw.dependencies.is_polars_dataframe(X) and bool(X.columns == names.tolist())


@lru_cache(maxsize=16)
def _pandas_index(names: tuple[Any, ...]) -> Any:
    """Names as pandas keeps them: to compare two indices takes microseconds, to list one ten times as long."""
    return nw.dependencies.get_pandas().Index(names)


def n_rows_of(X: Any) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, indices: NDArray[np.intp]) -> Any:
    """Some rows, in the container that they came in; of arrays in Fortran's order, in that."""
    if nw.dependencies.is_pandas_dataframe(X) or nw.dependencies.is_pandas_series(X):
        return X.iloc[indices]
    if is_frame(X):
        return nw.from_native(X, eager_only=True)[indices].to_native()
    if isinstance(X, list | tuple):
        return [X[i] for i in indices]
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.flags.f_contiguous and not X.flags.c_contiguous:
        return np.take(X.T, indices, axis=1).T
    return X[indices]


def to_array(X: Any) -> Any:
    """Turn rows into an array that can be indexed: CSR stays CSR, native dtypes stay as they are."""
    if sparse.issparse(X):
        return _canonical(X)
    if is_frame(X):
        X = _eager(X).to_numpy()
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in NATIVE:
        return np.asarray(X)
    return check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0)


def pieces(X: Any) -> Iterator[Piece]:
    """Rows of an array, a CSR matrix, a frame or nested lists, piece by piece."""
    if sparse.issparse(X):
        csr = _canonical(X)
        yield Piece(0, csr.shape[0], _csr_rows(csr), _met_as(X.dtype))
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype in NATIVE and X.flags.aligned:
        X = X.view(np.ndarray)
        yield Piece(0, len(X), _core.Rows.dense(X), X.dtype)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        yield from _converted(X)
    elif is_frame(X):
        yield from _frame_pieces(X)
    else:
        values = to_array(X)
        yield Piece(0, len(values), _core.Rows.dense(np.ascontiguousarray(values)), values.dtype)


def _frame_pieces(X: Any) -> Iterator[Piece]:
    """A frame's rows in place, if they lie in one block, or in columns that the engine can read; else converted."""
    block = whole_block(X)
    if block is not None:
        yield from pieces(block)
        return
    # Few rows are converted sooner than columns are pulled; not in pandas, which takes 4 microseconds a column.
    if min(X.shape) > 0 and (nw.dependencies.is_pandas_dataframe(X) or len(X) > _piece_rows(X)):
        columns = held_columns(X)
        if columns is not None:
            dtype = np.result_type(*{c.dtype for c in columns})
            yield Piece(0, len(X), _core.Rows.columns(len(X), columns), dtype)
            return
    yield from _converted(_eager(X))


def _eager(X: Any) -> Any:
    """A frame as narwhals sees it; one of pandas may have a name twice, which does not matter for its values."""
    if nw.dependencies.is_pandas_dataframe(X) and not X.columns.is_unique:
        X = X.set_axis(range(X.shape[1]), axis=1)
    return nw.from_native(X, eager_only=True)


def _converted(X: Any) -> Iterator[Piece]:
    """Rows of an array or a narwhals frame, some of them at a time converted to what the engine reads."""
    step = _piece_rows(X)
    for start in range(0, max(1, len(X)), step):
        some = X[start : start + step]
        given = some if isinstance(some, np.ndarray) else some.to_numpy()
        values = np.require(to_array(given), requirements=["C", "A"])
        yield Piece(start, start + len(values), _core.Rows.dense(values), _met_as(given.dtype))


def _piece_rows(X: Any) -> int:
    return max(1, PIECE_BYTES // (8 * max(1, int(X.shape[1]))))


def _met_as(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which a model meets rows: its own for whole numbers, which a model of float32 takes as float32."""
    return dtype if dtype.kind in "biu" or dtype.type is np.float32 else np.dtype(np.float64)


def whole_block(X: Any) -> NDArray[Any] | None:
    """A pandas frame that is one block of memory, as an array that shares it; None for any other.

    Its rows lie together, which columns pulled one by one would not show.
    """
    if not nw.dependencies.is_pandas_dataframe(X) or X.shape[1] < 2 or X.shape[0] == 0:
        return None
    column = column_of(X)
    ends = [column(c) for c in (0, 1, X.shape[1] - 1)]
    if any(end.dtype not in NATIVE or end.dtype != ends[0].dtype for end in ends):
        return None
    # Columns apart may lie at equal distances by chance, and X.to_numpy() would then copy all of them.
    if any(_owner(end) is not _owner(ends[0]) for end in ends):
        return None
    block = X.to_numpy()
    shared = isinstance(block, np.ndarray) and np.shares_memory(block[:1, :1], ends[0][:1])
    return block if shared and block.dtype == ends[0].dtype else None


def column_of(frame: Any) -> Callable[[int], NDArray[Any]]:
    """How to pull a column of a frame as an array, by its number.

    A frame has hundreds of columns and a few milliseconds for all of them, so each library's quickest way is taken.
    pandas builds a Series for every column that is taken from it, 10 microseconds each; its
    internal method, where it still exists, takes one.
    """
    if nw.dependencies.is_polars_dataframe(frame):
        return lambda c: np.asarray(frame.to_series(c).to_numpy())
    if nw.dependencies.is_pandas_dataframe(frame):
        quick = getattr(frame, "_get_column_array", None)
        if quick is not None:
            return lambda c: np.asarray(quick(c))
        return lambda c: np.asarray(frame.iloc[:, c].to_numpy())
    eager = nw.from_native(frame, eager_only=True)
    names = eager.columns
    return lambda c: np.asarray(eager.get_column(names[c]).to_numpy())


def held_columns(frame: Any) -> list[NDArray[Any]] | None:
    """All columns as arrays, if the frame itself holds each as the engine reads it: nothing is copied."""
    if nw.dependencies.is_polars_dataframe(frame):

        def held(c: int) -> Any:
            return frame.to_series(c).to_numpy(allow_copy=False)

    elif hasattr(frame, "_get_column_array"):  # see column_of
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
    """The array whose memory a view shows."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Columns:
    """The columns of a frame, pulled one by one and kept."""

    def __init__(self, X: Any) -> None:
        self.n_rows, n_columns = X.shape
        self._column = column_of(X)
        self._columns: list[NDArray[Any] | None] = [None] * n_columns
        self.dtypes: set[np.dtype[Any]] = set()

    def rows(self, needed: Sequence[int]) -> _core.Rows:
        """The engine's view, in which the columns ``needed``, and those pulled before, are there."""
        for c in needed:
            if c < len(self._columns) and self._columns[c] is None:  # a frame too narrow is the engine's to refuse
                self._columns[c] = self._pull(c)
        return _core.Rows.columns(self.n_rows, self._columns)

    def _pull(self, c: int) -> NDArray[Any]:
        values = self._column(c)
        self.dtypes.add(_met_as(values.dtype))
        if values.dtype not in NATIVE or not values.flags.aligned:
            values = np.require(
                check_array(values, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0),
                requirements="A",
            )
        return values


def _canonical(X: Any) -> Any:
    csr = X.tocsr()
    if csr.dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
        if csr.dtype.kind not in "biuf":
            check_array(csr, accept_sparse="csr")  # says what is wrong with complex or object values
        csr = csr.astype(np.float64)
    check_indices(csr)
    if not csr.has_canonical_format:
        csr.check_format()  # scipy's sums trust every index
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_indices(csr: Any) -> None:
    """Refuse column numbers that would turn into others when they are cut to int32."""
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
