"""The loop over stages: where each row leaves, and with which answer."""

from __future__ import annotations

import platform

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision, Plan
from hypothesis import given, settings
from hypothesis import strategies as st

from wald import _core

U = 2.0**-53


def make(rng, kind, decision, d=30, n=200, **options):
    return cases.packed(rng, kind, d, n, decision.n_outputs, **options)


def leaves(plan, packed, rows, **thresholds):
    """The code of one row after one stage with these thresholds."""
    engine = plan.engine(packed, **{side: np.array([value], dtype=float) for side, value in thresholds.items()})
    return int(cases.marked(engine.predict(rows, 1, "pending", U, 1))[0][0])


def one_score(rng, kind="double", **options):
    """A model with one output, its engine builder, and rows with their scores at one stage."""
    model, packed = make(rng, kind, Decision(), **options)
    plan = cases.plan(rng, model, Decision(), 1)
    X = cases.rows(rng, 40, 30)
    return plan, packed, X, plan.engine(packed).trace(_core.Rows.dense(X), 1)[:, 0]


@settings(max_examples=60)
@given(
    seed=cases.seeds,
    kind=st.sampled_from(["double", "single", "linear"]),
    decision=st.sampled_from(cases.DECISIONS),
    stages=st.integers(0, 7),
    n_rows=st.sampled_from([1, 40, 250]),
    data=st.data(),
)
def test_predict_follows_the_reference_loop(seed, kind, decision, stages, n_rows, data):
    rng = np.random.default_rng(seed)
    model, packed = make(rng, kind, decision)
    plan = cases.plan(rng, model, decision, stages)
    costs = np.cumsum(rng.random(stages + 1))
    engine = plan.engine(packed, costs=costs)
    assert engine.n_stages == stages
    X = cases.rows(rng, n_rows, 30)
    rows = _core.Rows.dense(X)
    seen = engine.trace(rows, 1)
    full, stage = cases.marked(engine.predict(rows, 0, "full", U, 1))
    assert (stage == stages).all()
    at_end = data.draw(st.sampled_from(["full", "answer", "pending"] if stages else ["full", "pending"]))
    n_stages = data.draw(st.integers(1 if at_end == "answer" else 0, stages))
    found = engine.predict(rows, n_stages, at_end, U, 1)
    codes, stage = cases.marked(found)
    expected_codes, expected_stage, expected_status = plan.walk(seen, full, n_stages, at_end)
    np.testing.assert_array_equal(stage, expected_stage)
    np.testing.assert_array_equal(codes, expected_codes)
    np.testing.assert_array_equal(found[2], costs[stage])
    np.testing.assert_array_equal(found[3], expected_status)
    alone = [engine.predict_one(x, n_stages, at_end, U) for x in X]
    np.testing.assert_array_equal(np.array(alone).T, found)


