"""Raw columns are read for the rows that need them, and answers are those of all columns read beforehand."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, StandardScaler

from wald import EarlyExitClassifier, Planner, _core
from wald.early_exit.compiled import late_columns
from wald.early_exit.compiled.late_columns import LateColumns, cheapest_rounds
from wald.early_exit.compiled.late_steps import LateSteps
from wald.engine import PythonTerms
from wald.sources import source_of
from wald.steps import RawColumns
from wald.steps.keys import Keys

# some rows hold missing cells where fit saw none
pytestmark = pytest.mark.filterwarnings("ignore:The column .* holds:UserWarning")

TEXTS, NUMBERS = ["a", "b", "c"], ["u", "v", "w", "x"]
N, N_FIT = 9000, 6000


def frame(n: int = N, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    texts = {name: rng.choice([f"{name}{i}" for i in range(8)], n).astype(object) for name in TEXTS}
    numbers = {name: rng.normal(size=n) for name in NUMBERS}
    numbers["w"] = np.where(rng.random(n) < 0.1, np.nan, numbers["w"])
    return pd.DataFrame({**texts, **numbers, "x": np.round(numbers["x"] * 3).astype(np.int64)})


def pipeline(n_classes: int = 2) -> Any:
    X = frame(3000, 1)
    score = 3 * X["u"] + 2 * X["v"] + X["w"].fillna(0) + 0.2 * X["a"].str[1].astype(int) + 0.1 * X["x"]
    y = np.digitize(score, np.quantile(score, np.linspace(0, 1, n_classes + 1)[1:-1]))
    front = ColumnTransformer(
        [
            ("texts", OneHotEncoder(handle_unknown="ignore"), TEXTS),
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
        ]
    )
    return make_pipeline(front, LogisticRegression(max_iter=300)).fit(X, y)


def wrapped(X: Any, n_classes: int = 2, **parameters: Any) -> EarlyExitClassifier:
    given = {"risk": 0.02, "planner": Planner(cost="units"), "random_state": 0} | parameters
    return EarlyExitClassifier(pipeline(n_classes), **given).fit(X)


@pytest.fixture(scope="module", params=[2, 3])
def fast(request: Any) -> EarlyExitClassifier:
    made = wrapped(frame()[:N_FIT], request.param, feature_costs=dict.fromkeys(TEXTS, 6.0))
    assert isinstance(made.compiled_plan_.model.preprocessing, RawColumns)
    assert made.compiled_plan_.columns_by_stage() is not None
    return made


def without_rounds(fast: EarlyExitClassifier) -> EarlyExitClassifier:
    other = pickle.loads(pickle.dumps(fast))
    other.compiled_plan_._predictor._late = None
    return other


def require_same(one: Any, other: Any) -> None:
    for name in ("labels", "stages", "costs", "status"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


CONTAINERS = {
    "object": lambda X: X,
    "str": lambda X: X.astype(dict.fromkeys(TEXTS, "str")),
    "category": lambda X: X.astype(dict.fromkeys(TEXTS, "category")),
    "polars": lambda X: pytest.importorskip("polars").from_pandas(X),
    "arrow": lambda X: pytest.importorskip("pyarrow").Table.from_pandas(X, preserve_index=False),
    "arrow in chunks": lambda X: in_chunks(X),
}


def in_chunks(X: pd.DataFrame) -> Any:
    pyarrow = pytest.importorskip("pyarrow")
    parts = [X[:1], X[1:1], X[1:700], X[700:]]
    return pyarrow.concat_tables([pyarrow.Table.from_pandas(part, preserve_index=False) for part in parts])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("rows_at_once", [600, 1 << 18])
def test_answers_are_those_of_all_columns(fast, container, rows_at_once, monkeypatch):
    monkeypatch.setattr(RawColumns, "rows_at_once", rows_at_once)
    X = frame()[N_FIT:]
    given = fast.predict(CONTAINERS[container](X), details=True)
    require_same(given, without_rounds(fast).predict(X, details=True))
    assert given.costs.mean() < 0.8 * fast.plan_.full_cost


@pytest.mark.parametrize("budget", [3.0, 12.0])
def test_budgets(fast, budget):
    X = frame()[N_FIT:]
    require_same(
        fast.predict(X, budget=budget, details=True), without_rounds(fast).predict(X, budget=budget, details=True)
    )


#: Frames whose cells are odd: categories that nobody knows, and missing values of every kind.
def odd_frame(n: int = N - N_FIT) -> pd.DataFrame:
    rng, X = np.random.default_rng(5), frame()[N_FIT : N_FIT + n].reset_index(drop=True)
    for name in TEXTS:
        X[name] = np.where(rng.random(n) < 0.05, "a longer text that nobody knows", X[name])
        X[name] = X[name].where(rng.random(n) < 0.95, None)
    return X.assign(v=X["v"].astype(np.float32), x=X["x"].astype(np.int16))


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("n_rows", [1, 2, 5, 100, 513, 2047, 2049, 3000])
def test_any_number_of_rows(fast, container, n_rows, monkeypatch):
    monkeypatch.setattr(LateColumns, "least_rows", 1)
    X = CONTAINERS[container](odd_frame(n_rows))
    given = fast.predict(X, details=True)
    require_same(given, without_rounds(fast).predict(X, details=True))
    require_same(given, pickle.loads(pickle.dumps(fast)).set_params(n_jobs=2).predict(X, details=True))


def test_answers_are_those_of_the_engine_in_numpy(fast):
    plan, model = fast.compiled_plan_.plan, fast.compiled_plan_.model
    X = odd_frame()
    terms = PythonTerms(model.terms, plan.terms)
    cascade = terms.cascade(model, plan.early, *plan.thresholds(), plan.stage_costs)
    codes, ledger = cascade.predict(model.preprocessing.transform(source_of(X)), plan.n_stages, "full", 1)
    given = fast.predict(X, details=True)
    settled = ledger.settled
    assert settled.mean() > 0.99
    np.testing.assert_array_equal(given.labels[settled], model.classes[codes[settled]])
    np.testing.assert_array_equal(given.stages, ledger.stages)


def test_a_row_is_answered_alike_wherever_it_stands(fast):
    X = odd_frame()
    order = np.random.default_rng(0).permutation(len(X))
    given, other = fast.predict(X, details=True), fast.predict(X.iloc[order], details=True)
    for name in ("labels", "stages", "costs", "status"):
        np.testing.assert_array_equal(getattr(given, name)[order], getattr(other, name))


def late_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rounds, which take over where the engine cannot read cells, fail."""

    def no_rounds(*_: Any, **__: Any) -> Any:
        raise AssertionError("rounds were needed")

    monkeypatch.setattr(LateSteps, "predict", no_rounds)


