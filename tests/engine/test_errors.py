"""Error bounds hold, are tight enough, and select the rows that are computed again in float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision, Linear, Machine, Plan
from hypothesis import given, settings
from hypothesis import strategies as st

from wald import _core

U32, U64 = 2.0**-24, 2.0**-53

pytestmark = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 60, reason="no arithmetic finer than double")

magnitudes = st.integers(-3, 3).map(lambda e: 10.0**e)


def scaled(rng, kernel, d, n, outputs, gamma, reach, size, options):
    """A machine and rows of any scale: ``reach`` of the vectors and rows, ``size`` of the coefficients."""
    plain = cases.machine(rng, kernel, d, n, outputs, **options)
    changes = {"gamma": plain.gamma * gamma, "vectors": plain.vectors * reach, "coef": plain.coef * size}
    model = Machine(**(vars(plain) | changes))
    return model, cases.rows(rng, 30, d) * reach


def wrong_by(scores, exact):
    return np.abs(scores.astype(np.longdouble) - exact).max(axis=1).astype(float)


@settings(max_examples=150)
@given(
    seed=cases.seeds,
    kernel=st.sampled_from(cases.KERNELS),
    d=st.sampled_from([1, 2, 6, 15, 33, 100, 784]),
    n=st.integers(1, 60),
    outputs=st.sampled_from([1, 3]),
    gamma=magnitudes,
    reach=magnitudes,
    size=magnitudes,
    kept=st.booleans(),
    mapped=st.booleans(),
)
def test_kernel_machine_bounds_hold(seed, kernel, d, n, outputs, gamma, reach, size, kept, mapped):
    rng = np.random.default_rng(seed)
    options = {"kept": kept, "mapped": mapped}
    model, X = scaled(rng, kernel, d, n, outputs, gamma, reach, size, options)
    packed = model.pack(single=True)
    exact = model.scores(X, np.longdouble)
    layouts = [_core.Rows.dense(X)] if mapped else [_core.Rows.dense(X), cases.csr_rows(X)]
    for rows in layouts:
        for single in (False, True):
            scores, errors = packed.scores(rows, 0.0, 1, single=single)
            finite = np.isfinite(errors)
            assert (wrong_by(scores, exact)[finite] <= errors[finite]).all()


@settings(max_examples=60)
@given(
    seed=cases.seeds,
    d=st.sampled_from([1, 2, 15, 64, 784]),
    outputs=st.sampled_from([1, 3]),
    spread=st.integers(0, 8),
)
def test_linear_bounds_hold(seed, d, outputs, spread):
    rng = np.random.default_rng(seed)
    plain = cases.linear(rng, d, outputs)
    model = Linear(plain.order, plain.coef * 10.0 ** rng.uniform(-spread, spread, d), plain.intercept)
    packed = model.pack()
    X = cases.rows(rng, 30, d) * 10.0 ** rng.uniform(-spread, spread, d)
    exact = model.scores(X, np.longdouble)
    for rows in (_core.Rows.dense(X), cases.csr_rows(X), cases.column_rows(X)):
        scores, errors = packed.scores(rows, 0.0, 1)
        assert (wrong_by(scores, exact) <= errors).all()
        narrow = model.scores(X.astype(np.float32), np.float32)
        if np.isfinite(narrow).all():
            scores, errors = packed.scores(_core.Rows.dense(X.astype(np.float32)), U32, 1)
            assert (wrong_by(scores, narrow.astype(np.longdouble)) <= errors).all()


@pytest.mark.parametrize("d", [5, 100, 784])
@pytest.mark.parametrize("kernel", cases.KERNELS)
def test_bounds_cover_a_wrapped_model_that_computes_in_single_precision(kernel, d):
    rng = np.random.default_rng(d)
    model = cases.machine(rng, kernel, d, 100)
    X = cases.rows(rng, 50, d, np.float32)
    scores, errors = model.pack().scores(_core.Rows.dense(X), U32, 1)
    assert (wrong_by(scores, model.scores(X, np.float32).astype(np.longdouble)) <= errors).all()


@pytest.mark.parametrize("degree", [1, 2, 10, 50])
@pytest.mark.parametrize("single", [False, True])
def test_bounds_hold_for_high_degrees(degree, single):
    rng = np.random.default_rng(degree)
    plain = cases.machine(rng, "poly", 20, 30)
    model = Machine(**(vars(plain) | {"degree": degree}))
    X = cases.rows(rng, 50, 20)
    scores, errors = model.pack(True).scores(_core.Rows.dense(X), 0.0, 1, single=single)
    finite = np.isfinite(errors)
    assert (wrong_by(scores, model.scores(X, np.longdouble))[finite] <= errors[finite]).all()


@pytest.mark.parametrize("d", [5, 64, 784])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("kind", ["rbf", "sigmoid", "linear"])
def test_bounds_are_tight(kind, single, d):
    """For a well scaled model a bound is far below the magnitude of the scores."""
    if kind == "linear" and single:
        pytest.skip("linear models compute in double precision")
    rng = np.random.default_rng(d)
    model = cases.linear(rng, d) if kind == "linear" else cases.machine(rng, kind, d, 100)
    X = cases.rows(rng, 50, d)
    values = model.read(X) if kind == "linear" else model.terms(X)
    made_of = (np.abs(values) @ np.abs(model.coef).T)[:, 0] + np.abs(model.intercept)
    options = {} if kind == "linear" else {"single": single}
    _, errors = model.pack(single).scores(_core.Rows.dense(X), U64, 1, **options)
    unit = U32 if single else U64
    assert (errors > 0).all()
    assert (errors <= 20 * (d + 100) * unit * (made_of + np.abs(model.coef).sum())).all()


@pytest.mark.parametrize("sign", [1, -1])
def test_rows_near_a_tie_in_single_precision_are_computed_in_double(sign):
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=20, n=100)
    X = cases.rows(rng, 60, 20)
    exact = model.scores(X, np.longdouble)[:, 0]
    nothing = Plan(Decision(), [], [], [], np.array([]), np.array([]))
    for i in range(20):
        margin = sign * (1e-10 if i % 2 else 1e-16)  # single precision sees neither, double precision one
        packed = model.pack(True, intercept=model.intercept - float(exact[i]) + margin)
        _, coarse = packed.scores(_core.Rows.dense(X), U64, 1, single=True)
        fine_scores, fine = packed.scores(_core.Rows.dense(X), U64, 1)
        assert coarse[i] > 1e-10 > fine[i] > 1e-16
        rows = _core.Rows.dense(X)
        codes, stages = cases.marked(nothing.engine(packed).predict(rows, 0, "full", U64, 2))
        assert codes[i] == ((sign > 0) if i % 2 else cases.HANDED_OVER)
        sure = np.abs(fine_scores[:, 0]) > fine
        np.testing.assert_array_equal(codes, np.where(sure, fine_scores[:, 0] > 0, cases.HANDED_OVER))
        assert (stages == 0).all()
        assert cases.marked(nothing.engine(packed).predict_one(X[i], 0, "full", U64)) == (codes[i], 0)


@pytest.mark.usefixtures("four_threads")
def test_many_rows_near_a_tie():
    """Large coefficients cancel each other, so that float32 decides some rows only."""
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=20, n=100, exact=True)
    vectors = np.repeat(model.vectors[:50], 2, axis=0)
    coef = model.coef + 3e3 * np.tile([1.0, -1.0], 50)
    model = replace(model, vectors=vectors, coef=coef)
    X = cases.rows(rng, 17000, 20, np.float32)  # two chunks
    rows = _core.Rows.dense(X)
    middle = np.median(model.pack().scores(rows, U64, 1)[0])
    packed = model.pack(True, intercept=model.intercept - middle)
    coarse, unsure = packed.scores(rows, U64, 1, single=True)
    tied = np.abs(coarse[:, 0]) <= unsure
    assert 0.1 < tied.mean() < 0.9
    fine, errors = packed.scores(rows, U64, 1)
    assert (np.abs(fine[:, 0]) > errors).all()
    plan = Plan(Decision(), [16], [rng.normal(size=(1, 16))], [np.zeros(1)], np.zeros(1), np.zeros(1))
    low, high = np.quantile(plan.engine(packed).trace(rows, 1), [0.25, 0.75], axis=0)
    engine = replace(plan, low=low, high=high).engine(packed)
    expected = engine.predict(rows, 1, "full", U64, 1)
    codes, stages = cases.marked(expected)
    assert 0.4 < (stages == 1).mean() < 0.6
    np.testing.assert_array_equal(codes[stages == 1], (fine[:, 0] > 0)[stages == 1])
    for other in (rows, _core.Rows.dense(np.asfortranarray(X)), cases.csr_rows(X)):
        for n_threads in (2, 4):
            assert cases.bits(engine.predict(other, 1, "full", U64, n_threads)) == cases.bits(expected)
    some = rng.permutation(len(X))[:9000]
    rows.take(some)
    seen = engine.predict(rows, 1, "full", U64, 2)
    assert cases.bits(seen) == cases.bits(tuple(part[some] for part in expected))
    for row in range(0, len(X), 499):
        assert cases.marked(engine.predict_one(X[row], 1, "full", U64)) == (codes[row], stages[row])


def test_the_tie_margin_widens_the_bound():
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=20, n=100)
    X = cases.rows(rng, 60, 20)
    scores, errors = model.pack().scores(_core.Rows.dense(X), U64, 1)
    for tie_margin in (0.0, 0.5, 100.0, np.inf):
        plan = Plan(Decision(), [], [], [], np.array([]), np.array([]), tie_margin)
        codes, _ = cases.marked(plan.engine(model.pack(True)).predict(_core.Rows.dense(X), 0, "full", U64, 1))
        sure = np.abs(scores[:, 0]) > errors + tie_margin
        np.testing.assert_array_equal(codes, np.where(sure, scores[:, 0] > 0, cases.HANDED_OVER))
