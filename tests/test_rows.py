"""Rows as users have them: what is read in place, and how."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from wald import _rows
from wald._rows import column_of, whole_block

pd = pytest.importorskip("pandas")


def equally_spaced() -> pd.DataFrame:
    """Columns apart, at equal distances: rows of one array, each a block of its own."""
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
    starts = [column_of(frame)(c).ctypes.data for c in range(5)]
    assert len(set(np.diff(starts))) == 1

    def copies(*_):
        raise AssertionError("all columns were copied")

    monkeypatch.setattr(pd.DataFrame, "to_numpy", copies)
    assert whole_block(frame) is None


@pytest.mark.parametrize("dtype", [np.float32, "Float64", "boolean", "category"])
def test_columns_of_a_pandas_that_hides_its_own_way(dtype, monkeypatch):
    frame = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}).astype(dtype)
    quick = column_of(frame)
    hidden = SimpleNamespace(iloc=frame.iloc)
    monkeypatch.setattr(_rows.nw.dependencies, "is_pandas_dataframe", lambda X: X is hidden)
    slow = column_of(hidden)
    for c in range(2):
        np.testing.assert_array_equal(quick(c), slow(c))


def test_column_numbers_are_not_cut():
    from scipy import sparse

    wide = sparse.csr_matrix(
        (np.ones(2), np.array([1, 2**33 + 2], dtype=np.int64), np.array([0, 2], dtype=np.int64)), shape=(1, 4)
    )
    wide.indices = np.array([1, 2**33 + 2], dtype=np.int64)
    with pytest.raises(ValueError, match=r"CSR indices must lie in \[0, 4\)"):
        list(_rows.pieces(wide))
