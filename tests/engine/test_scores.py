"""Every kernel and readout equals its NumPy reference, whatever the rows' dtype and layout."""

from __future__ import annotations

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from wald import _core

U = 2.0**-53


def check_look(model, plan, seen, X):
    """Compare the trace of the engine with the reference, within rounding."""
    Z = plan.estimates(model.terms(X))
    sizes = model.sizes(X)
    one = plan.decision.kind == "sign"
    dtype = (seen if one else seen[1]).dtype
    for t, (m, w, b) in enumerate(zip(plan.terms, plan.weights, plan.bias, strict=True)):
        tolerance = 100 * np.finfo(dtype).eps * (sizes[:, :m] @ np.abs(w).T + np.abs(b) + 1).max(axis=1)
        if one:
            assert (np.abs(seen[:, t] - Z[t][:, 0]) <= tolerance).all()
        else:
            codes, confidence = seen[0][:, t], seen[1][:, t]
            worth = plan.decision.worth(Z[t])
            assert (np.abs(confidence - plan.decision.judge(Z[t])[1]) <= 2 * tolerance).all()
            assert (worth[np.arange(len(X)), codes] >= worth.max(axis=1) - 2 * tolerance).all()


@settings(max_examples=120)
@given(
    seed=cases.seeds,
    kernel=st.sampled_from(cases.KERNELS),
    d=st.sampled_from(cases.WIDTHS),
    n=cases.n_terms,
    n_rows=cases.n_rows,
    decision=st.sampled_from(cases.DECISIONS),
    single=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    options=st.fixed_dictionaries(dict.fromkeys(["kept", "mapped", "filled", "surrogates", "exact"], st.booleans())),
)
def test_kernel_machine(seed, kernel, d, n, n_rows, decision, single, dtype, options):
    rng = np.random.default_rng(seed)
    model = cases.machine(rng, kernel, d, n, decision.n_outputs, **options)
    plan = cases.plan(rng, model, decision)
    X = cases.rows(rng, n_rows, d, dtype, nan=0.1 if options["filled"] else 0.0)
    engine = plan.engine(model.pack(single))
    assert engine.single == single
    seen = engine.trace(_core.Rows.dense(X), 1)
    check_look(model, plan, seen, X)
    scores, errors = model.pack(single).scores(_core.Rows.dense(X), 0.0, 1)
    assert scores.shape == (n_rows, decision.n_outputs)
    assert errors.shape == (n_rows,)
    np.testing.assert_allclose(scores, model.scores(X), rtol=1e-9, atol=1e-9 * 10.0 ** max(0, model.degree - 3))


@settings(max_examples=60)
@given(
    seed=cases.seeds,
    d=st.sampled_from(cases.WIDTHS),
    n=cases.n_terms,
    n_rows=cases.n_rows,
    surrogates=st.booleans(),
    exact=st.booleans(),
)
def test_full_scores_do_not_hang_on_where_vectors_are_kept(seed, d, n, n_rows, surrogates, exact):
    rng = np.random.default_rng(seed)
    model = cases.machine(rng, d=d, n=n, surrogates=surrogates, exact=exact)
    rows = _core.Rows.dense(cases.rows(rng, n_rows, d))
    alone, beside_single = (model.pack(single).scores(rows, U, 1) for single in (False, True))
    assert cases.bits(beside_single) == cases.bits(alone)


