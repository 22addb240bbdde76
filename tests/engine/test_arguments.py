"""Whatever is passed, the engine answers or raises ValueError or TypeError; it trusts nobody."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision

from wald import _core

BAD = (ValueError, TypeError)
U = 2.0**-53
RNG = np.random.default_rng(0)
MACHINE = cases.machine(RNG, d=6, n=10)
LINEAR = cases.linear(RNG, 6)
X = cases.rows(RNG, 8, 6)

ints, longs, floats = (lambda *v, t=t: np.array(v, dtype=t) for t in (np.int32, np.int64, np.float64))


def named(change):
    """Say what is wrong, in the name of a test."""
    return "-".join(f"{k}={v if not isinstance(v, np.ndarray) or v.size <= 4 else v.shape}" for k, v in change.items())


def kind_of(x):
    return f"{x.dtype.str}{x.shape}" if isinstance(x, np.ndarray) else type(x).__name__


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
        {"swing": -1.0},
        {"swing": np.nan},
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
    """They fit a model in double precision, and must not become infinite in one that was packed in single."""
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


PLAN = cases.plan(RNG, MACHINE, Decision(), 2)
STAGE = {"terms": longs(3, 5), "weights": [np.zeros((1, 3)), np.zeros((1, 5))], "bias": [np.zeros(1)] * 2}


@pytest.mark.parametrize(
    "change",
    [
        {"decision": "softmax"},
        {"decision": None},
        {"decision": "argmax"},
        {"decision": "votes", "n_classes": 3},
        {"decision": "votes", "n_classes": 2},  # scikit-learn's binary models have their own sign
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
        {"weights": None},
        {"bias": [np.zeros(1)]},
        {"bias": [np.zeros(1), np.zeros(2)]},
        {"bias": [np.zeros(1), np.zeros(0)]},
        {"bias": [np.zeros(1), floats(np.nan)]},
        {"low": floats(0)},
        {"high": floats(0, 0, 0)},
        {"low": floats(0, np.nan)},
        {"high": floats(0, np.nan)},
        {"slack": -1.0},
        {"slack": np.nan},
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


def test_there_are_no_models_or_rows_without_a_constructor():
    for what in (_core.Model, _core.Rows):
        with pytest.raises(TypeError):
            what()


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
                engine.look(rows, 1)
            with pytest.raises(ValueError, match=f"{width} columns"):
                packed.scores(rows, U, 1)


def test_rows_that_are_none():
    engine = PLAN.engine(MACHINE.pack())
    for nothing in (None, X, [1.0]):
        with pytest.raises(TypeError):
            engine.predict(nothing, 1, "full", U, 1)
        with pytest.raises(TypeError):
            engine.look(nothing, 1)


def test_missing_columns():
    engine = cases.plan(RNG, LINEAR, Decision(), 3).engine(LINEAR.pack())
    first = int(LINEAR.order[0])
    plan = cases.plan(RNG, LINEAR, Decision(), 1)
    one = plan.engine(LINEAR.pack(), terms=longs(1), weights=[np.ones((1, 1))])
    some = cases.column_rows(X, [first])
    with pytest.raises(ValueError, match="missing"):
        one.predict(some, 1, "pending", U, 1)
    with pytest.raises(ValueError, match="missing"):
        one.look(some, 1)
    for rows in (some, cases.column_rows(X, range(6))):
        with pytest.raises(ValueError, match="every column"):
            engine.predict(rows, 0, "full", U, 1)
        with pytest.raises(ValueError, match="every column"):
            LINEAR.pack().scores(rows, U, 1)


def test_a_kernel_machine_takes_no_columns():
    packed = MACHINE.pack()
    rows = cases.column_rows(X)
    with pytest.raises(ValueError, match="whole rows"):
        PLAN.engine(packed).predict(rows, 1, "full", U, 1)
    with pytest.raises(ValueError, match="whole rows"):
        packed.scores(rows, U, 1)


def test_a_shift_needs_dense_rows():
    """Zeros that a sparse row does not store would have to be shifted too."""
    packed = cases.machine(RNG, d=6, mapped=True).pack()
    with pytest.raises(ValueError, match=r"sparse|CSR|shift"):
        packed.scores(cases.csr_rows(X), U, 1)


def test_a_model_that_was_not_packed_in_single_precision():
    with pytest.raises(ValueError, match="single"):
        MACHINE.pack().scores(_core.Rows.dense(X), U, 1, single=True)


def test_rows_that_are_not_aligned():
    """They are read as if they were, or refused."""
    engine = PLAN.engine(MACHINE.pack())
    buffer = np.zeros(X.nbytes + 1, dtype=np.uint8)
    crooked = buffer[1:].view(np.float64).reshape(X.shape)
    crooked[...] = X
    assert not crooked.flags.aligned
    try:
        rows = _core.Rows.dense(crooked)
    except BAD:
        return
    assert cases.bits(engine.look(rows, 1)) == cases.bits(engine.look(_core.Rows.dense(X), 1))


def test_rows_outlive_their_arrays():
    engine = PLAN.engine(MACHINE.pack())
    expected = cases.bits(engine.look(_core.Rows.dense(X), 1))
    rows = [_core.Rows.dense(X.copy()), cases.csr_rows(X.copy())]
    np.full((1000, 100), 7.0)  # in their place
    assert all(cases.bits(engine.look(r, 1)) == expected for r in rows)


def test_an_engine_outlives_its_model_and_its_arrays():
    engine = PLAN.engine(MACHINE.pack())
    expected = cases.bits(engine.look(_core.Rows.dense(X), 1))
    weights = [w.copy() for w in PLAN.weights]
    fragile = PLAN.engine(MACHINE.pack(vectors=MACHINE.vectors.copy()), weights=weights)
    for w in weights:
        w[...] = np.nan
    assert cases.bits(fragile.look(_core.Rows.dense(X), 1)) == expected
