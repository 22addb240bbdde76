"""Sums of functions of raw columns have the scores of the linear model on the columns that are written from them."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import math

import numpy as np
import pytest
from engine.cases import bits
from engine.reference import Decision, Plan
from models.by_columns import FAMILY, ByColumns, made, rows, written
from scipy import sparse
from sklearn.frozen import FrozenEstimator

import wald
from wald import _core
from wald.codec.header import FileFormatError, parse, render
from wald.codec.reading import Section
from wald.models import ColumnTerms, LinearTerms, check_terms, register
from wald.models.encoding import decode_terms, encode_terms
from wald.models.units import NO_TERMS
from wald.steps import ByState, Numeric

U = 2.0**-53
OUTPUTS = (1, 2, 3, 11)


@pytest.fixture
def registered(monkeypatch):
    """Register the made-up classifier, and unregister it afterwards."""
    table = importlib.import_module("wald.models.families")
    monkeypatch.setattr(table, "_REGISTERED", list(table._REGISTERED))
    register(FAMILY)


def expected(linear, columns, X):
    return written(columns, linear.n_terms, X) @ linear.coef.T + linear.intercept


def layouts(terms, X):
    """The same rows in every layout, with states and numbers of different dtypes."""
    n = len(X)
    yield "C", _core.Rows.dense(np.ascontiguousarray(X))
    yield "Fortran", _core.Rows.dense(np.asfortranarray(X))
    wide = np.zeros((n, 2 * X.shape[1]))
    wide[:, ::2] = X
    yield "view", _core.Rows.dense(wide[:, ::2])
    whole = np.isfinite(X[:, terms.n_states > 0]).all()
    for states in (np.uint8, np.float32, np.float64) if whole else (np.float32, np.float64):
        columns = [x.astype(states) if k else np.ascontiguousarray(x) for x, k in zip(X.T, terms.n_states, strict=True)]
        yield f"columns of {np.dtype(states).name}", _core.Rows.columns(n, columns)
    yield "reversed", _core.Rows.columns(n, [x[::-1].copy()[::-1] for x in X.T])


def engine(terms, order=NO_TERMS, plan=None):
    K = terms.n_outputs
    decision = Decision("sign") if K == 1 else Decision("argmax", K)
    empty = np.zeros(0)
    plan = plan or Plan(decision, np.zeros(0, dtype=np.int64), [], [], empty, empty)
    return plan.engine(terms.pack(order).core)


def staged(rng, terms, n_stages=4, width=0.6):
    """An engine with random early stages."""
    order = rng.permutation(terms.n_terms)
    ends = np.unique(np.linspace(1, terms.n_terms, n_stages, dtype=int))
    K = terms.n_outputs
    weights = [rng.normal(size=(K, m)) / np.sqrt(m) for m in ends]
    high = width * rng.uniform(0.5, 2, len(ends))
    decision = Decision("sign") if K == 1 else Decision("argmax", K)
    biases = [0.1 * rng.normal(size=K) for _ in ends]
    return engine(terms, order, Plan(decision, ends, weights, biases, -high, high)), order, ends, weights, biases


# ---- full scores -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", OUTPUTS)
@pytest.mark.parametrize("nan", [0.0, 0.3])
def test_scores_are_those_of_the_model(n_outputs, nan):
    rng = np.random.default_rng(n_outputs)
    linear, columns = made(rng, n_outputs)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, 2500, nan)
    scores, errors = terms.pack(NO_TERMS).scores(X, lambda dtype: U, 1)
    own = expected(linear, columns, X)
    assert (np.abs(scores - own) <= errors[:, None]).all()
    assert errors.max() < 1e-11
    np.testing.assert_allclose(terms.values(X) @ terms.coef.T + terms.intercept, own, atol=1e-11)
    f32 = X.astype(np.float32)
    np.testing.assert_allclose(terms.scores(f32), expected(linear, columns, f32), atol=1e-11)


@pytest.mark.parametrize("n_outputs", OUTPUTS)
@pytest.mark.parametrize("n", [1, 2, 7, 9, 1023, 1025, 2500])
def test_a_row_has_the_same_bits_in_every_layout_and_alone(n_outputs, n):
    rng = np.random.default_rng(n)
    linear, columns = made(rng, n_outputs, refused=True)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, n, 0.2)
    X[rng.random(X.shape) < 0.01] = np.nan
    core = terms.pack(NO_TERMS).core
    score = core.scores(_core.Rows.dense(X), U, 1)
    answer = bits(engine(terms).predict(_core.Rows.dense(X), 0, "full", U, 1))
    for name, given in layouts(terms, X):
        for n_threads in (1, 2):
            assert bits(core.scores(given, U, n_threads)) == bits(score), name
            assert bits(engine(terms).predict(given, 0, "full", U, n_threads)) == answer, name
        some = rng.permutation(n)[: max(1, n // 3)]
        given.take(some)
        assert bits(core.scores(given, U, 1)) == bits((score[0][some], score[1][some])), name
    for i in range(min(n, 20)):
        alone = core.scores(_core.Rows.dense(X[i : i + 1]), U, 1)
        assert bits(alone) == bits((score[0][i : i + 1], score[1][i : i + 1]))
        codes, stages, _, status = engine(terms).predict(_core.Rows.dense(X), 0, "full", U, 1)[:4]
        code, stage, _, found = engine(terms).predict_one(X[i], 0, "full", U)
        assert (code, stage, found) == (codes[i], stages[i], status[i])


def test_the_same_bits_with_every_instruction_set():
    """Products are rounded before they are added; sums are added in the order of the columns."""
    rng = np.random.default_rng(0)
    linear, columns = made(rng, 3)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, 50, 0.2)
    values = terms.values(X).reshape(50, terms.n_features, 3)
    sums = np.tile(terms.intercept, (50, 1))
    for j in range(terms.n_features):
        sums = sums + values[:, j]
    np.testing.assert_array_equal(terms.scores(X), sums)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_no_state_and_no_number_is_refused(n_outputs, dtype):
    rng = np.random.default_rng(1)
    linear, columns = made(rng, n_outputs, refused=True)
    terms = ColumnTerms.of(linear, columns)
    good = rows(rng, columns, 1, states=1).astype(dtype)
    refused = [(0, v) for v in (-1, 0.5, 1, 2, 2**31, 2.0**33, 1e30, -1e30, np.nan, np.inf, -np.inf, -1e-30)]
    refused += [(3, 4), (3, 5), (6, 39), (6, 40), (1, np.inf), (2, np.nan), (8, -np.inf)]
    many = np.repeat(good, len(refused) + 1, axis=0)
    for i, (column, value) in enumerate(refused):
        many[i, column] = value
    for given in (_core.Rows.dense(many), _core.Rows.columns(len(many), list(np.asfortranarray(many).T))):
        scores = terms.pack(NO_TERMS).core.scores(given, U, 1)[0]
        codes, _, _, status = engine(terms).predict(given, 0, "full", U, 1)[:4]
        assert not np.isfinite(scores[:-1]).all(axis=1).any()
        assert np.isfinite(scores[-1]).all()
        assert np.isin(status[:-1], [_core.NOT_FINITE, _core.HANDED_OVER]).all()
        assert not codes[:-1].any()
        assert status[-1] == _core.FULL
    values = terms.values(many)
    for i, (column, _) in enumerate(refused):
        assert not np.isfinite(values[i, column * n_outputs])
    assert np.isfinite(terms.scores(np.where(np.isnan(many), 0.0, many))[-1]).all()


def test_bytes_beyond_the_states_are_refused():
    rng = np.random.default_rng(2)
    for n_outputs, n in itertools.product((1, 3), (2, 255, 256, 300)):
        columns = [ByState(0, rng.normal(size=(n, 1)), np.array([0]))]
        linear = LinearTerms(coef=rng.normal(size=(n_outputs, 1)), intercept=rng.normal(size=n_outputs))
        terms = ColumnTerms.of(linear, columns)
        given = _core.Rows.columns(256, [np.arange(256, dtype=np.uint8)])
        known = np.isfinite(terms.pack(NO_TERMS).core.scores(given, U, 1)[0]).all(axis=1)
        assert known.tolist() == (np.arange(256) < n).tolist()
        assert (
            np.isfinite(terms.pack(np.arange(n_outputs)).core.values(given, 1)).all(axis=1).tolist() == known.tolist()
        )


def test_ties_are_handed_over():
    """Two weights cancel for one state, so that the wrapped model's score is within rounding of 0."""
    linear = LinearTerms(coef=np.array([[0.1, 0.2, -0.3]]), intercept=np.zeros(1))
    terms = ColumnTerms.of(linear, [ByState(0, np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0]]), np.arange(3))])
    status = engine(terms).predict(_core.Rows.dense(np.array([[0.0], [1.0]])), 0, "full", U, 1)[3]
    assert status.tolist() == [_core.HANDED_OVER, _core.FULL]


