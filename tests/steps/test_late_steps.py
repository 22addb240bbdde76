"""Branches of a pipeline run for the rows that need them, and answers are those of the pipeline in one piece."""

from __future__ import annotations

import pickle
import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    StandardScaler,
)

import wald
from wald.stopping import Ladder

from .material import N_CHEAP, N_COLUMNS, NAMES, Costly, Pair, fitted, front, in_one_piece, pair, require_same, rows

ORDER = np.arange(N_COLUMNS)
HERE = [f"{Costly.__module__}.Costly", f"{Costly.__module__}.InOnePiece"]


def frame(X: Any, library: str = "pandas") -> Any:
    lib = pytest.importorskip(library)
    columns = dict(zip(NAMES, X.T, strict=True))
    return lib.table(columns) if library == "pyarrow" else lib.DataFrame(columns)


@pytest.fixture(scope="module")
def binary() -> tuple[Pair, Any]:
    X, y = rows()
    columns = list(range(N_COLUMNS))
    return pair(fitted(LogisticRegression(), X, y, columns=columns), X, order=ORDER), rows(3000, 1)[0]


@pytest.fixture(scope="module")
def framed() -> tuple[Pair, Any]:
    X, y = rows()
    X = frame(X)
    return pair(fitted(LogisticRegression(), X, y), X, order=ORDER), frame(rows(3000, 1)[0])


def seen_by(call: Any) -> Any:
    """The values that the costly transformer sees during a call."""
    Costly.seen.clear()
    call()
    return np.concatenate([np.empty((0, N_COLUMNS - N_CHEAP)), *Costly.seen])


# ---- what runs -------------------------------------------------------------------------------------------------------


def test_the_costly_branch_sees_the_undecided_rows_alone(binary):
    both, X = binary
    answers = both.late.predict(X, details=True)
    first = int(np.searchsorted(both.late.plan_.stage_terms, N_CHEAP, side="right"))
    open_rows = answers.stages >= first  # their stage, or the full model, reads a column of the costly branch
    assert 0.1 < open_rows.mean() < 0.8
    seen = seen_by(lambda: both.late.predict(X))
    np.testing.assert_array_equal(seen, X[open_rows][:, N_CHEAP:])
    assert len(seen_by(lambda: both.whole.predict(X))) == len(X)


def test_one_row_that_leaves_early_never_sees_the_costly_branch(binary):
    both, X = binary
    stages = both.late.predict(X, details=True).stages
    early, last = int(np.argmin(stages)), int(np.argmax(stages))
    assert len(seen_by(lambda: both.late.predict_one(X[early]))) == 0
    assert len(seen_by(lambda: both.late.predict_one(X[last]))) == 1


def test_a_budget_within_the_cheap_branch_never_runs_the_costly_one(binary):
    both, X = binary
    assert len(seen_by(lambda: both.late.predict(X, budget=3))) == 0
    require_same(both.late.predict(X, budget=3, details=True), both.whole.predict(X, budget=3, details=True))


def test_an_order_that_starts_with_the_costly_branch_runs_all_rows():
    X, y = rows()
    model = fitted(LogisticRegression(), X, y, columns=list(range(N_COLUMNS)))
    both = pair(model, X, order=ORDER[::-1].copy())
    assert len(seen_by(lambda: both.late.predict(X))) == len(X)
    require_same(both.late.predict(X, details=True), both.whole.predict(X, details=True))


@pytest.mark.slow
def test_plans_know_what_a_transformer_costs():
    def slow(X: Any) -> Any:
        time.sleep(3e-5 * len(X))  # beside which all else costs little
        return X

    X, y = rows()
    X = X[:, ::-1]  # the first columns tell least
    parts = [("slow", FunctionTransformer(slow), slice(0, 6)), ("quick", StandardScaler(), slice(6, 12))]
    model = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(X[:2000], y[:2000])
    both = pair(model, X, cost="time")
    plan = both.late.plan_
    assert not plan.evaluate_all
    assert both.whole.plan_.evaluate_all  # it cannot save the time that all rows need
    assert set(plan.terms[:6].tolist()) == set(range(6, 12))
    assert sorted(first for first, _ in plan.cost_model.branches) == [1, 7]
    assert max(seconds for _, seconds in plan.cost_model.branches) >= 2e-5


