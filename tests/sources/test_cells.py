"""Columns as they lie: of every container, and without a copy where the container holds an array."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from wald.sources import ArraySource, RawSource, Schema, SomeColumns, source_of
from wald.sources.cells import ALL, Coded, NumberChunk, Numbers, Objects, Texts

columns = pytest.importorskip("kinds.columns")
pd, pl, pa = columns.pd, columns.pl, columns.pa

VALUES = ["a", "", None, "a" * 12, "b" * 13, "é" * 8, "c" * 40, None, "a", "x" * 16, "x" * 17, "日本"]
COUNTS = [1, 0, None, 7, 200, None, 1, 3, 64]


def alike(cells, table):
    expected = columns.values_of(table)
    given = cells.objects()
    assert given.dtype == object
    assert cells.n_rows == len(given) == len(expected)
    assert all(map(columns.same, given.tolist(), expected)), (given, expected)


@pytest.mark.parametrize("kind", columns.TEXTS)
def test_texts_are_those_of_their_container(kind):
    table = columns.TEXTS[kind](VALUES)
    alike(source_of(table).cells(0), table)
    for start, stop in ((1, 9), (3, 4), (5, 5), (len(VALUES) - 1, len(VALUES))):
        part = columns.sliced(table, start, stop)
        alike(source_of(part).cells(0), part)


@pytest.mark.parametrize("kind", columns.NUMBERS)
def test_numbers_are_those_of_their_container(kind):
    table = columns.NUMBERS[kind](COUNTS)
    alike(source_of(table).cells(0), table)
    part = columns.sliced(table, 2, 7)
    alike(source_of(part).cells(0), part)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("values", [[True, False, None, True] * 5, [None] * 3, [1.5, None, float("nan"), -0.0]])
def test_booleans_nulls_and_floats(library, values):
    if library == "pandas":
        dtype = "boolean" if isinstance(values[0], bool) else "Float64" if values[0] else object
        table = pd.DataFrame({"x": pd.Series(values, dtype=dtype)})
    else:
        table = pl.DataFrame({"x": values}) if library == "polars" else pa.table({"x": values})
    alike(source_of(table).cells(0), table)
    part = columns.sliced(table, 1, 3)
    alike(source_of(part).cells(0), part)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_other_types_are_objects(library):
    times = np.array(["2026-01-02", "NaT"], dtype="datetime64[ns]")
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library]
    cells = source_of(make({"x": times})).cells(0)
    assert isinstance(cells, Objects)
    assert not any(isinstance(value, int | float) for value in cells.objects())


def test_kinds():
    def kind(table):
        return source_of(table).cells(0).kind

    assert kind(pd.DataFrame({"x": ["a"]})) == ("pandas", "str" if pd.__version__ >= "3" else "object")
    assert kind(pd.DataFrame({"x": pd.Series(["a"], dtype="category")})) == ("pandas", "category")
    assert kind(pd.DataFrame({"x": pd.Series([1], dtype="Int64")})) == ("pandas", "Int64")
    assert kind(pl.DataFrame({"x": ["a"]})) == ("polars", "String")
    assert kind(columns.TEXTS["polars Enum"](["a"])) == ("polars", "Enum")
    assert kind(pa.table({"x": ["a"]})) == ("pyarrow", "string")
    assert kind(np.array([["a"]])) == kind(np.array([["abc"]])) == ("numpy", "str")
    assert kind(np.zeros((1, 1))) == ("numpy", "float64")
    assert kind(np.zeros((1, 1), dtype=object)) == ("numpy", "object")


def test_arrays_are_read_in_place():
    numbers, objects = np.arange(12.0).reshape(4, 3), np.array([["a", 1], [None, 2.5]], dtype=object)
    (chunk,) = source_of(numbers).cells(1).chunks
    assert np.shares_memory(chunk.values, numbers)
    assert np.shares_memory(source_of(objects).cells(0).objects(), objects)
    frame = pd.DataFrame({"x": pd.Series(["a", "b"], dtype=object)})
    assert np.shares_memory(source_of(frame).cells(0).objects(), frame["x"].to_numpy())
    text = pd.Series(["a", None], dtype=pd.StringDtype("python"))
    assert np.shares_memory(source_of(text.to_frame()).cells(0).objects(), np.asarray(text.array))


@pytest.mark.parametrize("kind", ["pandas str", "arrow string", "arrow large_string"])
def test_texts_are_read_in_place(kind):
    table = columns.TEXTS[kind](VALUES)
    (chunk,) = source_of(table).cells(0).chunks
    array = table["x"].chunk(0) if kind.startswith("arrow") else pa.array(table["x"].array)
    assert [chunk.offsets.address, chunk.data.address] == [each.address for each in array.buffers()[1:]]


def test_views_of_polars_are_read_in_place():
    series = pl.Series("x", VALUES)
    first, second = (source_of(series.to_frame()).cells(0).chunks[0] for _ in range(2))
    assert first.views.address == second.views.address


def test_dtypes_that_the_engine_does_not_read():
    half, swapped = np.array([[1.5], [2]], np.float16), np.array([[1], [300]], np.dtype("i4").newbyteorder())
    unaligned = np.zeros(9, np.uint8)[1:].view(np.float64).reshape(1, 1)
    for values in (half, swapped, unaligned):
        (chunk,) = source_of(values).cells(0).chunks
        assert chunk.values.dtype.isnative
        assert chunk.values.flags.aligned
        assert chunk.values.tolist() == values[:, 0].tolist()
    assert isinstance(source_of(np.ones((2, 1), np.longdouble)).cells(0), Objects)
    times = np.array([[1], ["NaT"]], "datetime64[ns]")
    assert [type(value) for value in ArraySource(times).cells(0).objects()] == [np.datetime64] * 2
    whole = pl.DataFrame({"x": pl.Series([2**100, None], dtype=pl.Int128)})
    assert source_of(whole).cells(0).objects().tolist() == [2**100, None]
    assert source_of(np.array([[b"a"]])).cells(0).objects().tolist() == [b"a"]


def test_other_sources():
    schema = Schema(2, ("x", "y"))
    records = source_of([{"x": "a", "y": 1}, {"y": 2, "x": None}], schema)
    assert records.cells(0).objects().tolist() == ["a", None]
    assert records.cells(0).kind == ("records", "object")
    matrix = source_of(sparse.csr_array(np.array([[0, 1.5], [2, 0]])))
    assert matrix.cells(1).objects().tolist() == [1.5, 0]
    some = SomeColumns(2, [None, np.array([1.0, 2])], np.dtype(float))
    assert some.cells(1).objects().tolist() == [1, 2]
    with pytest.raises(ValueError, match="Column 0 is not held"):
        some.cells(0)
    with pytest.raises(ValueError, match="no columns"):
        RawSource(["a text"]).cells(0)


def test_columns_are_found_by_their_place():
    frame = pd.DataFrame([[1, "a"], [2, "b"]], columns=["x", "x"])
    assert source_of(frame).cells(1).objects().tolist() == ["a", "b"]
    frame.columns = [1, 0]
    assert source_of(frame).cells(0).objects().tolist() == [1, 2]
    assert source_of(pa.table([pa.array([1]), pa.array(["a"])], names=["x", "x"])).cells(1).objects().tolist() == ["a"]


def test_without_pyarrow(monkeypatch):
    tables = [pl.DataFrame({"x": VALUES}), pl.DataFrame({"x": COUNTS}), pl.DataFrame({"x": [True, None]})]
    tables += [columns.TEXTS[kind](VALUES) for kind in ("pandas object", "pandas str of Python", "pandas category")]
    expected = [columns.values_of(table) for table in tables]
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for table, values in zip(tables, expected, strict=True):
        given = source_of(table).cells(0)
        assert all(map(columns.same, given.objects().tolist(), values))
    monkeypatch.undo()


def test_forms():
    def form(table):
        return type(source_of(table).cells(0))

    assert form(columns.TEXTS["polars String"](VALUES)) is Texts
    assert form(columns.TEXTS["pandas category"](VALUES)) is Coded
    assert form(columns.TEXTS["polars Categorical"](VALUES)) is Coded
    assert form(columns.NUMBERS["pandas Int64"](COUNTS)) is Numbers
    assert form(columns.TEXTS["pandas string of Python"](VALUES)) is Objects
    assert NumberChunk(np.zeros(3)).valid is ALL