@pytest.mark.parametrize("container", CONTAINERS)
def test_the_engine_reads_every_container(fast, container, monkeypatch):
    late_alone(monkeypatch)
    fast.predict(CONTAINERS[container](odd_frame()))


def test_cells_are_read_for_the_rows_that_need_them(fast, monkeypatch):
    """The texts of rows that leave before them lie nowhere."""
    pyarrow = pytest.importorskip("pyarrow")
    if not hasattr(pyarrow, "string_view"):
        pytest.skip("needs texts as views")
    late_alone(monkeypatch)
    X = frame()[N_FIT:].reset_index(drop=True)
    answers = fast.predict(X, details=True)
    step, by_stage = fast.compiled_plan_.model.preprocessing, fast.compiled_plan_._predictor._terms_by_stage()
    spoilt = pyarrow.Table.from_pandas(X, preserve_index=False)
    n_spoilt = 0
    for place, name in enumerate(TEXTS):
        column = int(np.flatnonzero(step.source_columns == place)[0])
        first = next(t for t, columns in enumerate(by_stage) if column in columns)
        texts = pyarrow.array(X[name].tolist(), pyarrow.string_view())
        views = np.frombuffer(texts.buffers()[1], np.int32).reshape(-1, 4).copy()
        leaves_before = answers.stages < first
        leaves_before[0] = False  # the wrapped model checks the columns by this row
        views[leaves_before, 0] = -5  # bytes
        n_spoilt += int(leaves_before.sum())
        buffers = [None, pyarrow.py_buffer(views.tobytes()), *texts.buffers()[2:]]
        spoilt = spoilt.set_column(
            place, name, pyarrow.Array.from_buffers(pyarrow.string_view(), len(X), buffers, null_count=0)
        )
    assert n_spoilt > 0.2 * len(TEXTS) * len(X)
    require_same(fast.predict(spoilt, details=True), answers)