def test_errors_and_warnings_of_a_transformer_come_through():
    def strict(X: Any) -> Any:
        if (np.asarray(X) > 90).any():
            raise ValueError("a value is above 90")
        warnings.warn("it was called", UserWarning, stacklevel=2)
        return X

    X, y = rows()
    step = ColumnTransformer(
        [("a", StandardScaler(), [*range(6)]), ("b", FunctionTransformer(strict), [*range(6, 12)])]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make_pipeline(step, LogisticRegression()).fit(X[:2000], y[:2000])
        both = pair(model, X, order=ORDER)
        stages = both.late.predict(X, details=True).stages
    hard, easy = X[[np.argmax(stages)]].copy(), X[[np.argmin(stages)]].copy()
    for rows_given in (hard, easy):
        rows_given[0, 8] = 100.0
    with pytest.raises(ValueError, match="a value is above 90"):
        both.late.predict(hard)
    both.late.predict(easy)  # as with other columns that a row did not read
    with pytest.warns(UserWarning, match="it was called"):
        both.late.predict(X[[np.argmax(stages)]])


def test_a_transformer_that_looks_at_other_rows_is_refused():
    def centred(X: Any) -> Any:
        return X - X.mean(axis=0)

    X, y = rows()
    parts = [("a", StandardScaler(), slice(0, 6)), ("b", FunctionTransformer(centred), slice(6, 12))]
    model = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(X[:2000], y[:2000])
    with pytest.raises(ValueError, match="'b' gives a row other values when it gets fewer rows"):
        pair(model, X, order=ORDER)


def test_rows_of_another_shape_are_refused_as_before(binary):
    both, X = binary
    for fast in (both.late, both.whole):
        with pytest.raises(ValueError, match="expecting 12 features"):
            fast.predict(X[:, :-1])


# ---- what stays the same ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 7, 300, 3000])
def test_answers_of_arrays(binary, n):
    both, X = binary
    require_same(both.late.predict(X[:n], details=True), both.whole.predict(X[:n], details=True))


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_answers_of_frames_in_any_order_of_columns(framed, library):
    both, X = framed
    given = frame(X.to_numpy(), library)
    backwards = given.select(NAMES[::-1]) if library != "pandas" else given[NAMES[::-1]]
    expected = both.whole.predict(X, details=True)
    for table in (given, backwards):
        require_same(both.late.predict(table, details=True), expected)


def test_answers_of_records_and_single_rows(framed):
    both, X = framed
    some = X.iloc[:40]
    expected = both.whole.predict(some, details=True)
    records = some.to_dict("records")
    require_same(both.late.predict(records, details=True), expected)
    for i, record in enumerate(records):
        for one in (record, some.iloc[i]):
            label, cost = both.late.predict_one(one, return_cost=True)
            assert (label, cost) == (expected.labels[i], expected.costs[i])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32, np.uint8, object])
def test_answers_of_other_dtypes(dtype):
    X, y = rows()
    X = (np.round(20 * X) + (100 if dtype == np.uint8 else 0)).astype(dtype)
    model = fitted(LogisticRegression(max_iter=1000), X, y, columns=list(range(N_COLUMNS)))
    require_same(*(fast.predict(X, details=True) for fast in vars(pair(model, X, order=ORDER)).values() if fast))


def imputed() -> Any:
    return make_pipeline(SimpleImputer(), Costly())


