"""Rows in users' containers: which are read in place, and how."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald import _core
from wald.engine import rows as engine_rows
from wald.engine.rows import column_reader, columns_of, whole_block

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
    monkeypatch.setattr(engine_rows.nw.dependencies, "is_pandas_dataframe", lambda X: X is hidden)
    slow = column_reader(hidden)
    for c in range(2):
        np.testing.assert_array_equal(quick(c), slow(c))


@pytest.mark.parametrize("hidden", [False, True])
def test_many_columns_are_those_that_are_read_one_by_one(hidden, monkeypatch):
    frame = frame_of_all_kinds()
    numbers = [8, 0, 5, 3, 3, 9, 1, 7, 10, 2, 6, 4]
    reader, one_by_one = column_reader(frame), []
    expected = [reader(c) for c in numbers]
    monkeypatch.setattr(engine_rows, "column_reader", lambda _: lambda c: one_by_one.append(c) or reader(c))
    if hidden:  # another pandas may keep its columns in another way
        manager = SimpleNamespace(**{name: getattr(frame._mgr, name) for name in ("blocks", "blknos")})
        frame = type("DataFrame", (), {"_mgr": manager})()
        monkeypatch.setattr(engine_rows.nw.dependencies, "is_pandas_dataframe", lambda _: True)
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
        series = SimpleNamespace(to_series=frame._df.to_series)
        hidden_frame = SimpleNamespace(_df=series)
        monkeypatch.setattr(engine_rows.nw.dependencies, "is_polars_dataframe", lambda X: X is hidden_frame)
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


def test_column_numbers_are_not_cut():
    from scipy import sparse

    wide = sparse.csr_matrix(
        (np.ones(2), np.array([1, 2**33 + 2], dtype=np.int64), np.array([0, 2], dtype=np.int64)), shape=(1, 4)
    )
    wide.indices = np.array([1, 2**33 + 2], dtype=np.int64)
    with pytest.raises(ValueError, match=r"CSR indices must lie in \[0, 4\)"):
        list(engine_rows.pieces(wide))


@pytest.fixture
def nothing_is_copied(monkeypatch):
    def copies(*_, **__):
        raise AssertionError("the frame was copied")

    monkeypatch.setattr(engine_rows, "_converted", copies)


def read(rows: list[engine_rows.Piece], width: int) -> np.ndarray:
    """The values that the engine reads, from a linear model with one output per feature."""
    model = _core.Model.linear(
        order=np.arange(width, dtype=np.int32),
        coef=np.eye(width),
        intercept=np.zeros(width),
        fill=None,
        magnitude=np.ones(width),
        bias_magnitude=0.0,
        depth=0.0,
    )
    return np.concatenate([model.scores(piece.rows, 0.0, 1)[0] for piece in rows])


@pytest.mark.parametrize("n_rows", [1, 5, 400_000])
@pytest.mark.parametrize("make", ["block", "columns apart", "types mixed", "one column"])
def test_frames_of_pandas_are_read_in_place(make, n_rows, nothing_is_copied):
    X = np.arange(n_rows * 3, dtype=np.float32).reshape(n_rows, 3) % 1000
    if make == "block":
        frame = pd.DataFrame(X)
    elif make == "one column":
        frame, X = pd.DataFrame(X[:, :1]), X[:, :1]
    else:
        types = [np.float32] * 3 if make == "columns apart" else [np.float32, np.float64, np.uint8]
        X = (X % 200).astype(np.uint8)
        frame = pd.DataFrame({name: X[:, i].astype(types[i]) for i, name in enumerate("abc")}, copy=False)
    pieces = list(engine_rows.pieces(frame))
    assert [(p.start, p.stop) for p in pieces] == [(0, n_rows)]
    assert pieces[0].dtype == (np.float64 if make == "types mixed" else np.float32)  # as scikit-learn makes of them
    np.testing.assert_array_equal(read(pieces, X.shape[1]), X)


def test_many_rows_of_polars_are_read_in_place(nothing_is_copied):
    pl = pytest.importorskip("polars")
    X = np.arange(400_000 * 3, dtype=np.float32).reshape(-1, 3)
    pieces = list(engine_rows.pieces(pl.DataFrame(X, schema=list("abc"))))
    assert [(p.start, p.stop) for p in pieces] == [(0, len(X))]
    np.testing.assert_array_equal(read(pieces, 3), X)


@pytest.mark.parametrize("dtype", ["int32", "bool", "Float32", "Sparse[float32]", "float32[pyarrow]", "float16"])
def test_other_columns_are_converted_piece_by_piece(dtype):
    values = np.arange(400_000, dtype=np.float32) % 2
    frame = pd.DataFrame({"a": values, "b": pd.Series(values).astype(dtype), "c": values})
    pieces = list(engine_rows.pieces(frame))
    assert len(pieces) == 3
    np.testing.assert_array_equal(read(pieces, 3), np.column_stack([values] * 3))


@pytest.mark.parametrize("kind", ["chunks", "nulls", "arrow"])
def test_columns_that_would_be_copied_are_converted_piece_by_piece(kind):
    pl = pytest.importorskip("polars")
    X = np.arange(400_000 * 3, dtype=np.float32).reshape(-1, 3)
    frame = pl.DataFrame(X, schema=list("abc"))
    if kind == "chunks":
        frame = pl.concat([frame[:300_000], frame[300_000:]], rechunk=False)
    elif kind == "nulls":
        X[-1, 1] = np.nan
        frame = frame.with_columns(pl.Series("b", [*X[:-1, 1].tolist(), None], dtype=pl.Float32))
    else:
        frame = pytest.importorskip("pyarrow").table(dict(zip("abc", X.T, strict=True)))
    pieces = list(engine_rows.pieces(frame))
    assert len(pieces) == 3
    given = np.isfinite(X).all(axis=1)
    np.testing.assert_array_equal(read(pieces, 3)[given], X[given])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_name_may_come_twice(dtype):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    frame = pd.DataFrame({name: X[:, i] for i, name in enumerate("abc")}, copy=False).set_axis(["a", "a", "b"], axis=1)
    np.testing.assert_array_equal(read(list(engine_rows.pieces(frame)), 3), X)
    np.testing.assert_array_equal(engine_rows.to_array(engine_rows.take(frame, np.array([2, 0]))), X[[2, 0]])


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_frames_without_rows_or_columns(shape):
    (piece,) = engine_rows.pieces(pd.DataFrame(np.zeros(shape)))
    assert (len(piece.rows), piece.stop) == (shape[0], shape[0])


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_columns_of_packed_records(n_rows, dtype):
    """Columns of packed records are not aligned."""
    records = np.zeros(n_rows, dtype=[("first", "u1"), ("a", dtype), ("b", dtype)])
    records["a"], records["b"] = np.arange(n_rows), -np.arange(n_rows)
    frame = pd.DataFrame({name: records[name] for name in "ab"}, copy=False)
    expected = np.column_stack([records["a"], records["b"]])
    np.testing.assert_array_equal(read(list(engine_rows.pieces(frame)), 2), expected)
    pulled = engine_rows.Columns(frame).rows(range(2))
    np.testing.assert_array_equal(read([engine_rows.Piece(0, n_rows, pulled, np.dtype(float))], 2), expected)


def test_names_of_other_types_are_compared():
    names = np.array(["a", "b"], dtype=object)
    for columns in (["a", "b"], pd.Index(["a", "b"], dtype=object), pd.CategoricalIndex(["a", "b"])):
        assert engine_rows.has_names(pd.DataFrame(np.zeros((2, 2)), columns=columns), names)
    for columns in (["a", "c"], [0, 1], pd.MultiIndex.from_tuples([("a", "b"), ("b", "a")]), ["b", "a"]):
        assert not engine_rows.has_names(pd.DataFrame(np.zeros((2, 2)), columns=columns), names)