@settings(max_examples=40)
@given(
    seed=cases.seeds,
    kind=st.sampled_from(["double", "single", "linear"]),
    decision=st.sampled_from(cases.DECISIONS),
    kernel=st.sampled_from(cases.KERNELS),
)
def test_full_codes_are_those_of_the_exact_scores(seed, kind, decision, kernel):
    rng = np.random.default_rng(seed)
    model, packed = make(rng, kind, decision, kernel=kernel)
    X = cases.rows(rng, 40, 30)
    rows = _core.Rows.dense(X)
    F = model.scores(X, np.longdouble)
    codes, _ = cases.marked(cases.plan(rng, model, decision, 2).engine(packed).predict(rows, 0, "full", U, 1))
    _, errors = packed.scores(rows, U, 1)
    clear = decision.clear(F, 3 * errors)
    assert clear.mean() > 0.9
    expected = decision.codes(F)
    if decision.break_ties:  # the wrapped estimator breaks them
        F_sign = np.where(F > 0, 1.0, -1.0)
        tied = decision.judge(F_sign)[1] < 0  # nobody wins every pair
        assert np.isin(codes[tied], [cases.HANDED_OVER, *range(decision.n_classes)]).all()
        clear &= codes != cases.HANDED_OVER
        assert (tied | (codes != cases.HANDED_OVER))[decision.clear(F, 3 * errors)].all()
    np.testing.assert_array_equal(codes[clear], expected[clear])


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
def test_infinite_thresholds_keep_everybody_and_let_everybody_go(kind):
    plan, packed, X, _ = one_score(np.random.default_rng(0), kind)
    rows = _core.Rows.dense(X)
    never = plan.engine(packed, low=np.array([-np.inf]), high=np.array([np.inf]))
    assert (cases.marked(never.predict(rows, 1, "pending", U, 1))[0] == cases.PENDING).all()
    positive = plan.engine(packed, low=np.array([-np.inf]), high=np.array([-np.inf]))
    codes, stages = cases.marked(positive.predict(rows, 1, "pending", U, 1))
    assert (codes == 1).all()
    assert (stages == 0).all()
    negative = plan.engine(packed, low=np.array([np.inf]), high=np.array([np.inf]))
    assert (cases.marked(negative.predict(rows, 1, "pending", U, 1))[0] == 0).all()


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
def test_a_score_that_equals_its_threshold_stays(kind):
    plan, packed, X, z = one_score(np.random.default_rng(1), kind)
    for i in range(5):
        exact, rows = float(z[i]), _core.Rows.dense(X[i : i + 1])
        assert leaves(plan, packed, rows, low=exact, high=exact) == cases.PENDING
        below, above = (float(np.nextafter(z[i], z.dtype.type(side))) for side in (-np.inf, np.inf))
        assert leaves(plan, packed, rows, low=-np.inf, high=below) == 1
        assert leaves(plan, packed, rows, low=above, high=np.inf) == 0


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
@pytest.mark.parametrize("decision", [Decision("argmax", 4), Decision("votes", 4)], ids=lambda d: d.kind)
def test_a_confidence_that_equals_its_threshold_stays(kind, decision):
    rng = np.random.default_rng(2)
    model, packed = make(rng, kind, decision)
    plan = cases.plan(rng, model, decision, 1)
    rows = _core.Rows.dense(cases.rows(rng, 1, 30))
    codes, confidence = plan.engine(packed).trace(rows, 1)
    assert leaves(plan, packed, rows, high=confidence[0, 0]) == cases.PENDING
    below = np.nextafter(confidence[0, 0], confidence.dtype.type(-np.inf))
    assert leaves(plan, packed, rows, high=below) == codes[0, 0]


def ties(decision, kind, coef=0.0):
    """An engine of a model whose every score is exactly 0, or of one with the given coefficients."""
    rng = np.random.default_rng(3)
    model, _ = make(rng, kind, decision, d=30, n=20)
    zero = {"coef": np.zeros_like(model.coef) + coef, "intercept": np.zeros_like(model.intercept)}
    if kind == "linear":
        zero |= {"magnitude": np.zeros(30), "bias_magnitude": 0.0}
    packed = model.pack(kind == "single", **zero)
    weights = [np.zeros((decision.n_outputs, 5))]
    plan = Plan(decision, [5], weights, [np.zeros(decision.n_outputs)], np.array([-1.0]), np.array([1.0]))
    return plan.engine(packed), _core.Rows.dense(cases.rows(rng, 3, 30))


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
@pytest.mark.parametrize("tie_positive", [False, True])
def test_sign_ties(kind, tie_positive):
    engine, rows = ties(Decision("sign", tie_positive=tie_positive), kind)
    assert (cases.marked(engine.predict(rows, 1, "full", U, 1))[0] == tie_positive).all()
    assert (cases.marked(engine.predict(rows, 1, "answer", U, 1))[0] == tie_positive).all()


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
def test_argmax_ties_go_to_the_first(kind):
    engine, rows = ties(Decision("argmax", 3), kind)
    assert (cases.marked(engine.predict(rows, 1, "full", U, 1))[0] == 0).all()
    assert (cases.marked(engine.predict(rows, 1, "answer", U, 1))[0] == 0).all()