MIXED = {
    "passed through": lambda: [("a", "passthrough", [0, 1]), ("b", Costly(), slice(2, 8)), ("c", "drop", [8])],
    "the rest": lambda: [("a", StandardScaler(), slice(0, 3)), ("b", Costly(), np.arange(12) > 6)],
    "imputed": lambda: [
        ("a", SimpleImputer(), slice(0, 6)),
        ("b", make_pipeline(SimpleImputer(), Costly()), slice(6, 12)),
    ],
    "missing": lambda: [("a", "passthrough", slice(0, 6)), ("b", Costly(), slice(6, 12))],
    "integers": lambda: [("a", OrdinalEncoder(dtype=np.int32), [0, 1]), ("b", Costly(), slice(1, 12))],
    "one-hot": lambda: [("a", OneHotEncoder(sparse_output=False), [0, 1]), ("b", Costly(), slice(2, 12))],
    "sparse": lambda: [("a", OwnOneHot(), [0, 1]), ("b", OwnOneHot(), slice(2, 4))],
    "single": lambda: [("a", FunctionTransformer(np.float32), slice(0, 6)), ("b", Costly(), slice(6, 12))],
}
BETWEEN: dict[str, Any] = {
    "a scaler": lambda: (StandardScaler(),),
    "a clipped scaler": lambda: (MinMaxScaler(clip=True),),
    "an imputer and a scaler": lambda: (SimpleImputer(), MinMaxScaler(clip=True)),
    "a mixture": lambda: (Normalizer(),),
    "an imputer": lambda: (SimpleImputer(),),  # becomes part of the terms, which then take NaN
}


class OwnOneHot(OneHotEncoder):
    """An encoder of one's own, which wald does not take apart."""


#: Where branches cannot be run apart: the table is sparse, or a later step mixes columns.
TOGETHER = {"sparse", "a mixture"}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    ("mixed", "between"),
    [
        *((mixed, None) for mixed in MIXED if mixed != "missing"),
        *(("imputed", between) for between in BETWEEN),
        ("missing", "an imputer"),
    ],
)
def test_answers_of_all_kinds_of_pipelines(mixed: str, between: str | None, n_classes: int) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2500, N_COLUMNS))
    X[:, :4] = rng.integers(0, 4, size=(2500, 4))
    y = X @ np.linspace(1, 0.1, N_COLUMNS)
    y = np.digitize(y, np.quantile(y, [0.4, 0.7] if n_classes == 3 else [0.5]))
    if mixed in ("imputed", "missing"):
        X[rng.random(X.shape) < 0.05] = np.nan
    options = {"remainder": "passthrough"} if mixed == "the rest" else {}
    later = () if between is None else BETWEEN[between]()
    model = make_pipeline(ColumnTransformer(MIXED[mixed](), **options), *later, LogisticRegression(max_iter=2000))
    model.fit(X[:800], y[:800])
    both = pair(model, X, 800, risk=0.1, order=np.arange(model[-1].n_features_in_))
    assert (both.late.compiled_plan_.columns_by_stage() is None) == bool({mixed, between} & TOGETHER)
    for given in (X, X[:1], X[:130]):
        require_same(both.late.predict(given, details=True), both.whole.predict(given, details=True))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_of_trees(n_classes: int) -> None:
    X, _ = rows()
    y = X @ np.r_[np.full(N_CHEAP, 1.0), np.full(N_COLUMNS - N_CHEAP, 0.1)]
    y = np.digitize(y, [-1, 1] if n_classes == 3 else [0])
    step = front(columns=list(range(N_COLUMNS))).fit(X[:2000])
    Z, cheap = step.transform(X[:2000]), step.transform(X[:2000])
    cheap[:, N_CHEAP:] = 0.0
    trees = GradientBoostingClassifier(n_estimators=30, warm_start=True, random_state=0).fit(cheap, y[:2000])
    trees.set_params(n_estimators=40).fit(Z, y[:2000])  # the last ten read the other columns, too
    both = pair(make_pipeline(step, trees), X, order=np.arange(40), rule=Ladder())
    assert len(seen_by(lambda: both.late.predict(X))) < len(X)
    for given in (X, X[:1], X.astype(np.float32)):
        require_same(both.late.predict(given, details=True), both.whole.predict(given, details=True))


@pytest.mark.parametrize(
    "last", [RandomForestClassifier(20, max_depth=4, random_state=0), HistGradientBoostingClassifier(max_iter=20)]
)
@pytest.mark.parametrize("risk", [0, 0.05])
def test_answers_of_models_that_read_all_columns_at_once(last: Any, risk: float) -> None:
    X, y = rows(3000)
    both = pair(fitted(last, X, y, StandardScaler(), columns=list(range(N_COLUMNS)), n_train=1000), X, 1000, risk=risk)
    require_same(both.late.predict(X, details=True), both.whole.predict(X, details=True))


