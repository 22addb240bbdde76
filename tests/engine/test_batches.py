"""A row's answers do not depend on the rows around it, their order, or the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision
from hypothesis import given, settings
from hypothesis import strategies as st

from wald import _core

U = 2.0**-53


def answers(engine, packed, X, n_threads=1, build=_core.Rows.dense):
    """All results of the engine, row by row, as bits."""
    rows = build(X)
    given_by = [
        *cases.as_tuple(engine.trace(rows, n_threads)),
        *engine.predict(rows, engine.n_stages, "full", U, n_threads),
        *engine.predict(rows, engine.n_stages, "answer", U, n_threads),
        *engine.predict(rows, 0, "full", U, n_threads),
        *packed.scores(rows, U, n_threads),
    ]
    return np.hstack([np.ascontiguousarray(a).view(np.uint8).reshape(len(X), -1) for a in given_by])


@settings(max_examples=40)
@given(
    seed=cases.seeds,
    kind=st.sampled_from(["double", "single", "linear"]),
    kernel=st.sampled_from(cases.KERNELS),
    d=st.sampled_from(cases.WIDTHS),
    decision=st.sampled_from(cases.DECISIONS),
    kept=st.booleans(),
    mapped=st.booleans(),
)
def test_order_and_company(seed, kind, kernel, d, decision, kept, mapped):
    rng = np.random.default_rng(seed)
    options = {} if kind == "linear" else {"kernel": kernel, "kept": kept, "mapped": mapped}
    model, packed = cases.packed(rng, kind, d, 60, decision.n_outputs, **options)
    engine = cases.plan(rng, model, decision).engine(packed)
    X = cases.rows(rng, 40, d)
    together = answers(engine, packed, X)
    shuffled = rng.permutation(40)
    np.testing.assert_array_equal(answers(engine, packed, X[shuffled]), together[shuffled])
    for i in rng.choice(40, 8, replace=False):
        np.testing.assert_array_equal(answers(engine, packed, X[i : i + 1]), together[i : i + 1])
    some = rng.random(40) < 0.4
    np.testing.assert_array_equal(answers(engine, packed, X[some]), together[some])


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("decision", [Decision(), Decision("votes", 4)], ids=lambda d: d.kind)
@pytest.mark.parametrize("kind", ["double", "single", "linear"])
@pytest.mark.parametrize("n_rows", [3, 40, 600, 5000])  # for one thread; in one batch a thread; tile by tile
def test_number_of_threads(kind, decision, n_rows):
    rng = np.random.default_rng(0)
    d = 33
    model, packed = cases.packed(rng, kind, d, 600, decision.n_outputs)
    engine = cases.plan(rng, model, decision).engine(packed)
    X = cases.rows(rng, n_rows, d)
    expected = answers(engine, packed, X)
    for n_threads in (0, 2, 3, 4, 1000):
        np.testing.assert_array_equal(answers(engine, packed, X, n_threads), expected)


@pytest.mark.usefixtures("four_threads")
def test_more_threads_than_rows():
    rng = np.random.default_rng(0)
    model, packed = cases.packed(rng, "single", 33, 60, 1)
    engine = cases.plan(rng, model, Decision()).engine(packed)
    X = cases.rows(rng, 5, 33)
    expected = answers(engine, packed, X)
    _core.set_num_threads(2**31 - 1)
    np.testing.assert_array_equal(answers(engine, packed, X, 2**31 - 1), expected)


@pytest.mark.usefixtures("four_threads")
def test_many_short_calls_on_many_threads():
    rng = np.random.default_rng(0)
    packed = cases.machine(rng, d=33, n=600).pack(single=True)
    rows = _core.Rows.dense(cases.rows(rng, 100, 33))
    expected = cases.bits(packed.scores(rows, U, 1))
    for call in range(500):
        assert cases.bits(packed.scores(rows, U, (2, 3, 4, 2**31 - 1)[call % 4])) == expected


def test_more_rows_than_a_chunk():
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=3, n=20)
    engine = cases.plan(rng, model, Decision()).engine(model.pack(True))
    X = cases.rows(rng, 17000, 3)
    found = engine.predict(_core.Rows.dense(X), 4, "full", U, 2)
    for part in (slice(0, 100), slice(16300, 16500), slice(16900, 17000)):
        expected = engine.predict(_core.Rows.dense(X[part]), 4, "full", U, 1)
        assert cases.bits(tuple(array[part] for array in found)) == cases.bits(expected)


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_whether_zeros_are_skipped_changes_nothing(single):
    """Rows stored as lists of non-zeros give the same bits as rows in the form that the engine chooses."""
    rng = np.random.default_rng(0)
    d = 64
    model = cases.machine(rng, d=d, n=50)
    plan = cases.plan(rng, model, Decision())
    kept = np.arange(d, dtype=np.int32)  # every row becomes a list
    as_lists = plan.engine(model.pack(single, kept=kept))
    for density in (0.05, 0.39, 0.41, 0.7, 1.0):  # the engine's own choice changes in between
        X = rng.normal(size=(20, d)) * (rng.random((20, d)) < density)
        expected = cases.bits(plan.engine(model.pack(single)).trace(_core.Rows.dense(X), 1))
        assert cases.bits(as_lists.trace(_core.Rows.dense(X), 1)) == expected


def test_memory_of_an_earlier_call_does_not_shine_through():
    rng = np.random.default_rng(0)
    small, large = cases.machine(rng, d=5, n=7), cases.machine(rng, d=300, n=200)
    engine = cases.plan(rng, small, Decision()).engine(small.pack())
    X = cases.rows(rng, 10, 5)
    expected = cases.bits(engine.trace(_core.Rows.dense(X), 1))
    big = cases.plan(rng, large, Decision()).engine(large.pack())
    for value in (1.0, np.nan, 1e30):
        big.trace(_core.Rows.dense(np.full((100, 300), value)), 1)
        assert cases.bits(engine.trace(_core.Rows.dense(X), 1)) == expected
