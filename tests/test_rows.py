"""Rows in users' containers: which are read in place, and how."""

from __future__ import annotations

import numpy as np
import pytest
from engine.cases import values_read

from wald.engine import rows as engine_rows

pd = pytest.importorskip("pandas")


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


def read(pieces: list[engine_rows.Piece], width: int) -> np.ndarray:
    """The values that the engine reads."""
    return np.concatenate([values_read(piece.rows, width) for piece in pieces])


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


@pytest.mark.parametrize("n_rows", [1, 5, 400_000])
def test_frames_of_polars_are_read_in_place(n_rows, nothing_is_copied):
    pl = pytest.importorskip("polars")
    X = np.arange(n_rows * 3, dtype=np.float32).reshape(-1, 3)
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


@pytest.mark.parametrize("library", ["pandas", "polars", "arrow"])
@pytest.mark.parametrize("dtype", ["int64", "int8", "bool", "float16", "<f8", ">f8", "float32"])
def test_columns_of_every_type_of_numbers(library, dtype):
    """Columns are read one by one as they are converted all at once; the model meets the same dtypes."""
    values = np.array([0, 1, 1, 0, 1], dtype=dtype)
    if dtype == "<f8":
        values = values.astype(">f8").byteswap().view(values.astype(">f8").dtype.newbyteorder())
    if library != "pandas" and values.dtype.byteorder == ">":
        pytest.skip("neither library keeps values in that order")
    columns = {"a": values, "b": np.arange(5.0), "c": np.array([0, 1, 1, 0, 1], dtype=dtype)}
    if library == "pandas":
        frame = pd.DataFrame(columns, copy=False)
    elif library == "polars":
        frame = pytest.importorskip("polars").DataFrame(columns)
    else:
        frame = pytest.importorskip("pyarrow").table(columns)
    columns_read = engine_rows.Columns(frame)
    for needed in ([1], [0, 1], [0, 1, 2], [2]):
        rows = columns_read.rows(needed)
    expected = np.column_stack([v.astype(float) for v in columns.values()])
    np.testing.assert_array_equal(read([engine_rows.Piece(0, 5, rows, np.dtype(float))], 3), expected)
    model_dtype = values.dtype if values.dtype.kind in "biu" or values.dtype == np.float32 else np.dtype(float)
    assert columns_read.dtypes == {np.dtype(float), model_dtype}