def test_nan_after_a_branch_is_refused_by_the_rows_that_read_it(binary):
    both, X = binary
    stages = both.late.predict(X, details=True).stages
    for row in (np.argmin(stages), np.argmax(stages)):
        for column in (0, N_COLUMNS - 1):
            broken = X[[row]].copy()
            broken[0, column] = np.nan
            outcomes = []
            for fast in (both.late, both.whole):
                try:
                    outcomes.append(fast.predict(broken).tolist())
                except ValueError as error:
                    outcomes.append(str(error))
            assert outcomes[0] == outcomes[1]


def test_ties_go_to_the_wrapped_model():
    X, y = rows()
    X = np.round(X)
    model = fitted(LogisticRegression(), X, y, columns=list(range(N_COLUMNS)))
    model[-1].coef_[:] = np.round(4 * model[-1].coef_) / 4
    model[-1].intercept_[:] = 0.0
    model[0].named_transformers_["cheap"].scale_[:] = 1.0
    model[0].named_transformers_["cheap"].mean_[:] = 0.0
    X[:, N_CHEAP:] = 0.0
    both = pair(model, X, order=ORDER, risk=0)
    one, other = (fast.predict(X, details=True) for fast in (both.late, both.whole))
    require_same(one, other)
    np.testing.assert_array_equal(one.labels, model.predict(X))


def test_threads_and_monitors(binary):
    both, X = binary
    expected = both.whole.predict(X, details=True)
    late = both.late
    late.n_jobs = 2
    try:
        require_same(late.predict(X, details=True), expected)
    finally:
        late.n_jobs = None
    one, other = (fast.compiled_plan_.watched(0.1) for fast in (both.late, both.whole))
    require_same(one.predict(X), other.predict(X))


def test_a_global_wish_for_frames_runs_everything(framed):
    import sklearn

    both, X = framed
    expected = both.whole.predict(X, details=True)
    with sklearn.config_context(transform_output="pandas"):
        require_same(both.late.predict(X, details=True), expected)


def test_pickles_and_files_run_late_too(binary, tmp_path):
    both, X = binary
    expected = both.whole.predict(X, details=True)
    n = len(seen_by(lambda: both.late.predict(X)))
    again = pickle.loads(pickle.dumps(both.late))
    pytest.importorskip("skops")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wald.save(both.late, tmp_path / "late.wald", pipeline="skops")
    loaded = wald.load(tmp_path / "late.wald", trusted=HERE)
    for fast in (again, loaded):
        require_same(fast.predict(X, details=True), expected)
        assert len(seen_by(lambda fast=fast: fast.predict(X))) == n


def test_jobs_read_the_columns_of_a_branch_late(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from wald.jobs import Options, run

    X, y = rows()
    X = frame(X)
    both = pair(fitted(LogisticRegression(), X, y), X, order=ORDER)
    stages = both.late.predict(X, details=True).stages
    X = X.iloc[np.argsort(stages, kind="stable")]  # row groups of easy rows, and of hard ones
    parquet.write_table(frame(X.to_numpy(), "pyarrow"), tmp_path / "rows.parquet", row_group_size=500)
    expected = both.whole.predict(X, return_cost=True)
    report = run(both.late, [str(tmp_path / "rows.parquet")], tmp_path / "out", model="m", options=Options(cost=True))
    table = parquet.read_table(sorted((tmp_path / "out").glob("*.parquet"))).to_pandas()
    found = table.to_numpy()
    np.testing.assert_array_equal(found[:, 0].astype(bool), expected[0])
    np.testing.assert_array_equal(found[:, 1].astype(float), expected[1])
    assert report.bytes_decoded < 0.9 * report.bytes_there


def test_in_one_piece_is_another_way_to_run_the_same(binary):
    both, X = binary
    assert both.whole.plan_.stage_terms.tolist() == both.late.plan_.stage_terms.tolist()
    np.testing.assert_array_equal(in_one_piece(both.late.estimator_).predict(X), both.late.estimator_.predict(X))


def test_a_principal_component_behind_the_branches_mixes_them():
    X, y = rows()
    model = make_pipeline(front(columns=list(range(N_COLUMNS))), PCA(6), LogisticRegression()).fit(X[:2000], y[:2000])
    both = pair(model, X)
    assert len(seen_by(lambda: both.late.predict(X))) == len(X)
