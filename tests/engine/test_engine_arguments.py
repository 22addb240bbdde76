"""Every call of an engine answers or raises ValueError or TypeError, whatever its arguments."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.hostile import BAD, LINEAR, MACHINE, RNG, U, X, floats, kind_of, longs, named
from engine.reference import Decision

from wald import _core

PLAN = cases.plan(RNG, MACHINE, Decision(), 2)
STAGE = {"terms": longs(3, 5), "weights": [np.zeros((1, 3)), np.zeros((1, 5))], "bias": [np.zeros(1)] * 2}


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "softmax"},
        {"kind": None},
        {"kind": "argmax"},
        {"kind": "votes", "n_classes": 3},
        {"kind": "votes", "n_classes": 2},  # scikit-learn's binary models have their own sign
        {"n_classes": 1},
        {"n_classes": 0},
        {"n_classes": -3},
        {"n_classes": 2**31 - 1},
        {"threshold": "0"},
        {"terms": longs(5, 3)},
        {"terms": longs(3, 11)},
        {"terms": longs(-1, 5)},
        {"terms": longs(3)},
        {"terms": longs(3, 5, 5)},
        {"terms": np.array([[3, 5]])},
        {"weights": STAGE["weights"][:1]},
        {"weights": STAGE["weights"][::-1]},
        {"weights": [np.zeros((1, 3)), np.zeros((2, 5))]},
        {"weights": [np.zeros((1, 3)), np.zeros(5)]},
        {"weights": [np.zeros((1, 3)), np.full((1, 5), np.nan)]},
        {"weights": [np.zeros((1, 3)), np.full((1, 5), np.inf)]},
        {"readouts": None},
        {"readouts": 3},
        {"bias": [np.zeros(1)]},
        {"bias": [np.zeros(1), np.zeros(2)]},
        {"bias": [np.zeros(1), np.zeros(0)]},
        {"bias": [np.zeros(1), floats(np.nan)]},
        {"low": floats(0)},
        {"high": floats(0, 0, 0)},
        {"low": floats(0, np.nan)},
        {"high": floats(0, np.nan)},
        {"tie_margin": -1.0},
        {"tie_margin": np.nan},
    ],
    ids=named,
)
@pytest.mark.parametrize("kind", ["kernel", "linear"])
def test_engine(kind, change):
    packed = MACHINE.pack() if kind == "kernel" else LINEAR.pack()
    good = STAGE | {"low": floats(0, 0), "high": floats(0, 0)}
    PLAN.engine(packed, **good)
    with pytest.raises(BAD):
        PLAN.engine(packed, **(good | change))


def test_readouts_beyond_single_precision():
    weights = [np.full((1, 3), 1e300), np.zeros((1, 5))]
    options = STAGE | {"low": floats(0, 0), "high": floats(0, 0), "weights": weights}
    PLAN.engine(MACHINE.pack(), **options)
    with pytest.raises(ValueError, match="single"):
        PLAN.engine(MACHINE.pack(True), **options)


@pytest.mark.parametrize("model", [None, 3, "model"])
def test_engine_of_something_else(model):
    with pytest.raises(TypeError):
        PLAN.engine(model)


@pytest.mark.parametrize(
    ("n_stages", "at_end", "working", "n_threads"),
    [
        (-1, "full", U, 1),
        (3, "full", U, 1),
        (2**31, "full", U, 1),
        (1.5, "full", U, 1),
        (None, "full", U, 1),
        (0, "answer", U, 1),
        (1, "end", U, 1),
        (1, None, U, 1),
        (1, "full", None, 1),
        (1, "full", -1.0, 1),
        (1, "full", np.nan, 1),
        (1, "full", U, "two"),
    ],
)
def test_predict(n_stages, at_end, working, n_threads):
    engine = PLAN.engine(MACHINE.pack())
    with pytest.raises(BAD):
        engine.predict(_core.Rows.dense(X), n_stages, at_end, working, n_threads)
    if n_threads == 1:
        with pytest.raises(BAD):
            engine.predict_one(X[0], n_stages, at_end, working)


@pytest.mark.parametrize(
    "x",
    [X, X[0, :5], np.float64(1), *(X[0].astype(t) for t in ("i8", "f2", ">f8")), list(X[0]), None, "row"],
    ids=kind_of,
)
def test_predict_one(x):
    for packed in (MACHINE.pack(), LINEAR.pack()):
        with pytest.raises(BAD):
            cases.plan(RNG, LINEAR, Decision(), 2).engine(packed).predict_one(x, 1, "full", U)


@pytest.mark.parametrize("width", [0, 5, 7])
def test_rows_of_another_width(width):
    other = np.zeros((2, width))
    for packed in (MACHINE.pack(), LINEAR.pack()):
        engine = cases.plan(RNG, LINEAR, Decision(), 2).engine(packed)
        for rows in (_core.Rows.dense(other), cases.csr_rows(other), cases.column_rows(other)):
            with pytest.raises(ValueError, match=f"{width} columns"):
                engine.predict(rows, 1, "full", U, 1)
            with pytest.raises(ValueError, match=f"{width} columns"):
                engine.trace(rows, 1)
            with pytest.raises(ValueError, match=f"{width} columns"):
                packed.scores(rows, U, 1)


def test_rows_that_are_none():
    engine = PLAN.engine(MACHINE.pack())
    for nothing in (None, X, [1.0]):
        with pytest.raises(TypeError):
            engine.predict(nothing, 1, "full", U, 1)
        with pytest.raises(TypeError):
            engine.trace(nothing, 1)


def test_missing_columns():
    engine = cases.plan(RNG, LINEAR, Decision(), 3).engine(LINEAR.pack())
    first = int(LINEAR.order[0])
    plan = cases.plan(RNG, LINEAR, Decision(), 1)
    one = plan.engine(LINEAR.pack(), terms=longs(1), weights=[np.ones((1, 1))])
    some = cases.column_rows(X, [first])
    with pytest.raises(ValueError, match="missing"):
        one.predict(some, 1, "pending", U, 1)
    with pytest.raises(ValueError, match="missing"):
        one.trace(some, 1)
    for rows in (some, cases.column_rows(X, range(6))):
        with pytest.raises(ValueError, match="every column"):
            engine.predict(rows, 0, "full", U, 1)
        with pytest.raises(ValueError, match="every column"):
            LINEAR.pack().scores(rows, U, 1)


def test_a_kernel_machine_reads_every_column():
    packed = MACHINE.pack()
    engine = PLAN.engine(packed)
    for missing in range(X.shape[1]):
        rows = cases.column_rows(X, [missing])
        for n_stages, at_end in [(1, "full"), (1, "pending"), (0, "pending")]:
            with pytest.raises(ValueError, match="every column"):
                engine.predict(rows, n_stages, at_end, U, 1)
        with pytest.raises(ValueError, match="every column"):
            engine.trace(rows, 1)
        with pytest.raises(ValueError, match="every column"):
            packed.scores(rows, U, 1)


def test_rows_that_are_not_aligned():
    """Unaligned rows are read as if they were aligned, or refused."""
    engine = PLAN.engine(MACHINE.pack())
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    crooked = buffer[1:].view(np.float64).reshape(X.shape)
    crooked[...] = X
    assert not crooked.flags.aligned
    try:
        rows = _core.Rows.dense(crooked)
    except BAD:
        return
    assert cases.bits(engine.trace(rows, 1)) == cases.bits(engine.trace(_core.Rows.dense(X), 1))


def test_rows_outlive_their_arrays():
    engine = PLAN.engine(MACHINE.pack())
    expected = cases.bits(engine.trace(_core.Rows.dense(X), 1))
    rows = [_core.Rows.dense(X.copy()), cases.csr_rows(X.copy())]
    np.full((1000, 100), 7.0)  # in their place
    assert all(cases.bits(engine.trace(r, 1)) == expected for r in rows)


def test_an_engine_outlives_its_model_and_its_arrays():
    engine = PLAN.engine(MACHINE.pack())
    expected = cases.bits(engine.trace(_core.Rows.dense(X), 1))
    weights = [w.copy() for w in PLAN.weights]
    fragile = PLAN.engine(MACHINE.pack(vectors=MACHINE.vectors.copy()), weights=weights)
    for w in weights:
        w[...] = np.nan
    assert cases.bits(fragile.trace(_core.Rows.dense(X), 1)) == expected
