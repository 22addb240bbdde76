"""More rows than a tile holds, stored by column, get the same answers as single rows."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision, Plan

from wald import _core

U = 2.0**-53
#: More than two tiles, and a last one that is no whole number of vectors.
N_ROWS, N_FEATURES = 4597, 150


def halving(rng, model, n_stages, leaving):
    """A plan in which a share of about ``leaving`` of the rows leaves at each stage."""
    terms = np.unique(np.geomspace(1, model.n_terms - 10, n_stages).astype(int))
    weights = [rng.normal(size=(1, m)) / np.sqrt(m) for m in terms]
    high = np.full(len(terms), 1.5 * (1 - leaving))
    return Plan(Decision(), terms, weights, [0.1 * rng.normal(size=1) for _ in terms], -high, high)


def mixed(X):
    """Columns of one type first, then one of another type, one that is strided, and the rest."""
    columns = [np.ascontiguousarray(X[:, c]) for c in range(X.shape[1])]
    columns[40] = columns[40].astype(np.float64)
    columns[41] = np.repeat(columns[41], 2)[::2]
    return _core.Rows.columns(len(X), columns)


LAYOUTS = {
    "Fortran": lambda X: _core.Rows.dense(np.asfortranarray(X)),
    "columns": lambda X: cases.column_rows(np.asfortranarray(X)),
    "mixed": mixed,
}


@pytest.mark.parametrize("n_stages", [1, 5, 40])
@pytest.mark.parametrize("leaving", [0.0, 0.2, 0.7, 1.0])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_columns_answer_like_rows(dtype, layout, leaving, n_stages):
    rng = np.random.default_rng(n_stages)
    model = cases.linear(rng, N_FEATURES)
    if layout == "mixed":
        model.order[:] = np.arange(N_FEATURES)
    plan = halving(rng, model, n_stages, leaving)
    engine = plan.engine(model.pack())
    X = rng.normal(size=(N_ROWS, N_FEATURES)).astype(dtype)
    X[rng.random(X.shape) < 2e-4] = np.nan
    X[rng.random(X.shape) < 2e-4] = np.inf
    rows, columns = _core.Rows.dense(X), LAYOUTS[layout](X)
    for stages in {len(plan.terms), len(plan.terms) // 2 + 1}:
        for at_end in ("full", "answer", "pending"):
            expected = cases.bits(engine.predict(rows, stages, at_end, U, 1))
            for n_threads in (1, 2):
                assert cases.bits(engine.predict(columns, stages, at_end, U, n_threads)) == expected


@pytest.mark.parametrize("n", [2, 3, 7, 8, 9, 31, 100, 2047, 2048, 2049])
def test_any_number_of_rows(n):
    rng = np.random.default_rng(n)
    model = cases.linear(rng, 30)
    engine = halving(rng, model, 6, 0.5).engine(model.pack())
    X = rng.normal(size=(n, 30))
    expected = engine.predict(_core.Rows.dense(X), engine.n_stages, "full", U, 1)
    assert cases.bits(engine.predict(LAYOUTS["Fortran"](X), engine.n_stages, "full", U, 2)) == cases.bits(expected)


def test_rows_leave_at_many_stages():
    """The tests above cover all cases: rows leave early, leave late, are not finite, or stay to the end."""
    rng = np.random.default_rng(0)
    model = cases.linear(rng, N_FEATURES)
    plan = halving(rng, model, 8, 0.4)
    X = np.asfortranarray(rng.normal(size=(N_ROWS, N_FEATURES)))
    X[::50, model.order[20]] = np.nan
    codes, stages = cases.marked(plan.engine(model.pack()).predict(_core.Rows.dense(X), len(plan.terms), "full", U, 1))
    assert {0, len(plan.terms)} <= set(stages)
    assert len(set(stages)) > 5
    assert set(codes) == {cases.NOT_FINITE, 0, 1}
