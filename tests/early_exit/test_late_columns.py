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
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from wald import EarlyExitClassifier, Planner
from wald.early_exit import late_columns
from wald.early_exit.late_columns import LateColumns, cheapest_rounds
from wald.sources import source_of
from wald.steps import RawColumns
from wald.steps.keys import Keys

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


def test_columns_are_looked_up_for_the_rows_that_need_them(fast, monkeypatch):
    X, taken = frame()[N_FIT:], []
    take = Keys.take

    def noting(self: Keys, cells: Any, values: Any, refused: Any, rows: Any = None) -> Any:
        if self.known == sorted(self.known) and isinstance(self.known, list):
            taken.append(cells.n_rows if rows is None else len(rows))
        return take(self, cells, values, refused, rows)

    monkeypatch.setattr(Keys, "take", noting)
    fast.predict(CONTAINERS["polars"](X))
    assert len(taken) == len(TEXTS)
    assert 0 < sum(taken) < 0.8 * len(TEXTS) * len(X)


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