def test_objects_that_only_python_understands_come_in_rounds(fast):
    X = odd_frame()
    unusual = X.copy()
    for name in TEXTS:
        unusual[name] = pd.Series([None if text is None else np.str_(text) for text in X[name]], dtype=object)
    with pytest.MonkeyPatch.context() as patch:
        late_alone(patch)
        with pytest.raises(AssertionError, match="rounds were needed"):
            fast.predict(unusual)
    require_same(fast.predict(unusual, details=True), fast.predict(X, details=True))


def test_a_column_that_nobody_reads_may_hold_anything(fast, monkeypatch):
    monkeypatch.setattr(LateColumns, "least_rows", 10)
    X = frame()[N_FIT:].reset_index(drop=True)
    answers = fast.predict(X, details=True)
    early = np.flatnonzero(answers.stages == 0)
    assert len(early) > 10
    last = NUMBERS + TEXTS
    sources = fast.compiled_plan_.model.preprocessing.source_columns
    first = {X.columns[sources[c]] for c in fast.compiled_plan_._predictor._terms_by_stage()[0]}
    spoilt = X.iloc[early].astype(dict.fromkeys(set(last) - first, object))
    for name in set(last) - first:
        spoilt[name] = [object()] * len(spoilt)
    for rows in (spoilt, spoilt[:5]):  # in rounds, and at once
        np.testing.assert_array_equal(fast.predict(rows), answers.labels[early[: len(rows)]])


def test_rows_that_the_tables_do_not_answer_go_to_the_model(fast):
    X = frame()[N_FIT:].reset_index(drop=True)
    late = int(np.argmax(fast.predict(X, details=True).stages))
    X["u"] = X["u"].astype(np.float64)
    X.loc[late, "u"] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fast.predict(X)


def test_costs_and_groups_name_raw_columns():
    X = frame()[:N_FIT].assign(unread=0.0)
    fast = EarlyExitClassifier(
        pipeline_with_unread(),
        risk=0.02,
        planner=Planner(cost="units"),
        random_state=0,
        feature_costs={"a": 3.0, "texts": 5.0, "u": 0.5},
        feature_groups={"texts": ["b", "c"]},
    ).fit(X)
    assert fast.plan_.full_cost == 3.0 + 5.0 + 0.5 + 3
    with pytest.raises(ValueError, match="names 'nothing'"):
        fast.set_params(feature_costs={"nothing": 1.0}).fit(X)


def pipeline_with_unread() -> Any:
    """A model that leaves the column unread, the first of its columns, aside."""
    X = frame(3000, 1).assign(unread=0.0)
    front = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
            ("texts", OneHotEncoder(handle_unknown="ignore"), TEXTS),
        ]
    )
    return make_pipeline(front, LogisticRegression()).fit(X, X["u"] + X["v"] > 0)


def test_records_and_single_rows(fast):
    X = frame()[N_FIT : N_FIT + 50]
    records, labels = X.to_dict("records"), fast.predict(X)
    np.testing.assert_array_equal(fast.predict_records(records), labels)
    assert [fast.predict_one(record) for record in records] == labels.tolist()


def test_no_rounds_where_all_columns_are_read():
    exact = wrapped(frame()[:N_FIT], risk=0)
    assert exact.compiled_plan_._predictor._late is None
    np.testing.assert_array_equal(exact.predict(frame()), pipeline().predict(frame()))