def test_huge_numbers_are_handed_over():
    linear = LinearTerms(coef=np.zeros((1, 1)), intercept=np.ones(1))
    terms = ColumnTerms.of(linear, [Numeric(0, np.ones(1), np.zeros(1), None, np.array([0]))])
    X = np.array([[1e6], [1e308]])
    assert engine(terms).predict(_core.Rows.dense(X), 0, "full", U, 1)[3].tolist() == [_core.FULL, _core.HANDED_OVER]


# ---- early stages ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_early_estimates_are_sums_of_values(n_outputs):
    rng = np.random.default_rng(n_outputs)
    linear, columns = made(rng, n_outputs)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, 300, 0.1)
    cascade, order, ends, weights, biases = staged(rng, terms)
    values = terms.values(X)[:, order]
    estimates = [values[:, :m] @ w.T + b for m, w, b in zip(ends, weights, biases, strict=True)]
    traced = cascade.trace(_core.Rows.dense(X), 1)
    if n_outputs == 1:
        np.testing.assert_allclose(traced, np.concatenate(estimates, axis=1), atol=1e-12)
    else:
        np.testing.assert_array_equal(traced[0], np.stack([e.argmax(axis=1) for e in estimates], axis=1))


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n", [2, 9, 300, 4597])
def test_early_exits_are_the_same_in_every_layout(n_outputs, n):
    rng = np.random.default_rng(n)
    linear, columns = made(rng, n_outputs, 15)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, n, 0.1)
    X[rng.random(n) < 0.01, 1] = np.inf
    for width in (0.3, 2.0):
        cascade = staged(rng, terms, 6, width)[0]
        for stages, at_end in itertools.product((3, cascade.n_stages), ("full", "answer", "pending")):
            whole = cascade.predict(_core.Rows.dense(X), stages, at_end, U, 1)
            for name, given in layouts(terms, X):
                for n_threads in (1, 2):
                    assert bits(cascade.predict(given, stages, at_end, U, n_threads)) == bits(whole), name
            for i in range(min(n, 10)):
                one = cascade.predict_one(X[i], stages, at_end, U)
                assert (one[0], one[1], one[3]) == (whole[0][i], whole[1][i], whole[3][i])
    assert len(set(whole[1])) > 1 or n < 300


