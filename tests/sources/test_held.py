"""Data frames: where the library holds their columns, and what they are called."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald.sources import held
from wald.sources.frames import FrameSource
from wald.sources.held import column_reader, held_columns, whole_block

pd = pytest.importorskip("pandas")


def equally_spaced() -> pd.DataFrame:
    """Separate columns at equal distances: rows of one array, each in its own block."""
    memory = np.arange(60, dtype=np.float32)
    columns = [np.frombuffer(memory[12 * c : 12 * c + 10].data, dtype=np.float32) for c in range(5)]
    return pd.DataFrame(dict(zip("abcde", columns, strict=True)), copy=False)


@pytest.mark.parametrize("order", ["C", "F"])
def test_one_block_is_shared(order):
    X = np.asarray(np.arange(12, dtype=np.float32).reshape(4, 3), order=order)
    frame = pd.DataFrame(X, columns=list("abc"))
    block = whole_block(frame)
    assert all(np.shares_memory(block, frame[name].to_numpy()) for name in "abc")
    np.testing.assert_array_equal(block, X)


def test_columns_apart_are_no_block_wherever_they_lie(monkeypatch):
    frame = equally_spaced()
    starts = [column_reader(frame)(c).ctypes.data for c in range(5)]
    assert len(set(np.diff(starts))) == 1

    def copies(*_):
        raise AssertionError("all columns were copied")

    monkeypatch.setattr(pd.DataFrame, "to_numpy", copies)
    assert whole_block(frame) is None


def found(frame, numbers):
    """Columns as they are held, or else as they are read in the public way."""
    columns, read = held_columns(frame, numbers), column_reader(frame)
    return [read(c) if (array := columns.array(i)) is None else array for i, c in enumerate(numbers)]


@pytest.mark.parametrize("library", ["pandas", "polars", "polars in chunks"])
def test_columns_that_are_held_are_those_that_are_read_in_the_public_way(library, monkeypatch):
    frame, numbers = frame_of_all_kinds(), [8, 0, 5, 3, 3, 9, 1, 7, 10, 2, 6, 4]
    lack = [5, 9, 6]  # categories, times and integers that may lack
    if library != "pandas":
        pl = pytest.importorskip("polars")
        plain, numbers = frame.iloc[:, [0, 1, 3, 7, 8]].set_axis(list("vwxyz"), axis=1), [3, 5, 0, 4, 2, 1, 3]
        frame = pl.concat([pl.from_pandas(plain)] * 2, rechunk=library == "polars")
        frame = frame.with_columns(pl.Series("u", [1.0, None] * 7))
        lack = numbers if library == "polars in chunks" else [5, 4]  # booleans are bits
    read = column_reader(frame)
    expected = [read(c) for c in numbers]
    columns = held_columns(frame, numbers)
    assert [c for i, c in enumerate(numbers) if columns.array(i) is None] == lack
    assert [array.dtype for array in found(frame, numbers)] == [array.dtype for array in expected]
    for one, same in zip(found(frame, numbers), expected, strict=True):
        np.testing.assert_array_equal(one, same)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_libraries_that_hide_where_columns_are_give_the_same_columns(library, monkeypatch):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    frame = pd.DataFrame(X, columns=list("abc"))
    if library == "polars":
        frame = pytest.importorskip("polars").DataFrame(X, schema=list("abc"))
    blocks, block = list(FrameSource(frame).blocks(needed=[2])), whole_block(frame)
    monkeypatch.setattr(held, "_manager", lambda _: None)
    monkeypatch.setattr(held.nw.dependencies, "is_polars_dataframe", lambda _: False)
    assert held_columns(frame, [0, 1, 2]).arrays == [None] * 3
    again = list(FrameSource(frame).blocks(needed=[2]))
    assert [len(b) for b in again] == [len(b) for b in blocks] == [4]
    np.testing.assert_array_equal(found(frame, [2, 0]), X[:, [2, 0]].T)
    if library == "pandas":
        np.testing.assert_array_equal(block, whole_block(frame))


def frame_of_all_kinds():
    """Blocks of several columns and of one, in pieces that do not follow each other, and extension arrays."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(7, 3)), columns=list("abc"))
    frame["d"] = rng.integers(0, 9, 7)
    frame["e"] = pd.Categorical(rng.integers(0, 3, 7))
    frame["f"] = pd.array([1, 2, None, 4, 5, 6, 7], dtype="Int64")
    frame["g"] = rng.normal(size=7).astype(np.float32)
    frame.insert(1, "h", rng.normal(size=7))
    frame["i"] = rng.normal(size=7) > 0
    frame["j"] = np.arange(7).astype("M8[s]")
    frame["k"] = np.array(["x", None, 1, 2.0, True, (), "y"], dtype=object)
    return frame.set_axis([*"abcdefghia", 0], axis=1)


def test_names_of_other_types_are_compared():
    names = np.array(["a", "b"], dtype=object)
    for columns in (["a", "b"], pd.Index(["a", "b"], dtype=object), pd.CategoricalIndex(["a", "b"])):
        assert FrameSource(pd.DataFrame(np.zeros((2, 2)), columns=columns)).has_names(names)
    for columns in (["a", "c"], [0, 1], pd.MultiIndex.from_tuples([("a", "b"), ("b", "a")]), ["b", "a"]):
        assert not FrameSource(pd.DataFrame(np.zeros((2, 2)), columns=columns)).has_names(names)


@pytest.mark.parametrize("values", [[1.0, None], [None, None], [1.0, float("nan")], [1.0, 2.0]])
def test_a_column_of_polars_in_which_values_lack_is_not_held(values):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [5.0, 6.0], "b": pl.Series(values, dtype=pl.Float64)})
    held = held_columns(frame, [0, 1])
    assert (held.arrays[1] is None) == (None in values)
    for one, wanted in zip(found(frame, [1, 0]), (values, [5.0, 6.0]), strict=True):
        np.testing.assert_array_equal(one, np.array(wanted, dtype=float))


def test_columns_of_polars_in_chunks_and_of_other_types_are_not_held():
    pl = pytest.importorskip("polars")
    plain = {"float": [0.5, 1.5], "bool": [True, False], "text": ["a", "b"], "date": pl.Series([1, 2]).cast(pl.Date)}
    frame = pl.DataFrame(plain).with_columns(pl.col("text").cast(pl.Categorical).alias("category"))
    assert [array is not None for array in held_columns(frame, range(5)).arrays] == [True, False, False, False, False]
    chunks = pl.concat([frame, frame], rechunk=False)
    assert held_columns(chunks, [0]).arrays == [None]
    np.testing.assert_array_equal(found(chunks, [0])[0], [0.5, 1.5, 0.5, 1.5])


def test_columns_of_no_frame_and_no_columns_are_not_held():
    assert held_columns(SimpleNamespace(), [0, 1]).arrays == [None, None]
    for frame in (pd.DataFrame({"a": [1.0]}), pytest.importorskip("polars").DataFrame({"a": [1.0]})):
        assert held_columns(frame, []).arrays == []
