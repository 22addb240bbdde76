"""Columns that are added to rows: what the engine reads in place, and what it refuses."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from engine.cases import values_read

from wald import _core

N = 5


def rows_of(width: int) -> _core.Rows:
    return _core.Rows.columns(N, [None] * width)


def test_arrays_are_kept_alive():
    rows = rows_of(3)
    X = np.arange(3 * N, dtype=np.float64).reshape(N, 3)
    arrays = [X[:, 0].astype(np.float32), X[:, 1].copy(), np.repeat(X[:, 2].astype(np.uint8), 2)[::2]]
    for array in arrays:
        array.flags.writeable = False
    assert rows.add([0, 1, 2], arrays) == (["float32", "float64", "uint8"], [])
    arrays.clear()  # the list may change
    gc.collect()
    np.testing.assert_array_equal(values_read(rows, 3), X)


def test_what_came_before_an_error_is_kept_alive():
    rows = rows_of(2)
    with pytest.raises(ValueError, match="n_rows long"):
        rows.add([0, 1], [np.arange(float(N)), np.ones(N + 1)])
    rows.add([1], [np.ones(N)])
    gc.collect()
    np.testing.assert_array_equal(values_read(rows, 2)[:, 0], np.arange(N))


@pytest.mark.parametrize("order", ["<", ">", "="])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_bytes_in_an_order_that_is_spelled_out(dtype, order):
    values = np.arange(N, dtype=dtype).astype(order + dtype)
    swapped = np.arange(N, dtype=dtype).byteswap()
    swapped = swapped.view(swapped.dtype.newbyteorder())  # of the other order
    back = swapped.byteswap().view(swapped.dtype.newbyteorder())  # of this machine's, spelled out
    for array, native in ((values, values.dtype == np.dtype(dtype)), (swapped, False), (back, True)):
        rows = rows_of(1)
        assert rows.add([0], [array]) == (([np.dtype(dtype).name], []) if native else ([], [0]))
        if native:
            np.testing.assert_array_equal(values_read(rows, 1)[:, 0], np.arange(N))


def test_rows_of_blocks_are_columns():
    rows = rows_of(3)
    block = np.asfortranarray(np.arange(3 * N, dtype=np.float32).reshape(3, N))
    other = np.ones((2, 2 * N))[:, ::2]
    assert rows.add([1, 0], [block, other], np.array([2, 1])) == (["float32", "float64"], [])
    assert rows.add([2], [block[::-1]], np.array([0])) == (["float32"], [])
    np.testing.assert_array_equal(values_read(rows, 3), np.column_stack([other[1], block[2], block[2]]))


def test_other_arrays_are_left_out():
    records = np.zeros(N, dtype=[("odd", "u1"), ("value", "f4")])
    others = [
        None,
        "text",
        bytes(N),
        bytearray(N),
        np.zeros(N, dtype=">f4"),
        np.zeros(N, dtype=bool),
        np.zeros(N, dtype=np.int64),
        np.zeros(N, dtype=np.float16),
        np.zeros(N, dtype=object),
        np.zeros(N, dtype="M8[s]"),
        np.zeros(N, dtype=complex),
        np.array(["a"] * N),
        np.zeros(N, dtype="V0"),
        np.zeros(N, dtype=[]),
        records["value"],
        np.zeros(2 * N, dtype="u4").view("u2")[1::2].view("V2"),
        records,
    ]
    rows = rows_of(len(others))
    for i, other in enumerate(others):
        assert rows.add([i], [other]) == ([], [0]), other
    assert rows.add([3, 0, 1], [None, np.ones(N), "text"]) == (["float64"], [0, 2])


@pytest.mark.parametrize(
    ("numbers", "arrays", "lines", "message"),
    [
        ([0], [], None, "every number needs an array"),
        ([0, 1], [np.ones(N)] * 2, np.array([0]), "every number needs an array, and a line"),
        ([-1], [np.ones(N)], None, r"numbers of columns must lie in \[0, n_columns\)"),
        ([2], [np.ones(N)], None, r"numbers of columns must lie in \[0, n_columns\)"),
        ([0], [np.ones(N + 1)], None, "every column must be n_rows long"),
        ([0], [np.ones((N, N))], None, "every column must be n_rows long"),
        ([0], [np.ones(())], None, "every column must be n_rows long"),
        ([0], [np.ones(N)], np.array([0]), "every column must be n_rows long"),
        ([0], [np.ones((N, 2))], np.array([0]), "every column must be n_rows long"),
        ([0], [np.ones((2, N))], np.array([2]), "lines must lie within their arrays"),
        ([0], [np.ones((2, N))], np.array([-1]), "lines must lie within their arrays"),
        ([0], [np.ones((0, N))], np.array([0]), "lines must lie within their arrays"),
    ],
)
def test_what_does_not_fit_is_refused(numbers, arrays, lines, message):
    with pytest.raises(ValueError, match=message):
        rows_of(2).add(numbers, arrays, lines)


@pytest.mark.parametrize("lines", [np.array([0], dtype=np.int32), np.array([0.0])])
def test_lines_are_int64(lines):
    with pytest.raises(TypeError):
        rows_of(1).add([0], [np.ones((1, N))], lines)


def test_only_rows_in_columns_take_columns():
    with pytest.raises(ValueError, match="columns are added to rows that lie in columns"):
        _core.Rows.dense(np.ones((N, 1))).add([0], [np.ones(N)])


def test_a_column_may_be_replaced():
    rows = rows_of(1)
    rows.add([0], [np.zeros(N)])
    rows.add([0], [np.ones(N, dtype=np.float32)])
    np.testing.assert_array_equal(values_read(rows, 1), np.ones((N, 1)))
