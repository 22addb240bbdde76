"""The same column in every container, and what it means that a cell equals a known category."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

pd, pl, pa = pytest.importorskip("pandas"), pytest.importorskip("polars"), pytest.importorskip("pyarrow")


def _pandas(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pd.DataFrame({"x": pd.Series(values, dtype=dtype)})


def _str(storage: str) -> Any:
    """The dtype of texts of pandas 3, which later versions of pandas 2 have, too."""
    try:
        return pd.StringDtype(storage, na_value=np.nan)
    except TypeError:
        return pd.StringDtype("pyarrow_numpy") if storage == "pyarrow" else object


def _polars(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pl.DataFrame({"x": pl.Series(values, dtype=dtype)})


def _arrow(dtype: Any) -> Callable[[list[Any]], Any]:
    return lambda values: pa.table({"x": pa.array(values, dtype)})


def _enum(values: list[Any]) -> Any:
    known = sorted({value for value in values if value is not None} | {"unused"})
    return _polars(pl.Enum(known))(values)


def _objects(values: list[Any]) -> Any:
    array = np.empty((len(values), 3), dtype=object)
    array[:, 1] = values
    return array[:, 1:2]  # with a stride


def _chunks(whole: Callable[[list[Any]], Any], join: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    def made(values: list[Any]) -> Any:
        third = len(values) // 3
        return join([whole(values[:third]), whole(values[third : 2 * third]), whole(values[2 * third :])])

    return made


def _dictionary(index: Any) -> Callable[[list[Any]], Any]:
    """A dictionary with entries that are unused, doubled and null; the nulls of the values are of both kinds."""

    def made(values: list[Any]) -> Any:
        entries = ["unused", None, *values[:50], *values[:50]]
        codes = [entries.index(v) if v is not None or i % 2 else None for i, v in enumerate(values[:50])]
        codes = [code if code is None or i % 3 else code + len(values[:50]) for i, code in enumerate(codes)]
        codes = [1 if code is not None and entries[code] is None else code for code in codes]
        array = pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(entries, pa.string()))
        return pa.table({"x": array})

    return made


def _join_arrow(parts: list[Any]) -> Any:
    return pa.concat_tables(parts)


#: From texts, some of which may be None, to a table of one column, by kind.
TEXTS: dict[str, Callable[[list[Any]], Any]] = {
    "numpy object": _objects,
    "numpy U": lambda values: np.array([value or "" for value in values], dtype=str).reshape(-1, 1),
    "pandas object": _pandas(object),
    "pandas str": _pandas(_str("pyarrow")),
    "pandas str of Python": _pandas(_str("python")),
    "pandas string": _pandas(pd.StringDtype("pyarrow")),
    "pandas string of Python": _pandas(pd.StringDtype("python")),
    "pandas category": _pandas("category"),
    "pandas category of objects": lambda v: _pandas(pd.CategoricalDtype(pd.Index({*v} - {None}, dtype=object)))(v),
    "pandas arrow": _pandas(pd.ArrowDtype(pa.string())),
    "pandas arrow dictionary": _pandas(pd.ArrowDtype(pa.dictionary(pa.int16(), pa.string()))),
    "pandas chunks": _chunks(_pandas(_str("pyarrow")), pd.concat),
    "polars String": _polars(pl.String),
    "polars Categorical": _polars(pl.Categorical),
    "polars Enum": _enum,
    "polars chunks": _chunks(_polars(pl.String), lambda parts: pl.concat(parts, rechunk=False)),
    "arrow string": _arrow(pa.string()),
    "arrow large_string": _arrow(pa.large_string()),
    "arrow string_view": _arrow(pa.string_view()),
    "arrow chunks": _chunks(_arrow(pa.string()), _join_arrow),
    "arrow chunked dictionaries": _chunks(_dictionary(pa.int8()), _join_arrow),
    **{f"arrow dictionary {index}": _dictionary(index) for index in (pa.int8(), pa.uint16(), pa.int32(), pa.int64())},
}

#: From numbers, some of which may be None, to a table of one column, by kind.
NUMBERS: dict[str, Callable[[list[Any]], Any]] = {
    "numpy object": _objects,
    "pandas object": _pandas(object),
    "pandas Int64": _pandas("Int64"),
    "pandas Float64": _pandas("Float64"),
    "pandas category": _pandas("category"),
    "pandas arrow": _pandas(pd.ArrowDtype(pa.int64())),
    "polars Int64": _polars(pl.Int64),
    "polars Float64": _polars(pl.Float64),
    "polars UInt8": _polars(pl.UInt8),
    "arrow int16": lambda values: pa.table({"x": pa.array(values, pa.int16())}),
    "arrow halffloat": lambda values: pa.table({"x": pa.array(values, pa.float64()).cast(pa.float16())}),
    "arrow dictionary": lambda values: pa.table({"x": pa.array(values, pa.int32()).dictionary_encode()}),
}


def library_of(table: Any) -> str:
    """The library of a table."""
    return str(type(table).__module__).partition(".")[0]


def values_of(table: Any) -> list[Any]:
    """The only column of a table, as its library itself gives it."""
    match library_of(table):
        case "numpy":
            return list(table[:, 0].tolist())
        case "pandas":
            return [value.item() if isinstance(value, np.bool_ | np.number) else value for value in table["x"]]
        case "polars":
            return list(table["x"].to_list())
    return list(table["x"].to_pylist())


def sliced(table: Any, start: int, stop: int) -> Any:
    """Some rows of a table, without a copy of them."""
    match library_of(table):
        case "pandas":
            return table.iloc[start:stop]
        case "pyarrow":
            return table.slice(start, stop - start)
    return table[start:stop]


def same(a: Any, b: Any) -> bool:
    """Whether two objects of a column are the same value of the same kind."""
    both_nan = isinstance(a, float) and isinstance(b, float) and math.isnan(a) and math.isnan(b)
    return both_nan or a is b or (a is not pd.NA and b is not pd.NA and type(a) is type(b) and bool(a == b))


def state_of(known: Sequence[Any], value: Any) -> int:
    """The state of an object by Python's own equality."""
    unknown, none, nan, na, other = range(len(known), len(known) + 5)
    if value is None:
        return none
    if value is pd.NA:
        return na
    if isinstance(value, float | np.floating) and value != value:
        return nan
    kinds = str if isinstance(known, list) else (int, float, np.integer, np.floating)
    if not isinstance(value, kinds) or isinstance(value, bool):
        return other
    value = value.item() if isinstance(value, np.generic) and not isinstance(value, str) else value
    for i, each in enumerate(known if isinstance(known, list) else known.tolist()):
        if each == value:
            return i
    return other if value in (math.inf, -math.inf) else unknown
