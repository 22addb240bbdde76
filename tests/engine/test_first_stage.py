"""The first stage gives the same results for single rows, for every layout and dtype, and for any batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision, Plan
from scipy import sparse

from wald import _core

U = 2.0**-53
D = 50


def two_stages(packed, first, X, last=40):
    """Stages after ``first`` and after ``last`` terms, each of which decides about half of the rows that reach it."""
    rng = np.random.default_rng(1)
    weights = [rng.normal(size=(1, m)) for m in (first, last)]
    plan = Plan(Decision(), [first, last], weights, [np.zeros(1)] * 2, np.zeros(2), np.zeros(2))
    low, high = np.quantile(plan.engine(packed).trace(cases.csr_rows(X), 1), [0.25, 0.75], axis=0)
    return replace(plan, low=low, high=high).engine(packed)


@pytest.mark.parametrize("sparse", ["all", "the first 200", "every other"])
@pytest.mark.parametrize("n_rows", [1, 32, 33, 65, 600])  # thirty-two are evaluated together
@pytest.mark.parametrize("first", [1, 16, 17, 32, 33])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_neither_layout_nor_dtype_nor_company_matters(single, first, n_rows, sparse):
    rng = np.random.default_rng(first)
    model = cases.machine(rng, d=D, n=60)
    i = np.arange(n_rows)
    few = {"all": i >= 0, "the first 200": i < 200, "every other": i % 2 == 0}[sparse]
    lit = rng.random((n_rows, D)) < np.where(few, 0.25, 0.9)[:, None]
    X = (lit * rng.integers(0, 3, (n_rows, D))).astype(np.uint8)
    engine = two_stages(model.pack(single), first, X)
    expected = engine.predict(cases.csr_rows(X), 2, "full", U, 1)
    assert n_rows == 1 or 0.3 < (expected[1] == 0).mean() < 0.7
    for dtype in (np.uint8, np.float32, np.float64):
        Y = X.astype(dtype)
        for _, rows in [*cases.layouts(Y), ("CSR", cases.csr_rows(Y))]:
            assert cases.bits(engine.predict(rows, 2, "full", U, 2)) == cases.bits(expected)
    for row in range(0, n_rows, 37):
        assert engine.predict_one(X[row], 2, "full", U) == tuple(part[row] for part in expected)


@pytest.mark.usefixtures("four_threads")
@pytest.mark.parametrize("n_rows", [1100, 5000, 17000])  # in one batch for two threads; tile by tile; in two chunks
def test_neither_threads_nor_what_happens_at_the_end_matters(n_rows):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n_rows, D)) * (rng.random((n_rows, D)) < 0.2)).astype(np.float32)
    engine = two_stages(cases.machine(rng, d=D, n=60).pack(single=True), 16, X)
    some = rng.permutation(n_rows)[: n_rows // 2]
    for at_end in ("full", "answer", "pending"):
        for n_stages in (1, 2):
            expected = engine.predict(cases.csr_rows(X), n_stages, at_end, U, 1)
            for n_threads in (1, 2, 4):
                seen = engine.predict(_core.Rows.dense(X), n_stages, at_end, U, n_threads)
                assert cases.bits(seen) == cases.bits(expected)
            chosen = _core.Rows.dense(X)
            chosen.take(some)
            seen = engine.predict(chosen, n_stages, at_end, U, 2)
            assert cases.bits(seen) == cases.bits(tuple(part[some] for part in expected))
    for row in range(0, n_rows, 997):
        assert engine.predict_one(X[row], 2, "pending", U) == tuple(part[row] for part in expected)


def test_rows_wider_than_the_scratch_memory():
    rng = np.random.default_rng(0)
    d = 1_500_000  # 18 MB a row
    vectors = sparse.random_array((3, d), density=1e-4, rng=rng).toarray()
    model = replace(cases.machine(rng, d=1, n=3), vectors=vectors, n_features=d, gamma=0.01)
    X = (vectors + sparse.random_array((3, d), density=1e-4, rng=rng)).astype(np.float32)
    engine = two_stages(model.pack(single=True), 2, X, 3)
    assert cases.bits(engine.predict(_core.Rows.dense(X), 2, "full", U, 2)) == cases.bits(
        engine.predict(cases.csr_rows(X), 2, "full", U, 1)
    )


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30])
def test_rows_that_are_not_finite_are_named(value):
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=D, n=60)
    X = (rng.normal(size=(100, D)) * (rng.random((100, D)) < 0.2)).astype(np.float32)
    engine = two_stages(model.pack(single=True), 16, X)
    expected = cases.marked(engine.predict(_core.Rows.dense(X), 2, "full", U, 1))[0]
    X[::7, 3] = value
    codes, _ = cases.marked(engine.predict(_core.Rows.dense(X), 2, "full", U, 1))
    np.testing.assert_array_equal(codes[::7], cases.NOT_FINITE)
    others = np.arange(100) % 7 > 0
    np.testing.assert_array_equal(codes[others], expected[others])
