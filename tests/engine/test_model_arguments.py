"""Rows and models are packed, or raise ValueError or TypeError, whatever the arguments."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.hostile import BAD, LINEAR, MACHINE, RNG, U, X, floats, ints, kind_of, longs, named

from wald import _core


@pytest.mark.parametrize(
    "x",
    [
        np.zeros(3),
        np.zeros((2, 3, 4)),
        np.zeros((2, 3), dtype=np.float16),
        np.zeros((2, 3), dtype=np.longdouble),
        np.zeros((2, 3), dtype=np.int64),
        np.zeros((2, 3), dtype=bool),
        np.zeros((2, 3), dtype=np.complex128),
        np.zeros((2, 3), dtype=object),
        np.zeros((2, 3), dtype=">f8"),
        np.zeros((2, 3), dtype="U1"),
        np.zeros(2, dtype=[("a", "f8")]),
        [[1.0, 2.0]],
        None,
        "rows",
    ],
    ids=kind_of,
)
def test_dense(x):
    with pytest.raises(BAD):
        _core.Rows.dense(x)


@pytest.mark.parametrize(
    ("n_rows", "columns"),
    [
        (-1, []),
        (3, [np.zeros(2)]),
        (3, [np.zeros((3, 1))]),
        (3, [np.zeros(3, dtype=np.int32)]),
        (3, [np.zeros(3), "column"]),
        (3, np.float64(3)),
        (2.5, [None]),
    ],
)
def test_columns(n_rows, columns):
    with pytest.raises(BAD):
        _core.Rows.columns(n_rows, columns)


GOOD_CSR = {"values": floats(1, 2, 3), "indices": ints(0, 2, 1), "indptr": longs(0, 2, 2, 3), "n_columns": 3}


@pytest.mark.parametrize(
    "change",
    [
        {"indices": ints(0, 3, 1)},
        {"indices": ints(0, -1, 1)},
        {"indices": ints(-1, 2, 1)},
        {"indices": ints(2, 0, 1)},
        {"indices": ints(2, 2, 1)},
        {"indices": ints(0, 2)},
        {"indices": ints(2**31 - 1, 2, 1)},
        {"indices": longs(0, 2, 2**32 + 1)},
        {"indices": floats(0, 2, 1)},
        {"indices": np.array([[0, 2, 1]], dtype=np.int32)},
        {"indptr": longs()},
        {"indptr": longs(0, 2, 1, 3)},
        {"indptr": longs(0, 2, 2, 4)},
        {"indptr": longs(0, 2**62, 2, 3)},
        {"indptr": longs(-1, 2, 2, 3)},
        {"indptr": longs(0, -(2**63), 2, 3)},
        {"indptr": floats(0, 2, 2, 3)},
        {"values": floats(1, 2)},
        {"values": np.zeros((3, 1))},
        {"values": np.zeros(6)[::2]},
        {"values": np.zeros(3)[::-1]},
        {"values": ints(1, 2, 3)},
        {"n_columns": 2},
        {"n_columns": 0},
        {"n_columns": -1},
        {"n_columns": None},
    ],
    ids=named,
)
def test_csr(change):
    _core.Rows.csr(**GOOD_CSR)
    with pytest.raises(BAD):
        _core.Rows.csr(**(GOOD_CSR | change))


@pytest.mark.parametrize("ids", [longs(-1), longs(8), longs(0, 2**62), floats(1), longs(0).reshape(1, 1), None])
def test_take(ids):
    rows = _core.Rows.dense(X)
    with pytest.raises(BAD):
        rows.take(ids)
    assert len(rows) == 8


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": "linear"},
        {"kernel": None},
        {"gamma": -1.0},
        {"gamma": np.nan},
        {"gamma": np.inf},
        {"coef0": np.nan},
        {"coef0": -np.inf},
        {"degree": -1},
        {"degree": 1001},
        {"degree": 2**31},
        {"degree": 2.5},
        {"vectors": MACHINE.vectors[:, :5].copy()},
        {"vectors": MACHINE.vectors[:0]},
        {"vectors": MACHINE.vectors[0]},
        {"vectors": MACHINE.vectors * np.where(np.arange(6) == 5, np.nan, 1)},
        {"vectors": np.full((10, 6), np.inf)},
        {"vectors": MACHINE.vectors.astype(complex)},
        {"landmarks": np.zeros((1, 5))},
        {"landmarks": np.full((1, 6), np.nan)},
        {"order": np.arange(1, 11)},
        {"order": np.arange(-1, 9)},
        {"order": np.arange(9)},
        {"order": np.arange(10.0)},
        {"linear": MACHINE.linear[:-1]},
        {"linear": np.zeros((10, 1), dtype=np.uint8)},
        {"coef": MACHINE.coef[:, :-1].copy()},
        {"coef": MACHINE.coef[0]},
        {"coef": np.full((1, 10), np.nan)},
        {"coef": np.zeros((2, 10))},
        {"coef": np.zeros((0, 10)), "intercept": floats()},
        {"intercept": floats(np.inf)},
        {"intercept": floats()},
        {"n_features": 0},
        {"n_features": -1},
        {"n_features": 5},
        {"n_features": 2**40},
        {"kept": ints(0, 1, 2, 3, 4, 6)},
        {"kept": ints(-1, 1, 2, 3, 4, 5)},
        {"kept": ints(0, 1, 2, 4, 3, 5)},
        {"kept": ints(0, 1, 2, 3, 3, 5)},
        {"kept": ints(0, 1, 2)},
        {"kept": ints(), "vectors": np.zeros((10, 0))},
        {"scale": np.ones(6)},
        {"shift": np.ones(6)},
        {"scale": np.ones(5), "shift": np.ones(5)},
        {"fill": np.ones(5)},
        {"scaling_magnitude": -1.0},
        {"scaling_magnitude": np.nan},
    ],
    ids=named,
)
@pytest.mark.parametrize("single", [False, True])
def test_kernel(change, single):
    with pytest.raises(BAD):
        MACHINE.pack(single, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"vectors": np.full((10, 6), 1e300)},
        {"landmarks": np.full((1, 6), 1e300)},
        {"coef": np.full((1, 10), 1e300)},
        {"gamma": 1e300},
    ],
    ids=named,
)
def test_numbers_beyond_single_precision(change):
    """Such numbers fit a float64 model, and must not become infinite in a float32 model."""
    MACHINE.pack(False, **change)
    with pytest.raises(ValueError, match="single"):
        MACHINE.pack(True, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"order": ints(0, 0)},
        {"order": ints(6)},
        {"order": ints(-1)},
        {"order": ints(2**31 - 1)},
        {"order": longs(2**32)},
        {"order": np.zeros((1, 1), dtype=np.int32)},
        {"coef": np.zeros((1, 0))},
        {"coef": np.zeros(6)},
        {"coef": np.full((1, 6), np.nan)},
        {"coef": np.zeros((2, 6))},
        {"coef": np.zeros((0, 6)), "intercept": floats()},
        {"intercept": floats(np.nan)},
        {"intercept": floats(1, 2)},
        {"fill": np.zeros(5)},
        {"magnitude": np.zeros(5)},
        {"magnitude": None},
        {"magnitude": -np.ones(6)},
        {"bias_magnitude": -1.0},
        {"depth": -1.0},
    ],
    ids=named,
)
def test_linear(change):
    with pytest.raises(BAD):
        LINEAR.pack(**change)


def test_there_are_no_models_or_rows_without_a_constructor():
    for what in (_core.Model, _core.Rows):
        with pytest.raises(TypeError):
            what()


def test_a_shift_needs_dense_rows():
    """Zeros that a sparse row does not store would have to be shifted, too."""
    packed = cases.machine(RNG, d=6, mapped=True).pack()
    with pytest.raises(ValueError, match=r"sparse|CSR|shift"):
        packed.scores(cases.csr_rows(X), U, 1)


def test_a_model_that_was_not_packed_in_single_precision():
    with pytest.raises(ValueError, match="single"):
        MACHINE.pack().scores(_core.Rows.dense(X), U, 1, single=True)