@pytest.mark.parametrize("kind", ["double", "single", "linear"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_votes_ties_go_to_the_first_or_to_the_estimator(kind, break_ties):
    """The pairs are (0, 1), (0, 2) and (1, 2). Zeros vote for the second class of a pair: 2 gets two votes.

    Where sums break ties, they vote for the first one, so that the estimator itself must say.
    """
    engine, rows = ties(Decision("votes", 3, break_ties=break_ties), kind)
    assert (cases.marked(engine.predict(rows, 1, "full", U, 1))[0] == (cases.HANDED_OVER if break_ties else 2)).all()
    # 0 beats 1, 2 beats 0, 1 beats 2: one vote each
    plan = Plan(Decision("votes", 3, break_ties=break_ties), [], [], [], np.array([]), np.array([]))
    model = cases.linear(np.random.default_rng(0), 4, 3)
    circle = model.pack(coef=np.zeros((3, 4)), intercept=np.array([1.0, -1.0, 1.0]))
    codes, _ = cases.marked(plan.engine(circle).predict(_core.Rows.dense(np.zeros((2, 4))), 0, "full", U, 1))
    assert (codes == (cases.HANDED_OVER if break_ties else 0)).all()


def test_at_end_answer_follows_the_tie_rule_of_the_threshold():
    plan, packed, X, z = one_score(np.random.default_rng(4))
    rows = _core.Rows.dense(X[:1])
    for tie_positive in (False, True):
        never = {"low": np.array([-np.inf]), "high": np.array([np.inf])}
        engine = plan.engine(packed, threshold=float(z[0]), tie_positive=tie_positive, **never)
        assert cases.marked(engine.predict(rows, 1, "answer", U, 1))[0] == tie_positive


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", ["double", "single", "linear"])
@pytest.mark.parametrize("decision", [Decision(), Decision("argmax", 3), Decision("votes", 3)], ids=lambda d: d.kind)
def test_rows_that_are_not_finite_are_named_and_disturb_nobody(value, kind, decision):
    rng = np.random.default_rng(5)
    model, packed = make(rng, kind, decision, d=17, n=60)
    plan = cases.plan(rng, model, decision)
    engine = plan.engine(packed)
    X = cases.rows(rng, 50, 17)
    before = engine.trace(_core.Rows.dense(X), 1), engine.predict(_core.Rows.dense(X), 4, "full", U, 1)
    bad = np.zeros(50, dtype=bool)
    bad[::7] = True
    X[np.flatnonzero(bad), rng.integers(0, 17, bad.sum())] = value
    for rows in (_core.Rows.dense(X), _core.Rows.dense(np.asfortranarray(X)), cases.csr_rows(X)):
        seen, answer = engine.trace(rows, 2), engine.predict(rows, 4, "full", U, 2)
        expected = [*cases.as_tuple(before[0]), *before[1]]
        for old, new in zip(expected, [*cases.as_tuple(seen), *answer], strict=True):
            assert cases.bits(old[~bad]) == cases.bits(new[~bad])
        scores, errors = packed.scores(rows, U, 1)
        assert not np.isfinite(scores[bad]).any()
        assert not np.isfinite(errors[bad]).any()
        answer = cases.marked(answer)
        if kind == "linear":  # noticed when the column is read; never, when a row leaves before
            assert np.isin(answer[0][bad & (answer[1] == 4)], [cases.HANDED_OVER, cases.NOT_FINITE]).all()
        else:
            assert (answer[0][bad] == cases.NOT_FINITE).all()
            assert (answer[1][bad] == 4).all()
            assert np.isnan(cases.as_tuple(seen)[-1][bad]).all()


def test_a_linear_model_does_not_check_columns_that_no_stage_reads():
    model = cases.linear(np.random.default_rng(0), 6)
    plan = Plan(Decision(), [2], [np.ones((1, 2))], [np.zeros(1)], np.array([0.0]), np.array([0.0]))
    X = np.full((1, 6), np.nan)
    X[0, model.order[:2]] = 1.0
    codes, stages = cases.marked(plan.engine(model.pack()).predict(_core.Rows.dense(X), 1, "full", U, 1))
    assert (codes[0], stages[0]) == (1, 0)
    X[0, model.order[1]] = np.nan
    codes, stages = cases.marked(plan.engine(model.pack()).predict(_core.Rows.dense(X), 1, "full", U, 1))
    assert (codes[0], stages[0]) == (cases.NOT_FINITE, 0)


def judged(decision, weights, x):
    """The answer for one row at a stage of a linear model with these readouts."""
    weights = np.array(weights)
    model = cases.linear(np.random.default_rng(0), len(x), 3).pack(order=np.arange(len(x), dtype=np.int32))
    plan = Plan(decision, [len(x)], [weights], [np.zeros(3)], np.array([0.0]), np.array([1.0]))
    return int(cases.marked(plan.engine(model).predict(_core.Rows.dense(np.array([x])), 1, "answer", U, 1))[0][0])


@pytest.mark.parametrize("decision", [Decision("argmax", 3), Decision("votes", 3)], ids=lambda d: d.kind)
@pytest.mark.parametrize("signs", [(1, -1, 1), (-1, 1, -1), (1, 1, 1), (-1, -1, -1), (0, 1, -1), (0, 0, 0)])
def test_infinity_is_named_whatever_the_estimates(decision, signs):
    """(1, -1, 1) lets every class lose a pair by an infinite margin."""
    assert judged(decision, np.array(signs)[:, None] * 1.0, [np.inf]) == cases.NOT_FINITE


@pytest.mark.skipif(
    _core.simd_level() != "baseline" or platform.machine() not in ("x86_64", "AMD64"),
    reason="with fused operations finite values never give NaN",
)
@pytest.mark.parametrize("decision", [Decision("argmax", 3), Decision("votes", 3)], ids=lambda d: d.kind)
def test_one_estimate_that_overflows_is_not_forgotten(decision):
    """The sum of the second output is inf - inf; the other sums are finite."""
    weights = [[0.0, 0.0], [1.5e308, 1.5e308], [5.0, 0.0]]
    if decision.kind == "votes":
        weights = [[1.5e308, 1.5e308], [5.0, 0.0], [0.0, 0.0]]
    assert judged(decision, weights, [10.0, -10.0]) == cases.NOT_FINITE


@pytest.mark.parametrize("layout", ["dense", "csr", "columns"])
@pytest.mark.parametrize("kind", ["double", "single", "linear"])
def test_take_is_fancy_indexing(kind, layout):
    rng = np.random.default_rng(6)
    model, packed = make(rng, kind, Decision())
    engine = cases.plan(rng, model, Decision()).engine(packed)
    X = cases.rows(rng, 50, 30)
    build = {"dense": _core.Rows.dense, "csr": cases.csr_rows, "columns": cases.column_rows}[layout]
    ids = rng.integers(0, 50, 80)
    for chosen in (ids, ids[:1], ids[:0]):
        taken = build(X)
        taken.take(chosen)
        assert len(taken) == len(chosen)
        assert cases.bits(engine.trace(taken, 2)) == cases.bits(engine.trace(build(X[chosen]), 1))
        answer = engine.predict(taken, 4, "full", U, 2)
        assert cases.bits(answer) == cases.bits(engine.predict(build(X[chosen]), 4, "full", U, 1))
        assert cases.bits(packed.scores(taken, U, 2)) == cases.bits(packed.scores(build(X[chosen]), U, 1))


def test_columns_that_no_stage_needs_may_be_missing():
    rng = np.random.default_rng(7)
    model = cases.linear(rng, 12)
    plan = cases.plan(rng, model, Decision())
    engine = plan.engine(model.pack())
    X = cases.rows(rng, 20, 12)
    for n_stages in range(5):
        needed = model.order[: plan.terms[n_stages - 1]] if n_stages else model.order[:0]
        missing = np.setdiff1d(np.arange(12), needed)
        some = cases.column_rows(X, missing)
        expected = engine.predict(_core.Rows.dense(X), n_stages, "pending", U, 1)
        assert cases.bits(engine.predict(some, n_stages, "pending", U, 1)) == cases.bits(expected)


@pytest.mark.parametrize("build", [_core.Rows.dense, cases.csr_rows, cases.column_rows])
def test_a_stage_without_terms_answers_its_bias(build):
    model = cases.linear(np.random.default_rng(0), 4, n=0)
    plan = Plan(Decision(), [0], [np.zeros((1, 0))], [np.array([0.5])], np.array([-1.0]), np.array([1.0]))
    codes, stages = cases.marked(
        plan.engine(model.pack()).predict(build(np.ones((3, 4), order="F")), 1, "answer", U, 1)
    )
    assert (codes == 1).all()
    assert (stages == 0).all()


def test_no_early_stage_of_many():
    """A budget of no early stage evaluates the full model, in an engine with more stages than terms."""
    rng = np.random.default_rng(0)
    model = cases.linear(rng, 4)
    n, X = 40, cases.rows(rng, 30, 4)
    plan = Plan(Decision(), [1] * n, [np.ones((1, 1))] * n, [np.full(1, 9e9)] * n, -np.ones(n), np.ones(n))
    codes, stages = cases.marked(plan.engine(model.pack()).predict(_core.Rows.dense(X), 0, "full", U, 1))
    np.testing.assert_array_equal(codes, model.scores(X)[:, 0] > 0)
    assert (stages == n).all()
