"""Data frames: where the library holds their columns, and what they are called."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald.engine import frames as engine_frames
from wald.engine.frames import column_reader, columns_of, has_names, held_columns, whole_block

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


@pytest.mark.parametrize("dtype", [np.float32, "Float64", "boolean", "category"])
def test_columns_of_a_pandas_that_hides_its_own_way(dtype, monkeypatch):
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}).astype(dtype)
    quick = column_reader(frame)
    hidden = SimpleNamespace(iloc=frame.iloc)
    monkeypatch.setattr(engine_frames.nw.dependencies, "is_pandas_dataframe", lambda X: X is hidden)
    slow = column_reader(hidden)
    for c in range(2):
        np.testing.assert_array_equal(quick(c), slow(c))


@pytest.mark.parametrize("hidden", [False, True])
def test_many_columns_are_those_that_are_read_one_by_one(hidden, monkeypatch):
    frame = frame_of_all_kinds()
    numbers = [8, 0, 5, 3, 3, 9, 1, 7, 10, 2, 6, 4]
    reader, one_by_one = column_reader(frame), []
    expected = [reader(c) for c in numbers]
    monkeypatch.setattr(engine_frames, "column_reader", lambda _: lambda c: one_by_one.append(c) or reader(c))
    if hidden:  # another pandas may keep its columns in another way
        manager = SimpleNamespace(**{name: getattr(frame._mgr, name) for name in ("blocks", "blknos")})
        frame = type("DataFrame", (), {"_mgr": manager})()
        monkeypatch.setattr(engine_frames.nw.dependencies, "is_pandas_dataframe", lambda _: True)
    for found, same in zip(columns_of(frame, numbers), expected, strict=True):
        assert type(found) is np.ndarray
        assert found.dtype == same.dtype
        np.testing.assert_array_equal(found, same)
    assert one_by_one == (numbers if hidden else [5, 9, 6])  # categories, times and integers that may lack


@pytest.mark.parametrize("hidden", [False, True])
def test_columns_of_polars_are_those_that_are_read_one_by_one(hidden, monkeypatch):
    pl = pytest.importorskip("polars")
    plain = frame_of_all_kinds().iloc[:, [0, 1, 3, 7, 8]].set_axis(list("vwxyz"), axis=1)
    frame = pl.concat([pl.from_pandas(plain), pl.from_pandas(plain)], rechunk=False)
    frame = frame.with_columns(pl.Series("u", [1.0, None] * 7))
    numbers = [3, 5, 0, 4, 2, 1, 3]
    expected = [column_reader(frame)(c) for c in numbers]
    if hidden:  # another polars may have another way
        own = frame

        def to_series(c):
            return SimpleNamespace(to_numpy=own._df.to_series(c).to_numpy)

        hidden_frame = SimpleNamespace(_df=SimpleNamespace(to_series=to_series))
        monkeypatch.setattr(engine_frames.nw.dependencies, "is_polars_dataframe", lambda X: X is hidden_frame)
        frame = hidden_frame
    for found, same in zip(columns_of(frame, numbers), expected, strict=True):
        assert found.dtype == same.dtype
        np.testing.assert_array_equal(found, same)


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
        assert has_names(pd.DataFrame(np.zeros((2, 2)), columns=columns), names)
    for columns in (["a", "c"], [0, 1], pd.MultiIndex.from_tuples([("a", "b"), ("b", "a")]), ["b", "a"]):
        assert not has_names(pd.DataFrame(np.zeros((2, 2)), columns=columns), names)


@pytest.mark.parametrize("values", [[1.0, None], [None, None], [1.0, float("nan")], [1.0, 2.0]])
def test_a_column_of_polars_in_which_values_lack_is_not_held(values):
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"a": [5.0, 6.0], "b": pl.Series(values, dtype=pl.Float64)})
    held = held_columns(frame, [0, 1])
    assert (held.arrays[1] is None) == (None in values)
    for found, wanted in zip(columns_of(frame, [1, 0]), (values, [5.0, 6.0]), strict=True):
        np.testing.assert_array_equal(found, np.array(wanted, dtype=float))


def test_columns_of_polars_in_chunks_and_of_other_types_are_not_held():
    pl = pytest.importorskip("polars")
    plain = {"float": [0.5, 1.5], "bool": [True, False], "text": ["a", "b"], "date": pl.Series([1, 2]).cast(pl.Date)}
    frame = pl.DataFrame(plain).with_columns(pl.col("text").cast(pl.Categorical).alias("category"))
    assert [array is not None for array in held_columns(frame, range(5)).arrays] == [True, False, False, False, False]
    chunks = pl.concat([frame, frame], rechunk=False)
    assert held_columns(chunks, [0]).arrays == [None]
    np.testing.assert_array_equal(next(columns_of(chunks, [0])), [0.5, 1.5, 0.5, 1.5])


def test_columns_of_no_frame_and_no_columns_are_not_held():
    assert held_columns(SimpleNamespace(), [0, 1]).arrays == [None, None]
    for frame in (pd.DataFrame({"a": [1.0]}), pytest.importorskip("polars").DataFrame({"a": [1.0]})):
        assert held_columns(frame, []).arrays == []