@pytest.mark.parametrize("seed", range(4))
def test_rounds_cost_least(seed):
    """Against all choices, by the sums that `cheapest_rounds` minimizes."""
    rng = np.random.default_rng(seed)
    by_stage = [np.arange(m) for m in (1, 2, 3, 5, 8)]
    reached, prices = np.sort(rng.uniform(size=5))[::-1], rng.choice([1.0, 6.0], 8)

    def cost(ends: list[int]) -> float:
        total = 0.0
        for start, end in zip([0, *ends[:-1]], ends, strict=True):
            before = 0 if start == 0 else len(by_stage[start - 1])
            new = prices[before : len(by_stage[end - 1])].sum()
            added = late_columns.ADDED * len(by_stage[end - 1]) + late_columns.TAKEN * before
            total += reached[start] * (new + added)
        return total

    choices = [[i + 1 for i in range(4) if mask >> i & 1] + [5] for mask in range(16)]
    assert cost(cheapest_rounds(by_stage, reached, prices)) == pytest.approx(min(map(cost, choices)))


def test_columns_that_a_transformer_writes_come_in_rounds():
    X = frame()[:N_FIT]
    cut = KBinsDiscretizer(5, encode="onehot", quantile_method="averaged_inverted_cdf")
    front = ColumnTransformer(
        [
            ("texts", OneHotEncoder(handle_unknown="ignore"), TEXTS),
            ("cut", cut, ["x"]),
            ("rest", "passthrough", ["u", "v"]),
        ]
    )
    model = make_pipeline(front, LogisticRegression(max_iter=300)).fit(X, 3 * X["u"] + 2 * X["v"] + 0.1 * X["x"] > 0)
    fast = EarlyExitClassifier(model, risk=0.02, planner=Planner(cost="units"), random_state=0).fit(X)
    X = frame()[N_FIT:]
    require_same(fast.predict(X, details=True), without_rounds(fast).predict(X, details=True))


def test_rows_that_are_read_late_are_checked():
    keys = Keys(["a"])
    lookup = _core.Lookup(keys.core, np.zeros(6), np.zeros(6, bool), 2)
    with pytest.raises(ValueError, match="as many cells"):
        _core.LateRows(2, [lookup])
    lookup.objects(np.array(["a", "b"], object))
    with pytest.raises(ValueError, match="n_rows cells"):
        _core.LateRows(3, [lookup])
    with pytest.raises(ValueError, match="n_rows long"):
        _core.LateRows(3, [np.zeros(2)])
    with pytest.raises(TypeError):
        _core.LateRows(2, [np.array(["a", "b"], object)])
    with pytest.raises(ValueError, match="rows must lie"):
        lookup.result(np.array([2]))


def test_keys_take_some_cells():
    X = frame(1000)
    some = np.flatnonzero(np.random.default_rng(2).random(1000) < 0.3)
    keys = Keys([f"a{i}" for i in range(6)])
    values, refused = np.arange(float(keys.n_states)), np.zeros(keys.n_states, dtype=bool)
    for container in CONTAINERS.values():
        cells = source_of(container(X)).cells(0)
        every, part = keys.take(cells, values, refused)[0], keys.take(cells, values, refused, some)[0]
        np.testing.assert_array_equal(part, every[some])


def test_late_columns_are_what_answers(fast):
    assert isinstance(fast.compiled_plan_._predictor._late, LateColumns)


def test_columns_that_are_mixed_have_no_prices_of_their_own():
    X = frame(3000, 1)
    front = ColumnTransformer([("texts", OneHotEncoder(), TEXTS), ("products", PolynomialFeatures(), ["u", "v"])])
    model = make_pipeline(front, LogisticRegression(max_iter=300)).fit(X, X["u"] * X["v"] > 0)
    priced = EarlyExitClassifier(model, risk=0.05, feature_costs={"u": 2.0, "a": 3.0}, planner=Planner(cost="units"))
    with pytest.raises(ValueError, match="mixes several in the transformer 'products'"):
        priced.fit(frame(2000))