@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_early_stages_read_the_columns_of_their_terms(n_outputs):
    rng = np.random.default_rng(3)
    linear, columns = made(rng, n_outputs)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, 100)
    cascade, order, ends, *_ = staged(rng, terms)
    read = cascade.columns_read(1)
    assert sorted(read) == sorted(set((order[: ends[0]] // n_outputs).tolist()))
    given = _core.Rows.columns(100, [X[:, j].copy() if j in read else None for j in range(X.shape[1])])
    some, whole = (cascade.predict(each, 1, "answer", U, 1) for each in (given, _core.Rows.dense(X)))
    assert bits(some) == bits(whole)
    with pytest.raises(ValueError, match="column"):
        cascade.predict(given, 1, "full", U, 1)


# ---- all the way -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_terms_keep_the_contract(registered, n_outputs):
    rng = np.random.default_rng(4)
    linear, columns = made(rng, n_outputs, n_states=(40,))
    model, X = ByColumns(linear, columns).fit(None), rows(rng, columns, 200)
    X[:, :] = np.where(np.isin(np.arange(9) % 3, 0), X, np.clip(X, 0, None))  # whole numbers of it are states, too
    check_terms(ColumnTerms.of(linear, columns), model, X)


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("risk", [0, 0.05])
def test_a_classifier_exits_early(registered, n_outputs, risk):
    rng = np.random.default_rng(5)
    linear, columns = made(rng, n_outputs)
    X = rows(rng, columns, 3000)
    middle = linear.intercept - expected(linear, columns, X).mean(axis=0)  # of balanced classes
    model = ByColumns(LinearTerms(coef=linear.coef, intercept=middle), columns).fit(None)
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=risk, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[:2000])
    labels, cost = fast.predict(X[2000:], return_cost=True)
    assert (labels != model.predict(X[2000:])).mean() <= 1.5 * risk
    assert cost.max() <= 9 + 1e-9
    assert (cost.mean() < 9) == (risk > 0) or risk == 0
    assert [fast.predict_one(x) for x in X[2000:2010]] == labels[:10].tolist()
    np.testing.assert_allclose(fast.decision_function(X[2000:]), model.decision_function(X[2000:]), atol=1e-11)


# ---- bounds and files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_bounds_cover_values_and_rounding(n_outputs):
    rng = np.random.default_rng(6)
    linear, columns = made(rng, n_outputs, refused=True)
    terms, X = ColumnTerms.of(linear, columns), rows(rng, columns, 500, 0.1, states=2)
    X[:, 0] = 0
    low, high = terms.ranges(np.nanmin(X, axis=0), np.nanmax(X, axis=0))
    values = terms.values(X)
    assert ((values >= low) & (values <= high)).all()
    scores, errors = terms.pack(NO_TERMS).scores(X, lambda dtype: U, 1)
    assert errors.max() <= terms.score_error(float(np.nanmax(np.abs(X))), U) <= terms.rounding(low, high, U) < 1e-9
    assert (np.abs(scores - expected(linear, columns, X)) <= errors[:, None]).all()
    assert terms.score_error(1e308, U) == math.inf


def test_the_model_s_own_fill_stands_in_for_nan():
    linear = LinearTerms(coef=np.array([[2.0, 3.0]]), intercept=np.ones(1), fill=np.array([10.0, 20.0]))
    columns = [Numeric(0, np.ones(1), np.zeros(1), None, np.array([0])), ByState(1, [[np.nan], [5.0]], np.array([1]))]
    columns[1] = dataclasses.replace(columns[1], values=np.array(columns[1].values))
    scores = ColumnTerms.of(linear, columns).scores(np.array([[np.nan, 0.0], [1.0, 1.0]]))
    assert scores.ravel().tolist() == [81.0, 18.0]


def through_a_file(terms, change=None):
    arrays = {}
    facts = parse(render(encode_terms(terms, arrays, "terms")))
    for name, value in (change or {}).items():
        target = arrays if f"terms.{name}" in arrays else facts
        key = f"terms.{name}" if target is arrays else name
        if value is None:
            del target[key]
        else:
            target[key] = value
    return decode_terms(ColumnTerms, Section(facts, "terms", arrays), terms.n_outputs)


@pytest.mark.parametrize("n_outputs", OUTPUTS)
def test_a_file_holds_everything(n_outputs):
    rng = np.random.default_rng(7)
    linear, columns = made(rng, n_outputs, refused=True)
    terms = ColumnTerms.of(linear, columns)
    again = through_a_file(terms)
    for field in dataclasses.fields(terms):
        np.testing.assert_array_equal(getattr(again, field.name), getattr(terms, field.name))
    X = rows(rng, columns, 100, 0.1)
    np.testing.assert_array_equal(again.scores(X), terms.scores(X))


HOSTILE = {
    "weight is NaN": {"weight": np.full((2, 9), np.nan)},
    "no columns": {"weight": np.zeros((2, 0)), "n_states": np.zeros(0, dtype=np.int64)},
    "other outputs": {"weight": np.zeros((3, 9))},
    "negative states": {"n_states": np.array([-1] + [6] * 8)},
    "more states than rows": {"n_states": np.array([48] + [0] * 8)},
    "a sum that overflows": {"n_states": np.array([2**62] * 9)},
    "no whole numbers": {"n_states": np.zeros(9)},
    "a table of NaN": {"table": np.full((47, 2), np.nan)},
    "a short table": {"table": np.zeros((46, 2))},
    "a flat table": {"table": np.zeros(94)},
    "a negative bound": {"table_bound": np.full(47, -1.0)},
    "a short bound": {"table_bound": np.zeros(46)},
    "a bound of NaN": {"weight_bound": np.full(9, np.nan)},
    "least bound": {"least_bound": np.full(9, -1.0)},
    "no intercept": {"intercept": None},
    "infinite intercept": {"intercept": np.full(2, np.inf)},
    "no bound of the intercept": {"intercept_bound": "much"},
    "depth": {"depth": -1},
    "another dtype": {"at_nan": np.zeros((2, 9), dtype=np.float32)},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name):
    linear, columns = made(np.random.default_rng(8), 2)
    terms = ColumnTerms.of(linear, columns)
    assert (terms.n_features, len(terms.table)) == (9, 47)
    with pytest.raises(FileFormatError):
        through_a_file(terms, HOSTILE[name])


# ---- arguments -------------------------------------------------------------------------------------------------------

GOOD = {
    "order": np.array([1, 0, 3]),
    "intercept": np.zeros(2),
    "weight": np.zeros((2, 2)),
    "at_nan": np.zeros((2, 2)),
    "n_states": np.array([0, 3]),
    "table": np.zeros((3, 2)),
    "magnitude": np.zeros(2),
    "nan_magnitude": np.zeros(2),
    "table_magnitude": np.zeros(3),
    "bias_magnitude": 0.0,
    "depth": 1.0,
}
BAD = [
    *({"order": np.array(bad)} for bad in ([4], [-1], [0, 0], [2**40])),
    *({"n_states": np.array(bad)} for bad in ([0, 2], [0, 4], [-1, 4], [2**62, 2**62], [2**31, 3], [3])),
    {"order": np.array([0], dtype=np.int32)},
    {"order": np.array([0.0])},
    {"intercept": np.zeros(3)},
    {"intercept": np.array([0.0, np.nan])},
    {"intercept": np.zeros(0)},
    {"weight": np.zeros((2, 3))},
    {"weight": np.full((2, 2), np.inf)},
    {"at_nan": np.zeros((1, 2))},
    {"table": np.zeros((3, 3))},
    {"table": np.zeros((2, 2))},
    {"magnitude": np.zeros(1)},
    {"nan_magnitude": np.full(2, np.nan)},
    {"table_magnitude": np.zeros(2)},
    {"table_magnitude": np.full(3, -1.0)},
    {"bias_magnitude": -1.0},
    {"depth": "deep"},
    {"extra": 1},
]


@pytest.mark.parametrize("change", BAD, ids=lambda change: str(next(iter(change))))
def test_the_engine_refuses_wrong_shapes_and_indices(change):
    assert _core.Model.columns(dict(GOOD)).n_terms == 3
    with pytest.raises((ValueError, TypeError)):
        _core.Model.columns(GOOD | change)


def test_sparse_rows_are_refused():
    linear, columns = made(np.random.default_rng(9))
    X = sparse.csr_array(np.ones((3, 9)))
    with pytest.raises(ValueError, match="dense rows"):
        ColumnTerms.of(linear, columns).scores(X)


NUMBER = Numeric(0, np.ones(1), np.zeros(1), None, np.array([0]))
STATES = ByState(1, np.eye(2), np.array([1, 2]))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([], "one function for each raw column"),
        ([STATES], "one function for each raw column"),
        ([NUMBER, NUMBER], "one function for each raw column"),
        ([NUMBER], "each of the 3 columns"),
        ([NUMBER, dataclasses.replace(STATES, written=np.array([1, 1]))], "each of the 3 columns"),
        ([NUMBER, dataclasses.replace(STATES, written=np.array([1, 3]))], "each of the 3 columns"),
        ([NUMBER, dataclasses.replace(STATES, values=np.eye(3))], "values of column 1 must have shape"),
        ([NUMBER, dataclasses.replace(STATES, values=np.zeros((0, 2)))], "values of column 1 must have shape"),
        ([NUMBER, dataclasses.replace(STATES, values=np.full((2, 2), np.inf))], "values of column 1 must be finite"),
        ([dataclasses.replace(NUMBER, scale=np.ones(2)), STATES], "scale of column 0 must have shape"),
        ([dataclasses.replace(NUMBER, shift=np.full(1, np.nan)), STATES], "shift of column 0 must be finite"),
        ([dataclasses.replace(NUMBER, fill=np.ones((1, 1))), STATES], "fill of column 0 must have shape"),
    ],
)
def test_functions_that_do_not_fit_the_model_are_refused(columns, message):
    linear = LinearTerms(coef=np.ones((1, 3)), intercept=np.zeros(1))
    assert ColumnTerms.of(linear, [STATES, NUMBER]).n_terms == 2
    with pytest.raises(ValueError, match=message):
        ColumnTerms.of(linear, columns)
