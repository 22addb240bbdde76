"""Lossless exits rest on the ranges of all columns: one that no stage read is compared with its range, too."""

from __future__ import annotations

import copy
import itertools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from early_exit.models import wrap
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import wald
from wald import _core
from wald.early_exit.compiled.lossless import FeatureRanges
from wald.plan import CostModel
from wald.sources import source_of
from wald.stopping import Lossless

polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

N, D = 4000, 40
NOT_FINITE = r"(?i)(contains|is) (nan|infinity|inf)"
NAMES = [f"x{c}" for c in range(D)]
ROWS = np.random.default_rng(0).uniform(0, 1, (N, D))


def named_frame(X):
    return pd.DataFrame(X, columns=NAMES)


def fitted(names=False, **params):
    """A model whose first columns decide most rows, and its early exits."""
    model = LogisticRegression().fit(named_frame(ROWS[:9]) if names else ROWS[:9], np.arange(9) % 2)
    weights = np.random.default_rng(1).normal(size=D) / (1 + np.arange(D)) ** 1.5
    model.coef_, model.intercept_ = weights[None], np.array([-0.5 * weights.sum()])
    rows = named_frame(ROWS) if names else ROWS
    return model, wrap(model, rows[:2000], **{"risk": 0, "rule": Lossless(low=0, high=1)} | params)


@pytest.fixture(scope="module")
def nameless():
    return fitted()


@pytest.fixture(scope="module")
def named():
    return fitted(names=True)


@pytest.fixture(scope="module")
def drifted(nameless):
    """Rows with a value far outside in the last column of the plan, which hardly any row reads."""
    model, fast = nameless
    last = fast.plan_.terms[-1]
    X = ROWS.copy()
    X[:, last] += np.where(np.arange(N) % 3 == 0, 60.0, 0.0) * np.sign(0.5 - model.predict(X)) / model.coef_[0, last]
    assert np.count_nonzero(model.predict(X) != model.predict(ROWS)) > 500
    return X


def spoilt(X, column, value):
    X = X.copy()
    X[17, column] = value
    return X


def last_of(fast):
    return int(fast.plan_.terms[-1])


CONTAINERS = {
    "rows": np.asarray,
    "columns": np.asfortranarray,
    "float32": np.float32,
    "float32 in columns": lambda X: np.asfortranarray(X, dtype=np.float32),
    "backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "every second": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "long double": np.longdouble,
    "other byte order": lambda X: X.astype(">f8"),
    "unaligned": lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape),
    "objects": lambda X: X.astype(object),
    "CSR": sparse.csr_array,
    "CSC of float32": lambda X: sparse.csc_matrix(X.astype(np.float32)),
    "list": lambda X: X.tolist(),
    "frame of one block": pd.DataFrame,
    "named frame": named_frame,
    "frame of columns": lambda X: pd.DataFrame({name: X[:, c].copy() for c, name in enumerate(NAMES)}),
    "frame of several dtypes": lambda X: named_frame(X).astype({"x0": np.float32, "x7": object}),
    "nullable frame": lambda X: named_frame(X).convert_dtypes(),
    "polars": lambda X: polars.DataFrame(X, schema=NAMES),
    "arrow": lambda X: pyarrow.table({name: X[:, c] for c, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_every_container_gets_the_models_own_labels(nameless, drifted, container):
    model, fast = nameless
    rows = CONTAINERS[container](drifted)
    labels, cost = fast.predict(rows, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(drifted))
    assert (cost[::3] == fast.plan_.full_cost).all()
    assert np.delete(cost, np.s_[::3]).mean() < 0.7 * fast.plan_.full_cost  # other rows leave as before
    np.testing.assert_array_equal(fast.predict(rows, check_input=False), labels)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_a_value_that_is_not_finite_is_an_error_as_in_the_model(nameless, container, value):
    model, fast = nameless
    spoilt_rows = spoilt(ROWS, last_of(fast), value)
    with pytest.raises(ValueError, match=NOT_FINITE):
        model.predict(spoilt_rows)
    rows = CONTAINERS[container](spoilt_rows)
    with pytest.raises(ValueError, match=NOT_FINITE):
        fast.predict(rows)


@pytest.mark.parametrize("make", [named_frame, lambda X: polars.DataFrame(X, schema=NAMES)])
def test_frames_with_the_models_names_and_records_in_any_order(named, drifted, make):
    model, fast = named
    frame, last = make(drifted), last_of(fast)
    labels = model.predict(named_frame(drifted))
    np.testing.assert_array_equal(fast.predict(frame), labels)
    backwards = frame[NAMES[::-1]]
    with pytest.raises(ValueError, match="must be in the same order"):  # as scikit-learn does
        fast.predict(backwards)
    records = named_frame(drifted[:200])[NAMES[::-1]].to_dict("records")
    np.testing.assert_array_equal(fast.predict_records(records), labels[:200])
    assert [fast.predict_one(record) for record in records] == labels[:200].tolist()
    assert [fast.predict_one(row) for _, row in named_frame(drifted[:50]).iterrows()] == labels[:50].tolist()
    wrong = make(spoilt(ROWS, last, np.nan))
    with pytest.raises(ValueError, match="contains NaN"):
        fast.predict(wrong)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=NOT_FINITE):
            fast.predict_one({**records[0], NAMES[last]: value})
        with pytest.raises(ValueError, match=NOT_FINITE):
            fast.predict_records([records[1], {**records[0], NAMES[last]: value}])


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_one_row(nameless, drifted):
    model, fast = nameless
    labels = model.predict(drifted)
    for rows in (drifted, np.asfortranarray(drifted), drifted.astype(np.float32)):
        assert [fast.predict_one(x) for x in rows[:300]] == labels[:300].tolist()
    assert [fast.predict_one(x.tolist()) for x in drifted[:50]] == labels[:50].tolist()
    assert [fast.trace(x).label for x in drifted[:30]] == labels[:30].tolist()
    assert fast.trace(drifted[0]).stage == fast.plan_.n_stages
    np.testing.assert_array_equal(fast.stage_scores(drifted)[1][::3], fast.plan_.n_stages)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=NOT_FINITE):
            fast.predict_one(spoilt(ROWS, last_of(fast), value)[17])
        with pytest.raises(ValueError, match=NOT_FINITE):
            fast.predict_one(spoilt(ROWS, last_of(fast), value)[17].tolist())


