"""Blocks of users' containers: which are read in place, and how."""

from __future__ import annotations

import numpy as np
import pytest
from engine.cases import values_read

from wald.sources import PLAIN, Block, frames, source_of

pd = pytest.importorskip("pandas")


def test_column_numbers_are_not_cut():
    from scipy import sparse

    wide = sparse.csr_matrix(
        (np.ones(2), np.array([1, 2**33 + 2], dtype=np.int64), np.array([0, 2], dtype=np.int64)), shape=(1, 4)
    )
    wide.indices = np.array([1, 2**33 + 2], dtype=np.int64)
    with pytest.raises(ValueError, match=r"CSR indices must lie in \[0, 4\)"):
        list(source_of(wide).blocks())


@pytest.fixture
def nothing_is_copied(monkeypatch):
    def copies(*_, **__):
        raise AssertionError("the frame was copied")

    monkeypatch.setattr(frames, "_converted", copies)


def blocks(rows) -> list[Block]:
    return list(source_of(rows).blocks())


def extents(found: list[Block]) -> list[tuple[int, int]]:
    return [(block.start, block.start + len(block)) for block in found]


def read(found: list[Block], width: int) -> np.ndarray:
    """The values that the engine reads."""
    return np.concatenate([values_read(block.rows, width) for block in found])


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
    found = blocks(frame)
    assert extents(found) == [(0, n_rows)]
    assert found[0].dtype == (np.float64 if make == "types mixed" else np.float32)  # as scikit-learn makes of them
    np.testing.assert_array_equal(read(found, X.shape[1]), X)


@pytest.mark.parametrize("n_rows", [1, 5, 400_000])
def test_frames_of_polars_are_read_in_place(n_rows, nothing_is_copied):
    pl = pytest.importorskip("polars")
    X = np.arange(n_rows * 3, dtype=np.float32).reshape(-1, 3)
    found = blocks(pl.DataFrame(X, schema=list("abc")))
    assert extents(found) == [(0, len(X))]
    np.testing.assert_array_equal(read(found, 3), X)


@pytest.mark.parametrize("dtype", ["int32", "bool", "Float32", "Sparse[float32]", "float32[pyarrow]", "float16"])
def test_other_columns_are_converted_piece_by_piece(dtype):
    values = np.arange(400_000, dtype=np.float32) % 2
    frame = pd.DataFrame({"a": values, "b": pd.Series(values).astype(dtype), "c": values})
    found = blocks(frame)
    assert len(found) == 3
    np.testing.assert_array_equal(read(found, 3), np.column_stack([values] * 3))


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
    found = blocks(frame)
    assert len(found) == 3
    given = np.isfinite(X).all(axis=1)
    np.testing.assert_array_equal(read(found, 3)[given], X[given])


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_a_name_may_come_twice(dtype):
    X = np.arange(12, dtype=dtype).reshape(4, 3)
    frame = pd.DataFrame({name: X[:, i] for i, name in enumerate("abc")}, copy=False).set_axis(["a", "a", "b"], axis=1)
    np.testing.assert_array_equal(read(blocks(frame), 3), X)
    np.testing.assert_array_equal(source_of(frame).take(np.array([2, 0])).array(), X[[2, 0]])


@pytest.mark.parametrize("shape", [(0, 0), (3, 0), (0, 3)])
def test_frames_without_rows_or_columns(shape):
    assert extents(blocks(pd.DataFrame(np.zeros(shape)))) == [(0, shape[0])]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_rows", [0, 1, 5])
def test_columns_of_packed_records(n_rows, dtype):
    """Columns of packed records are not aligned."""
    records = np.zeros(n_rows, dtype=[("first", "u1"), ("a", dtype), ("b", dtype)])
    records["a"], records["b"] = np.arange(n_rows), -np.arange(n_rows)
    frame = pd.DataFrame({name: records[name] for name in "ab"}, copy=False)
    expected = np.column_stack([records["a"], records["b"]])
    np.testing.assert_array_equal(read(blocks(frame), 2), expected)
    np.testing.assert_array_equal(read(list(source_of(frame).blocks(PLAIN, range(2))), 2), expected)


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
    expected = np.column_stack([v.astype(float) for v in columns.values()])
    model_dtype = values.dtype if values.dtype.kind in "biu" or values.dtype == np.float32 else np.dtype(float)
    (block,) = source_of(frame).blocks(PLAIN, [0])
    if not block.whole:  # Arrow's columns are read one by one only in large tables
        assert block.dtype == model_dtype
        block = block.rest(np.arange(5), range(3))
        assert block.dtype == np.result_type(model_dtype, float)
    np.testing.assert_array_equal(read([block], 3), expected)
