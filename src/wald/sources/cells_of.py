"""Columns of NumPy, pandas, polars and Arrow as `Cells`, by the public ways of these libraries.

pyarrow says where polars and pandas hold texts. Without it these become arrays of objects.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .cells import (
    ALL,
    NAN,
    Cells,
    CodeChunk,
    Coded,
    NumberChunk,
    Numbers,
    Objects,
    TextChunk,
    Texts,
    Valid,
    ViewChunk,
    WideTexts,
    objects_of,
)
from .held import held_array


def _pyarrow() -> Any:
    """The module pyarrow, imported if it is installed; else None."""
    try:
        import pyarrow
    except ImportError:
        return None
    return pyarrow


# ---- NumPy -----------------------------------------------------------------------------------------------------------


def cells_of_array(values: NDArray[Any], kind: Hashable | None = None, null: Any = NAN, valid: Valid = ALL) -> Cells:
    """The cells of an array of one dimension.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
    kind : hashable or None, default=None
        None: NumPy's.
    null : None, nan or pandas.NA, default=nan
    valid : Valid, default=ALL
        Which numbers are there.
    """
    dtype = values.dtype
    if kind is None:
        kind = ("numpy", "str" if dtype.kind == "U" else dtype.name)
    if dtype.kind == "U" and dtype.isnative and dtype.itemsize > 0:
        return WideTexts(kind, values)
    if dtype.kind in "mM":  # NumPy makes numbers of them
        return Objects(kind, objects_of(list(values)))
    if dtype.kind == "f" and dtype.itemsize == 2:
        values = values.astype(np.float32)
    elif dtype.kind not in "biuf" or dtype.itemsize > 8:
        return Objects(kind, values.astype(object, copy=False))
    if not dtype.isnative or not values.flags.aligned:
        values = values.astype(values.dtype.newbyteorder("="))
    return Numbers(kind, null, [NumberChunk(values, valid)])


# ---- Arrow -----------------------------------------------------------------------------------------------------------


def cells_of_arrow(column: Any, kind: Hashable, null: Any = None) -> Cells:
    """The cells of an Array or ChunkedArray of pyarrow.

    Parameters
    ----------
    column : pyarrow.Array or pyarrow.ChunkedArray
    kind : hashable
    null : None, nan or pandas.NA, default=None
    """
    return _cells_of_chunks(getattr(column, "chunks", [column]), column.type, kind, null)


def _cells_of_chunks(chunks: Sequence[Any], dtype: Any, kind: Hashable, null: Any) -> Cells:
    """The cells of Arrow's arrays, all of one type."""
    types = _pyarrow().types
    if types.is_string(dtype) or types.is_large_string(dtype):
        width = 4 if types.is_string(dtype) else 8
        return Texts(kind, null, [_texts(chunk, width) for chunk in chunks])
    if getattr(types, "is_string_view", lambda _: False)(dtype):
        return Texts(kind, null, [_views(chunk) for chunk in chunks])
    if types.is_dictionary(dtype):
        return Coded(kind, null, [_codes(chunk, kind, null) for chunk in chunks])
    if types.is_boolean(dtype) or types.is_integer(dtype) or types.is_floating(dtype):
        return Numbers(kind, null, [NumberChunk(_numbers(chunk), _valid(chunk)) for chunk in chunks])
    if types.is_null(dtype):
        n_rows = sum(map(len, chunks))
        return Numbers(kind, null, [NumberChunk(np.zeros(n_rows, np.uint8), Valid(bytes((n_rows + 7) // 8)))])
    values = [null if value is None else value for chunk in chunks for value in chunk.to_pylist()]
    return Objects(kind, objects_of(values))


def _valid(chunk: Any) -> Valid:
    return ALL if chunk.null_count == 0 else Valid(chunk.buffers()[0], chunk.offset)


def _texts(chunk: Any, width: int) -> TextChunk:
    _, offsets, data = chunk.buffers()
    return TextChunk(len(chunk), chunk.offset, width, offsets, data, _valid(chunk))


def _views(chunk: Any) -> ViewChunk:
    _, views, *data = chunk.buffers()
    return ViewChunk(len(chunk), chunk.offset, views, tuple(data), _valid(chunk))


def _codes(chunk: Any, kind: Hashable, null: Any) -> CodeChunk:
    dictionary = cells_of_arrow(chunk.dictionary, kind, null)
    return CodeChunk(_numbers(chunk.indices), dictionary, valid=_valid(chunk.indices))


def _numbers(chunk: Any) -> NDArray[Any]:
    """The numbers of Arrow's array, whatever the memory holds where one is missing."""
    buffer, stop = chunk.buffers()[1], chunk.offset + len(chunk)
    if buffer is None:
        return np.zeros(len(chunk), np.uint8)
    if chunk.type == _pyarrow().bool_():
        bits = np.frombuffer(buffer, np.uint8)[: (stop + 7) // 8]
        return np.unpackbits(bits, bitorder="little")[chunk.offset : stop].view(bool)
    values = np.frombuffer(buffer, np.dtype(chunk.type.to_pandas_dtype()), stop)[chunk.offset :]
    return values.astype(np.float32) if values.dtype == np.float16 else values


# ---- polars ----------------------------------------------------------------------------------------------------------


#: Types of polars that Arrow has, too.
POLARS = frozenset(
    (
        *("String", "Categorical", "Enum", "Boolean", "Null", "Float16", "Float32", "Float64"),
        *("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"),
    )
)


def cells_of_polars(series: Any) -> Cells:
    """The cells of a Series of polars."""
    dtype = series.dtype
    kind = ("polars", dtype.base_type().__name__)
    if _pyarrow() is None or kind[1] not in POLARS:
        return Objects(kind, objects_of(series.to_list()))
    if kind[1] == "Enum":  # far faster than as a dictionary of Arrow
        (numbers,) = _arrow_chunks(series.to_physical().rechunk())
        entries = cells_of_polars(dtype.categories)
        return Coded(kind, None, [CodeChunk(_numbers(numbers), entries, valid=_valid(numbers))])
    chunks = _arrow_chunks(series)
    return _cells_of_chunks(chunks, chunks[0].type, kind, None)


def _arrow_chunks(series: Any) -> list[Any]:
    """The chunks of a Series in Arrow's memory, texts as views: in other layouts they would be copied."""
    levels = getattr(nw.dependencies.get_polars(), "CompatLevel", None)
    options = {} if levels is None else {"compat_level": levels.newest()}
    parts = [series] if series.n_chunks() == 1 else series.get_chunks()
    return [part.to_arrow(**options) for part in parts]


# ---- pandas ----------------------------------------------------------------------------------------------------------


def cells_of_pandas(column: Any) -> Cells:
    """The cells of a Series or an Index of pandas."""
    return _cells_of_pandas_array(np.asarray(column) if isinstance(column.dtype, np.dtype) else column.array)


def _cells_of_pandas_array(array: Any) -> Cells:
    """The same of the array that holds them, NumPy's or one of pandas' own."""
    dtype = array.dtype
    kind = ("pandas", "category" if hasattr(dtype, "categories") else str(dtype))
    if isinstance(dtype, np.dtype):
        return cells_of_array(array, kind)
    if hasattr(dtype, "categories"):
        return Coded(kind, NAN, [CodeChunk(np.asarray(array.codes), cells_of_pandas(dtype.categories), lowest=-1)])
    null = dtype.na_value
    arrow = _pyarrow()
    if hasattr(dtype, "pyarrow_dtype") or (arrow is not None and getattr(dtype, "storage", None) == "pyarrow"):
        return cells_of_arrow(arrow.array(array), kind, null)
    if hasattr(dtype, "storage"):
        return Objects(kind, np.asarray(array, dtype=object))
    if dtype.kind in "biuf" and hasattr(dtype, "numpy_dtype"):
        lacks = np.asarray(array.isna())
        numbers = array.to_numpy(dtype=dtype.numpy_dtype, na_value=dtype.numpy_dtype.type(0))
        valid = Valid(np.packbits(~lacks, bitorder="little")) if lacks.any() else ALL
        return cells_of_array(np.asarray(numbers), kind, null, valid)
    return Objects(kind, objects_of(array.tolist()))


def cells_of_pandas_frame(frame: Any, column: int) -> Cells:
    """The cells of a column of a frame of pandas, by its place."""
    array = held_array(frame, column)  # ten times as fast as to make a Series of it
    return cells_of_pandas(frame.iloc[:, column]) if array is None else _cells_of_pandas_array(array)


# ---- frames ----------------------------------------------------------------------------------------------------------


def cells_of_frame(frame: Any, column: int) -> Cells:
    """The cells of a column of a data frame, by its place."""
    if nw.dependencies.is_pandas_dataframe(frame):
        return cells_of_pandas_frame(frame, column)
    if nw.dependencies.is_polars_dataframe(frame):
        return cells_of_polars(frame.to_series(column))
    if nw.dependencies.is_pyarrow_table(frame):
        values = frame.column(column)
        return cells_of_arrow(values, ("pyarrow", str(values.type)))
    eager = nw.from_native(frame, eager_only=True)
    series = eager.get_column(eager.columns[column])
    return Objects((str(eager.implementation), str(series.dtype)), objects_of(series.to_list()))
