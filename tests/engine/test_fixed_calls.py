"""Rows in arrays by a call that is always the same: what the engine says of them, or None."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.hostile import BAD, LINEAR, MACHINE, RNG, U, X, kind_of
from engine.reference import Decision
from hypothesis import given
from hypothesis import strategies as st

from wald import _core

UNITS = [2.0**-24, U, U]  # of float32, float64 and uint8
PLAN = cases.plan(RNG, LINEAR, Decision(), 2)


@given(
    seed=cases.seeds,
    kernel=st.booleans(),
    decision=st.sampled_from(cases.DECISIONS),
    at_end=st.sampled_from(["full", "answer", "pending"]),
    dtype=st.sampled_from(["f4", "f8", "u1"]),
    nan=st.sampled_from([0.0, 0.1]),
    order=st.sampled_from("CF"),
)
def test_answers_are_those_of_the_engine(seed, kernel, decision, at_end, dtype, nan, order):
    rng = np.random.default_rng(seed)
    make = cases.machine if kernel else cases.linear
    model = make(rng, d=9, outputs=decision.n_outputs)
    engine = cases.plan(rng, model, decision, 3).engine(model.pack(), costs=np.cumsum(rng.random(4)))
    labels = tuple(f"label {code}" for code in range(max(2, decision.n_classes)))
    one = _core.FixedCalls(engine, 3, at_end, UNITS, labels)
    values = cases.rows(rng, 20, 9, nan=nan)
    if dtype == "u1":
        values = np.nan_to_num(np.abs(values) * 50)
    rows = np.asarray(values.astype(dtype), order=order)
    unit = UNITS[["f4", "f8", "u1"].index(dtype)]
    for i in range(20):
        found = engine.predict_one(rows[i], 3, at_end, unit)
        code, _, paid, status = found
        if status >= _core.HANDED_OVER:
            assert one.label(rows[i], True) is one.label(rows[i], False) is one.decided(rows[i : i + 1]) is None
        else:
            assert one.label(rows[i], False) is labels[code]
            assert one.label(rows[i], True) == (labels[code], paid)
            assert one.decided(rows[i : i + 1]) == found
    read = _core.Rows.dense(rows)
    codes, _, _, status = engine.predict(read, 3, at_end, unit, 1)
    answered, tied = status < _core.HANDED_OVER, status == _core.HANDED_OVER
    for some in (np.arange(20), np.flatnonzero(answered | tied), np.flatnonzero(answered)[:5]):
        found = one.codes(rows[some], 2)
        if len(some) == 0 or (status[some] > _core.HANDED_OVER).any():
            assert found is None
        else:
            assert found[0].tolist() == codes[some].tolist()
            assert found[1].tolist() == np.flatnonzero(tied[some]).tolist()


class Halved(np.ndarray):
    """An array whose values are not what its memory holds."""


@pytest.mark.parametrize(
    "x",
    [
        *(X[0].astype(t) for t in ("i8", "f2", ">f8", "?", "O")),
        *(X[0, :5], X, X[:2], np.float64(1), np.array(1.0)),
        *(list(X[0]), [list(X[0])], memoryview(X[0]), bytes(6), "row", None, {"a": 1}),
        X[0].view(Halved),
        np.ma.masked_array(X[0], mask=True),
        np.frombuffer(b"\0" * 49, "f8", 6, offset=1),
    ],
    ids=kind_of,
)
def test_what_the_engine_does_not_read_in_place_is_left(x):
    for packed in (MACHINE.pack(), LINEAR.pack()):
        one = _core.FixedCalls(PLAN.engine(packed), 2, "answer", UNITS, ("no", "yes"))
        assert one.label(X[0], False) in ("no", "yes")
        assert one.label(x, False) is one.label(x, True) is one.decided(x) is None


def test_a_table_is_no_row_and_a_row_no_table():
    one = _core.FixedCalls(PLAN.engine(LINEAR.pack()), 2, "answer", UNITS, ("no", "yes"))
    assert len(one.codes(X, 1)[0]) == len(X)
    for x in (X[0], X[None], X[:, :5], X[:0], X.astype("i8"), X.astype(object), X.view(Halved), X.tolist(), None):
        assert one.codes(x, 1) is None
    assert one.label(X[:1], False) is None
    assert one.decided(X[0]) is None


def test_codes_without_a_label_are_left():
    one = _core.FixedCalls(PLAN.engine(LINEAR.pack()), 2, "answer", UNITS, ())
    assert all(one.label(x, False) is None for x in X)


@pytest.mark.parametrize(
    "given",
    [
        (3, "full", UNITS, ()),
        (-1, "full", UNITS, ()),
        (0, "answer", UNITS, ()),
        (2, "end", UNITS, ()),
        (2, "full", UNITS[:2], ()),
        (2, "full", [U, U, np.nan], ()),
        (2, "full", [U, -U, U], ()),
        (2, "full", UNITS, None),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(given):
    with pytest.raises(BAD):
        _core.FixedCalls(PLAN.engine(LINEAR.pack()), *given)