def test_names_that_only_the_rows_of_fit_had(drifted):
    model, _ = fitted()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about names that the model lacks
        fast = wrap(model, named_frame(ROWS[:2000]), risk=0, rule=Lossless(low=0, high=1))
        labels = model.predict(drifted)
        records = named_frame(drifted[:99])[NAMES[::-1]].to_dict("records")
        np.testing.assert_array_equal(fast.predict(named_frame(drifted)), labels)
        np.testing.assert_array_equal(fast.predict(polars.DataFrame(drifted, schema=NAMES)), labels)
        np.testing.assert_array_equal(fast.predict(records), labels[:99])
        np.testing.assert_array_equal(fast.predict_records(records), labels[:99])
        assert [fast.predict_one(record) for record in records] == labels[:99].tolist()
        for value in (np.nan, np.inf):
            wrong = named_frame(spoilt(ROWS, last_of(fast), value))
            for rows in (wrong, polars.from_pandas(wrong)):
                with pytest.raises(ValueError, match=NOT_FINITE):
                    fast.predict(rows)


@pytest.mark.filterwarnings("ignore::wald.monitoring.DriftWarning")
def test_watched_rows_threads_and_views(nameless, drifted):
    model, fast = nameless
    labels = model.predict(drifted)
    watched = fast.watched(0.5)
    np.testing.assert_array_equal(watched.predict(drifted), labels)
    assert [watched.predict_one(x) for x in drifted[:50]] == labels[:50].tolist()
    threads = copy.copy(fast)
    threads.n_jobs = 2
    np.testing.assert_array_equal(threads.predict(np.tile(drifted, (6, 1))), np.tile(labels, 6))
    assert len(fast.predict(drifted[:0])) == 0


def test_files_and_pickles(nameless, drifted, tmp_path):
    model, fast = nameless
    wald.save(fast, tmp_path / "fast.wald")
    for other in (wald.load(tmp_path / "fast.wald"), pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast)):
        labels, cost = other.predict(drifted, return_cost=True)
        np.testing.assert_array_equal(labels, model.predict(drifted))
        np.testing.assert_array_equal(cost, fast.predict(drifted, return_cost=True)[1])
        assert other.predict_one(drifted[0]) == model.predict(drifted[:1])[0]