@settings(max_examples=60)
@given(
    seed=cases.seeds,
    d=st.sampled_from(cases.WIDTHS),
    n=st.none() | st.integers(0, 40),
    n_rows=cases.n_rows,
    decision=st.sampled_from(cases.DECISIONS),
    dtype=st.sampled_from([np.float32, np.float64]),
    filled=st.booleans(),
)
def test_linear_model(seed, d, n, n_rows, decision, dtype, filled):
    rng = np.random.default_rng(seed)
    model = cases.linear(rng, d, decision.n_outputs, n=n, filled=filled)
    plan = cases.plan(rng, model, decision)
    X = cases.rows(rng, n_rows, d, dtype, nan=0.1 if filled else 0.0)
    packed = model.pack()
    engine = plan.engine(packed)
    assert not engine.single
    for given_rows in (_core.Rows.dense(X), cases.csr_rows(X), cases.column_rows(X)):
        check_look(model, plan, engine.trace(given_rows, 1), X)
        scores, _ = packed.scores(given_rows, 0.0, 1)
        np.testing.assert_allclose(scores, model.scores(X), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize(
    "options", [{}, {"kept": True}, {"mapped": True, "filled": True}], ids=["plain", "kept", "mapped"]
)
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("d", [1, 6, 13, 16, 17, 64, 200])
def test_layouts_and_dtypes_give_the_same_bits(d, single, options):
    rng = np.random.default_rng(d)
    model = cases.machine(rng, d=d, **options)
    plan = cases.plan(rng, model, Decision("sign"))
    packed = model.pack(single)
    engine = plan.engine(packed)
    lit = rng.random((30, d)) < rng.choice([0.2, 1.0], (30, 1))
    X = (lit * rng.integers(0, 4, (30, d))).astype(np.uint8)
    rows = _core.Rows.dense(X)
    expected = cases.bits((engine.trace(rows, 1), *packed.scores(rows, U, 1)))
    for dtype in (np.uint8, np.float32, np.float64):
        for name, given_rows in cases.layouts(X.astype(dtype)):
            seen = cases.bits((engine.trace(given_rows, 1), *packed.scores(given_rows, U, 1)))
            assert seen == expected, (name, dtype)


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("d", [1, 7, 16, 65, 150])
@pytest.mark.parametrize("decision", [Decision(), Decision("argmax", 3)], ids=lambda d: d.kind)
def test_layouts_and_dtypes_give_a_linear_model_the_same_bits(decision, d, filled):
    rng = np.random.default_rng(d)
    model = cases.linear(rng, d, decision.n_outputs, filled=filled)
    engine = cases.plan(rng, model, decision, 6).engine(model.pack())
    X = rng.integers(0, 4, (300, d)).astype(np.uint8)

    def answers(rows):
        answer = [engine.predict(rows, n, "answer", U, 1) for n in range(1, 7)]
        return cases.bits((*cases.as_tuple(engine.trace(rows, 1)), *(a for pair in answer for a in pair)))

    expected = answers(_core.Rows.dense(X))
    for dtype in (np.uint8, np.float32, np.float64):
        Y = X.astype(dtype)
        for name, given_rows in [*cases.layouts(Y), ("CSR", cases.csr_rows(Y))]:
            assert answers(given_rows) == expected, (name, dtype)


@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
@pytest.mark.parametrize("d", [1, 6, 15, 17, 65, 300])
def test_csr_rows_have_the_bits_of_dense_rows(d, single, kept):
    rng = np.random.default_rng(d)
    model = cases.machine(rng, d=d, kept=kept)
    packed = model.pack(single)
    engine = cases.plan(rng, model, Decision("sign")).engine(packed)
    X = cases.rows(rng, 60, d)
    assert cases.bits(packed.scores(_core.Rows.dense(X), U, 1)) == cases.bits(packed.scores(cases.csr_rows(X), U, 1))
    assert cases.bits(engine.trace(_core.Rows.dense(X), 1)) == cases.bits(engine.trace(cases.csr_rows(X), 1))
    for n_stages in (0, 2, 4):
        dense = engine.predict(_core.Rows.dense(X), n_stages, "full", U, 1)
        assert cases.bits(dense) == cases.bits(engine.predict(cases.csr_rows(X), n_stages, "full", U, 1))


def test_stored_zeros_of_either_sign_change_nothing():
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=40)
    engine = cases.plan(rng, model, Decision("sign")).engine(model.pack())
    X = cases.rows(rng, 20, 40)
    expected = cases.bits(engine.trace(_core.Rows.dense(X), 1))
    signed = np.where(X == 0, -0.0, X)
    assert cases.bits(engine.trace(_core.Rows.dense(signed), 1)) == expected
    everywhere = np.tile(np.arange(40), 20), np.arange(21) * 40
    stored = sparse.csr_array((signed.ravel(), *everywhere), shape=(20, 40))
    assert cases.bits(engine.trace(cases.csr_rows(stored), 1)) == expected


@pytest.mark.parametrize("single", [False, True], ids=["double", "single"])
def test_many_features_in_csr(single):
    rng = np.random.default_rng(0)
    d = 1_000_000
    kept = np.sort(rng.choice(d, 50, replace=False)).astype(np.int32)
    model = cases.machine(rng, d=50)
    wide = model.pack(single, n_features=d, kept=kept)
    plan = cases.plan(rng, model, Decision("sign"))
    X = cases.rows(rng, 20, 50)
    coordinates = sparse.coo_array(X)
    wide_rows = sparse.csr_array((coordinates.data, (coordinates.row, kept[coordinates.col])), shape=(20, d))
    check_look(model, plan, plan.engine(wide).trace(cases.csr_rows(wide_rows), 1), X)


def test_rows_know_their_length():
    assert len(_core.Rows.dense(np.zeros((3, 2)))) == 3
    assert len(_core.Rows.columns(4, [None])) == 4
    assert len(cases.csr_rows(np.eye(5))) == 5


@pytest.mark.parametrize("decision", cases.DECISIONS, ids=str)
@pytest.mark.parametrize("kind", ["double", "single", "linear"])
def test_no_rows(kind, decision):
    rng = np.random.default_rng(0)
    model, packed = cases.packed(rng, kind, 9, 40, decision.n_outputs)
    engine = cases.plan(rng, model, decision).engine(packed)
    zeros = np.zeros((0, 9))
    columns = [cases.column_rows(zeros), _core.Rows.columns(0, [None] * 9)]
    empty = [_core.Rows.dense(zeros), cases.csr_rows(zeros), *columns]
    for nothing in empty:
        for at_end in ("full", "answer", "pending"):
            codes, stages = cases.marked(engine.predict(nothing, 2, at_end, 0.0, 2))
            assert codes.shape == stages.shape == (0,)
        seen = engine.trace(nothing, 2)
        assert all(a.shape == (0, 4) for a in (seen if isinstance(seen, tuple) else (seen,)))
        scores, errors = packed.scores(nothing, 0.0, 2)
        assert scores.shape == (0, decision.n_outputs)
        assert errors.shape == (0,)


@pytest.mark.parametrize("single", [False, True])
def test_vectors_and_landmarks_are_gathered_in_the_order_of_the_plan(single):
    rng = np.random.default_rng(3)
    model = cases.machine(rng, "rbf", 7, 40, 2, kept=False, mapped=False, filled=False, surrogates=False)
    plan = cases.plan(rng, model, Decision("argmax", 2))
    scattered = rng.permutation(40)
    pieces = np.empty_like(model.vectors)
    pieces[scattered] = model.vectors
    X = cases.rows(rng, 30, 7, np.float32)
    whole = plan.engine(model.pack(single)).trace(_core.Rows.dense(X), 1)
    apart = model.pack(single, vectors=pieces[:25].copy(), landmarks=pieces[25:].copy(), order=scattered)
    for seen, expected in zip(plan.engine(apart).trace(_core.Rows.dense(X), 1), whole, strict=True):
        np.testing.assert_array_equal(seen, expected)
