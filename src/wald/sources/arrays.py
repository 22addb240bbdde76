"""Arrays, sparse matrices, and anything else with rows."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from .. import _core
from .building import frame_of
from .cells import Cells, objects_of
from .cells_of import cells_of_array
from .source import PLAIN, Block, Conversion, Source, model_dtype, piece_rows
from .values import NATIVE, as_numbers, becomes_float64, plain_numbers


class ArraySource(Source):
    """A 2-D array.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_columns)
    names : sequence of str or None, default=None
        Names that the wrapped model knows the columns by; it is then given a data frame, which nothing else needs.
    library : str or None, default=None
        Library of that frame.
    """

    def __init__(
        self, values: NDArray[Any], names: Sequence[Hashable] | None = None, library: str | None = None
    ) -> None:
        self.values, self.names, self.library = values, names, library
        self.n_rows, self.n_columns = values.shape

    @property
    def rows(self) -> Any:
        """The array; a frame if the columns have names, and a library of frames is there."""
        if self.names is None or self.library is None:
            return self.values
        return frame_of(dict(zip(self.names, self.values.T, strict=True)), self.library)

    def held(self) -> NDArray[Any]:
        """The array itself."""
        return self.values

    @property
    def is_columnar(self) -> bool:  # type: ignore[override]  # only read
        """Whether the array is stored by columns."""
        return bool(self.values.flags.f_contiguous and not self.values.flags.c_contiguous)

    @property
    def is_half(self) -> bool:  # type: ignore[override]  # only read
        """Whether the array is float16."""
        return self.values.dtype == np.float16

    def take(self, rows: NDArray[np.intp] | slice) -> ArraySource:
        """Give the rows at these places, in the same memory order."""
        if isinstance(rows, slice) or not self.is_columnar:
            return type(self)(self.values[rows], self.names, self.library)
        return type(self)(np.take(self.values.T, rows, axis=1).T, self.names, self.library)

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """The array, converted unless its dtype is native."""
        values = self.values
        if values.dtype.kind in "UST":  # scikit-learn's models take them or not, by how they check rows
            raise ValueError(
                f"X is an array of texts (dtype {values.dtype}), and the model needs numbers: convert it, as in "
                "X.astype(float)."
            )
        if values.dtype.kind in "biuf" and values.dtype not in NATIVE:
            values = values.astype(conversion.integers)
        return as_numbers(values)

    def plain(self, single: bool, coded: Collection[int] = ()) -> Any:
        """The rows with float64 in place of other floats and, where no categories are, of objects."""
        if coded and self.values.dtype == object:
            numbers = [c for c in range(self.values.shape[1]) if c not in coded]
            values = self.values.copy()
            values[:, numbers] = plain_numbers(values[:, numbers], single)
        else:
            values = plain_numbers(self.values, single)
        return self.rows if values is self.values else ArraySource(values, self.names, self.library).rows

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """The array itself, or pieces that are converted."""
        values = self.values
        if values.dtype in NATIVE and values.flags.aligned:
            yield Block(_core.Rows.dense(values.view(np.ndarray)), 0, values.dtype)
            return
        for start in range(0, max(1, self.n_rows), step := piece_rows(self.n_columns)):
            part = np.require(type(self)(values[start : start + step]).array(conversion), requirements=["C", "A"])
            yield Block(_core.Rows.dense(part), start, model_dtype(values.dtype))

    def cells(self, column: int) -> Cells:
        """A column of the array, in place."""
        return cells_of_array(np.asarray(self.values)[:, column])

    def objects(self) -> NDArray[Any]:
        """All values before any conversion."""
        return self.values.astype(object)


class ListedObjects(ArraySource):
    """Rows that are lists with texts, None or other objects among their cells, which encoders read as they are."""

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """The rows as numbers; raises ValueError for a text, which some of these rows need not have."""
        self._refuse_texts()
        return super().array(conversion)

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """Pieces that are converted; raises ValueError for a text, with its place among all rows."""
        self._refuse_texts()
        return super().blocks(conversion, needed)

    def _refuse_texts(self) -> None:
        for place, value in enumerate(self.values.flat):
            if isinstance(value, str | bytes):
                row, column = divmod(place, self.values.shape[1])
                raise ValueError(
                    f"X must hold numbers. Got the text {value!r} in row {row}, column {column}: the model reads no "
                    "texts."
                )


class SparseSource(Source):
    """A sparse matrix.

    Parameters
    ----------
    rows : sparse matrix or array of shape (n_rows, n_columns)
    """

    rows: Any = None
    is_sparse = becomes_sparse = True

    def __init__(self, rows: Any) -> None:
        self.rows = rows.tocsr()
        self.n_rows, self.n_columns = self.rows.shape

    def take(self, rows: NDArray[np.intp] | slice) -> SparseSource:
        """Give the rows at these places."""
        return SparseSource(self.rows[rows])

    def array(self, conversion: Conversion = PLAIN) -> Any:
        """The CSR matrix with sorted indices, without duplicates."""
        csr = self.rows
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

    def stores_nan(self) -> bool:
        """Whether one of the stored values is NaN."""
        return self.rows.dtype.kind == "f" and bool(np.isnan(self.rows.data).any())

    def plain(self, single: bool, coded: Collection[int] = ()) -> Any:
        """The matrix with float64 in place of other floats."""
        return self.rows.astype(np.float64) if becomes_float64(self.rows.dtype) and not single else self.rows

    def blocks(self, conversion: Conversion = PLAIN, needed: Sequence[int] | None = None) -> Iterator[Block]:
        """The matrix as one block."""
        csr = self.array(conversion)
        rows = _core.Rows.csr(
            np.require(csr.data, requirements=["C", "A"]),
            np.require(csr.indices, np.int32, ["C", "A"]),
            np.require(csr.indptr, np.int64, ["C", "A"]),
            csr.shape[1],
        )
        return iter([Block(rows, 0, model_dtype(self.rows.dtype))])

    def cells(self, column: int) -> Cells:
        """A column with its zeros."""
        return cells_of_array(self.rows[:, [column]].toarray().ravel())

    def objects(self) -> NDArray[Any]:
        """All values, zeros included."""
        return np.asarray(self.rows.toarray(), dtype=object)


class RawSource(Source):
    """Rows that nothing is known of: texts or dicts for the first step of a pipeline, labels, or foreign tables.

    Parameters
    ----------
    rows : list, array, Series or anything else with rows
    """

    rows: Any = None

    def __init__(self, rows: Any) -> None:
        shape = getattr(rows, "shape", None)
        self.rows = rows
        self.n_rows = len(rows) if shape is None else int(shape[0])
        self.n_columns = int(shape[1]) if shape is not None and len(shape) == 2 else None

    def take(self, rows: NDArray[np.intp] | slice) -> RawSource:
        """Give the rows at these places, in the same kind of container."""
        if nw.dependencies.is_pandas_series(self.rows):
            return RawSource(self.rows.iloc[rows])
        if isinstance(self.rows, list | tuple) and not isinstance(rows, slice):
            return RawSource([self.rows[i] for i in rows])
        return RawSource(self.rows[rows])

    def array(self, conversion: Conversion = PLAIN) -> NDArray[Any]:
        """The rows as a table, if they are one."""
        return as_numbers(self.rows)

    def objects(self) -> NDArray[Any]:
        """The rows, or their values if they are lists of these."""
        return np.asarray(self.rows, dtype=object)


class ArrowTexts(RawSource):
    """Texts in an Arrow array, of which no more rows become Python's objects than are asked for.

    Parameters
    ----------
    held : pyarrow.Array or ChunkedArray
    """

    def __init__(self, held: Any) -> None:
        self._held, self.n_rows, self.n_columns = held, len(held), None

    @property
    def rows(self) -> NDArray[Any]:
        """The texts as an array of objects, which vectorizers can read."""
        return objects_of(self._held.to_pylist())

    def take(self, rows: NDArray[np.intp] | slice) -> ArrowTexts:
        """Give the rows at these places."""
        return ArrowTexts(self._held[rows] if isinstance(rows, slice) else self._held.take(rows))


def check_indices(csr: Any) -> None:
    """Refuse column indices that would change when they are converted to int32."""
    indices, n_columns = csr.indices, csr.shape[1]
    if n_columns > np.iinfo(np.int32).max:
        raise ValueError(f"At most {np.iinfo(np.int32).max} features are possible. Got {n_columns}.")
    if indices.dtype.itemsize > 4 and len(indices) and not (indices.min() >= 0 and indices.max() < n_columns):
        raise ValueError(f"CSR indices must lie in [0, {n_columns}), the number of features.")