@pytest.mark.parametrize("budget", [None, 1e9])
def test_jobs(named, drifted, tmp_path, budget):
    from pyarrow.parquet import read_table, write_table

    from wald.jobs import JobError, Options, run

    model, fast = named
    (tmp_path / "in").mkdir()
    order = np.argsort(np.arange(N) % 3 != 0, kind="stable")  # row groups without rows that lie inside, and others
    frame = named_frame(drifted[order])
    write_table(pyarrow.Table.from_pandas(frame), tmp_path / "in" / "rows.parquet", row_group_size=250)
    run(fast, tmp_path / "in", tmp_path / "out", model="m", options=Options(budget=budget))
    labels = np.concatenate([read_table(part)["label"] for part in sorted((tmp_path / "out").glob("part-*"))])
    np.testing.assert_array_equal(labels, model.predict(frame))
    assert fast.compiled_plan_.columns_by_stage() is None  # late reading would leave columns unread
    frame.iloc[3000, last_of(fast)] = np.nan
    (tmp_path / "bad").mkdir()
    write_table(pyarrow.Table.from_pandas(frame), tmp_path / "bad" / "rows.parquet", row_group_size=250)
    with pytest.raises(JobError, match="contains NaN"):
        run(fast, tmp_path / "bad", tmp_path / "none", model="m", options=Options(budget=budget))


def test_several_classes_and_a_risk(drifted):
    """A rule by proof needs its ranges also where a risk is given; several classes leave by their margins."""
    rng = np.random.default_rng(3)
    several = LogisticRegression().fit(ROWS[:300], np.arange(300) % 3)
    several.coef_ = rng.normal(size=(3, D)) / (1 + np.arange(D)) ** 2.5
    several.intercept_ = -0.5 * several.coef_.sum(axis=1)
    fast = wrap(several, ROWS[:2000], risk=0, rule=Lossless(low=0, high=1))
    assert not fast.plan_.evaluate_all
    wild = ROWS.copy()
    wild[::2, last_of(fast)] = 500.0
    labels = fast.predict(wild)
    assert np.count_nonzero(several.predict(wild) != several.predict(ROWS)) > 100
    np.testing.assert_array_equal(labels, several.predict(wild))
    model, risky = fitted(risk=0.01)
    np.testing.assert_array_equal(risky.predict(drifted), model.predict(drifted))


def test_bytes(nameless):
    rng = np.random.default_rng(4)
    model = copy.deepcopy(nameless[0])
    X = rng.integers(0, 101, (N, D)).astype(np.uint8)
    model.intercept_ = -50 * model.coef_[0].sum(keepdims=True)
    fast = wrap(model, X[:2000], risk=0, rule=Lossless(low=0, high=100))
    wild = X.copy()
    wild[::2, fast.plan_.terms[-20:]] = 255
    assert np.count_nonzero(model.predict(wild) != model.predict(X)) > 10
    for make in (np.asarray, np.asfortranarray, pd.DataFrame, lambda X: X.astype(np.int32), sparse.csr_array):
        np.testing.assert_array_equal(fast.predict(make(wild)), model.predict(wild))
    everything = wrap(model, X[:2000], risk=0, rule=Lossless(low=0, high=255))
    np.testing.assert_array_equal(everything.predict(wild), model.predict(wild))


def test_missing_values_that_the_model_fills_may_stay_unread(drifted):
    given = ROWS.copy()
    given[np.random.default_rng(5).uniform(size=given.shape) < 0.05] = np.nan
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(given[:300], ROWS[:300, 0] > 0.5)
    model[-1].coef_ = fitted()[0].coef_.copy()
    model[-1].intercept_ = -0.5 * model[-1].coef_.sum(axis=1)
    fast = wrap(model, given[:2000], risk=0, rule=Lossless(low=0, high=1))
    labels, cost = fast.predict(given, return_cost=True)
    np.testing.assert_array_equal(labels, model.predict(given))
    assert cost.mean() < 0.7 * fast.plan_.full_cost
    wild = np.where(np.isnan(given), np.nan, drifted)
    np.testing.assert_array_equal(fast.predict(wild), model.predict(wild))
    with pytest.raises(ValueError, match="contains infinity"):
        fast.predict(spoilt(given, last_of(fast), np.inf))


# ---- the comparison itself -----------------------------------------------------------------------------------------


def outside(X, low, high, allow_nan):
    inside = (low <= X) & (high >= X) & np.isfinite(X)
    return ~(inside | (np.isnan(X) if allow_nan else False)).all(axis=1)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("n_columns", [1, 3, 16, 37, 200])
