"""Columns of given values in the container and the dtype in which a user gives them, to ask a fitted encoder about."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ..sources import ArraySource, FrameSource, Source

#: Library and dtype of a column, by which its values are told apart: what equals what hangs on both.
Kind = tuple[str, Hashable]


def kinds_of(source: Source, columns: Sequence[int]) -> tuple[Kind, ...] | None:
    """Kinds of some columns of a table; None if it is in no container whose columns can be made here."""
    if isinstance(source, ArraySource) and source.library is None:
        return (("numpy", source.values.dtype),) * len(columns)
    if not isinstance(source, FrameSource):
        return None
    if source.library == "pandas":
        dtypes = source.rows.dtypes.array
        if any(str(dtypes[c]).startswith("Sparse") for c in columns):
            return None
        return tuple(("pandas", "category" if str(dtypes[c]) == "category" else dtypes[c]) for c in columns)
    if source.library == "polars":
        dtypes = source.rows.dtypes
        if any(dtypes[c].is_nested() for c in columns):  # polars may panic where a struct is made
            return None
        return tuple(("polars", _polars_dtype(dtypes[c])) for c in columns)
    if source.library == "pyarrow":
        return tuple(("pyarrow", source.rows.schema.types[c]) for c in columns)
    return None


def _polars_dtype(dtype: Any) -> Any:
    """The dtype of a made column: an Enum would refuse what it does not list, and scikit-learn reads both alike."""
    return nw.dependencies.get_polars().Categorical if str(dtype).startswith(("Enum", "Categorical")) else dtype


def made_column(kind: Kind, values: Sequence[Any]) -> Any:
    """A column of these values; raises whatever its library raises if the dtype has no such value."""
    library, dtype = kind
    if library == "pandas":
        pandas = nw.dependencies.get_pandas()
        if dtype == "category":
            return pandas.Series(pandas.Categorical(list(values)))
        return pandas.Series(list(values), dtype=dtype)
    if library == "polars":
        polars = nw.dependencies.get_polars()
        if str(dtype).startswith(("Int", "UInt")):  # polars takes no floats there, though encoders keep whole ones
            values = [int(v) if isinstance(v, float) and v.is_integer() else v for v in values]
        return polars.Series(list(values), dtype=dtype, strict=True)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.array(list(values), dtype)
    assert isinstance(dtype, np.dtype)
    made: NDArray[Any] = np.empty(len(values), dtype=dtype)
    made[:] = list(values)
    return made


def made_table(kinds: Sequence[Kind], names: Sequence[Any] | None, columns: Sequence[Sequence[Any]]) -> Any:
    """A table of columns as `made_column` makes them."""
    series = [made_column(kind, values) for kind, values in zip(kinds, columns, strict=True)]
    library = kinds[0][0]
    if library == "numpy":
        return np.stack(series, axis=1)
    assert names is not None
    frame = dict(zip(names, series, strict=True))
    if library == "pandas":
        return nw.dependencies.get_pandas().DataFrame(frame)
    if library == "pyarrow":
        import pyarrow

        return pyarrow.table(frame)
    return nw.dependencies.get_polars().DataFrame(frame)


def holds(kind: Kind, value: Any) -> bool:
    """Whether a column of this kind can hold a value, as itself."""
    try:
        held = made_column(kind, [value])
    except Exception:  # whatever a library raises for a value that its dtype lacks
        return False
    if not isinstance(value, int | float | str) or value != value:
        return True
    first = held[0].as_py() if kind[0] == "pyarrow" else held[0]
    plain = first.item() if isinstance(first, np.generic) else first
    return _alike(plain, value)


def all_held(kind: Kind, values: Sequence[Any]) -> bool:
    """Whether a column of this kind certainly can hold all of these texts or numbers, each as itself."""
    try:
        made = made_column(kind, values)
        held = made.to_pylist() if kind[0] == "pyarrow" else made.to_list() if kind[0] == "polars" else made.tolist()
    except Exception:  # whatever a library raises for a value that its dtype lacks
        return False
    alike = (_alike(one, other) for one, other in zip(held, values, strict=True))
    return len(held) > 0 and all(value is True for value in alike)


def _alike(one: Any, other: Any) -> bool:
    """Whether a value that is held is another one: True is not 1."""
    return (type(one) is bool) == (type(other) is bool) and bool(one == other)