@pytest.mark.parametrize("allow_nan", [False, True])
def test_the_comparison_of_all_layouts(nameless, n_columns, allow_nan):
    rng = np.random.default_rng(n_columns)
    low, high = np.sort(rng.normal(0, 1e3, (2, n_columns)), axis=0)
    low[::5], high[1::5] = -np.inf, np.inf
    X = rng.uniform(np.maximum(low, -1e4), np.minimum(high, 1e4), (9000, n_columns))
    some, at = rng.permutation(9000)[:40], rng.integers(0, n_columns, 40)
    X[some, at] = rng.choice([np.nan, np.inf, -np.inf, 1e5, -1e5, 1e300, 0.0], 40)
    with np.errstate(over="ignore"):
        single = X.astype(np.float32)
    terms = nameless[1].compiled_plan_.model.terms
    ranges = FeatureRanges(low, high, allow_nan, terms.accepts.conversion)
    kinds = [X, single, np.asfortranarray(X), np.asfortranarray(single), X[:, ::-1].copy()[:, ::-1], X[::-1]]
    kinds += [pd.DataFrame(X), pd.DataFrame({c: X[:, c].copy() for c in range(n_columns)})]
    kinds += [sparse.csr_array(X), X.astype(object)]
    every = np.arange(9000)
    for rows in kinds:
        values = np.asarray(rows.toarray() if sparse.issparse(rows) else rows, dtype=float)
        expected = outside(values, low, high, allow_nan)
        for ids in (every, every[::7].copy(), np.flatnonzero(rng.uniform(size=9000) < 0.7), every[:0], every[-1:]):
            for n_threads in (1, 3):
                np.testing.assert_array_equal(ranges.violated_by(source_of(rows), ids, n_threads), expected[ids])


def test_bounds_are_compared_exactly():
    """A float32 lies within bounds of float64 if its value does; bytes likewise."""
    bound = np.array([0.1])
    low = _core.Ranges(bound, np.array([np.inf]), False)
    high = _core.Ranges(np.array([-np.inf]), bound, False)
    near = np.float32(0.1) + np.float32([-1, 0, 1]) * np.spacing(np.float32(0.1))
    values = np.repeat(near[:, None], 1, axis=1)
    rows, ids = _core.Rows.dense(values), np.arange(3)
    np.testing.assert_array_equal(low.outside(rows, ids, 1), near.astype(float) < 0.1)
    np.testing.assert_array_equal(high.outside(rows, ids, 1), near.astype(float) > 0.1)
    every = np.arange(256, dtype=np.uint8)[:, None]
    for least, most in itertools.product([-np.inf, -3, -0.5, 0, 0.5, 254.5, 255, 256, np.inf], repeat=2):
        if least > most:
            continue
        ranges = _core.Ranges(np.array([float(least)]), np.array([float(most)]), False)
        expected = (every[:, 0] < least) | (every[:, 0] > most)
        for rows in (_core.Rows.dense(every), _core.Rows.columns(256, [every[:, 0]])):
            np.testing.assert_array_equal(ranges.outside(rows, np.arange(256), 1), expected)


def test_the_extension_refuses_what_does_not_fit():
    ranges = _core.Ranges(np.zeros(2), np.ones(2), False)
    rows = _core.Rows.dense(np.zeros((3, 2)))
    for ids in ([3], [-1], [1, 0], [1, 1]):
        with pytest.raises(ValueError, match="row ids must ascend"):
            ranges.outside(rows, np.array(ids), 1)
    with pytest.raises(ValueError, match="a column for every range"):
        ranges.outside(_core.Rows.dense(np.zeros((3, 3))), np.arange(3), 1)
    with pytest.raises(ValueError, match="every column"):
        ranges.outside(_core.Rows.columns(3, [np.zeros(3), None]), np.arange(3), 1)
    with pytest.raises(ValueError, match="a lower and an upper bound"):
        _core.Ranges(np.zeros(2), np.ones(3), False)


# ---- planning ------------------------------------------------------------------------------------------------------


def test_a_plan_pays_for_the_comparison(monkeypatch):
    """Where comparing rows takes longer than the model, everything is evaluated; a user's cost model is not changed."""
    compare = FeatureRanges.violated_by

    def slowly(self, X, rows, n_threads):
        for _ in range(100):
            found = compare(self, X, rows, n_threads)
        return found

    monkeypatch.setattr(FeatureRanges, "violated_by", slowly)
    costs = []
    from wald.early_exit.fitting import planning

    class Noting(planning.Costs):
        def __init__(self, *given):
            super().__init__(*given)
            costs.append(self)

    monkeypatch.setattr(planning, "Costs", Noting)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fast = fitted(cost="time")[1]
    assert fast.plan_.evaluate_all
    assert costs[-1]._before_stages * 2000 > 1e-3
    given = CostModel(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=float(D))
    assert fitted(cost=given)[1].plan_.cost_model.row == 0.0
