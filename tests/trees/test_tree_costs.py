"""Prices of features that trees share: a row pays once for what it reads, and plans price what is not yet bought."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer

import wald
from wald import EarlyExitClassifier
from wald.displays._source import unit_of
from wald.models import Units, check_terms, decompose
from wald.models.units import Purchase
from wald.plan.moments import Moments
from wald.plan.order import greedy_order

N_FEATURES = 10
PRICES = 1.0 + 3.0 * np.arange(N_FEATURES)
GROUPS = {"blood": [0, 3, 7], "scan": [5, 9]}


def data(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray]:
    return make_classification(
        6000, N_FEATURES, n_informative=7, n_classes=n_classes, n_clusters_per_class=2, class_sep=1.2, random_state=0
    )


MODELS: dict[str, Any] = {
    "histogram boosting": HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=4, early_stopping=False),
    "gradient boosting": GradientBoostingClassifier(n_estimators=40, max_depth=2),
    "forest of leaves with several values": RandomForestClassifier(40, max_leaf_nodes=6, random_state=0),
}


@pytest.fixture(scope="module", params=[2, 3], ids=["two classes", "three classes"])
def n_classes(request: pytest.FixtureRequest) -> int:
    return int(request.param)


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def fitted(request: pytest.FixtureRequest, n_classes: int) -> tuple[Any, np.ndarray]:
    from sklearn.base import clone

    X, y = data(n_classes)
    return clone(request.param).fit(X[:1500], y[:1500]), X[1500:]


def wrapped(fitted: tuple[Any, np.ndarray], **params: Any) -> EarlyExitClassifier:
    model, X = fitted
    settings = {"risk": 0.05, "cost": "units", "random_state": 0} | params
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**settings)).fit(X[:3000])


def paid(model: Any, units_read: np.ndarray, groups: dict[str, list[int]] | None, prices: Any) -> float:
    """Price of the features of some units, counted feature by feature."""
    terms = decompose(model).terms
    trees, bought = terms.trees, set()
    structures = list(dict.fromkeys(trees.structure.tolist()))
    for unit in units_read:
        s = structures[unit]
        bought |= set(trees.feature[trees.first_node[s] : trees.first_node[s + 1]].tolist())
    names = {column: label for label, columns in (groups or {}).items() for column in columns}
    labels = {names.get(column, column) for column in bought}
    total = 0.0
    for label in labels:
        if isinstance(label, str):
            total += sum(PRICES[column] for column in groups[label]) if prices is PRICES else prices.get(label, 0.0)
        else:
            total += PRICES[label] if prices is PRICES else 1.0
    return total


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("groups", "prices"),
    [(None, PRICES), (GROUPS, PRICES), (GROUPS, {"blood": 25.0, "scan": 100.0})],
    ids=["features", "groups", "groups with prices"],
)
def test_a_row_pays_once_for_what_it_reads(fitted, groups, prices) -> None:
    model, X = fitted
    fast = wrapped(fitted, feature_groups=groups, feature_costs=prices)
    plan = fast.plan_
    assert plan.n_stages > 1
    for stage, n_units in enumerate(plan.stages[:-1]):
        assert plan.stage_costs[stage] == pytest.approx(paid(model, plan.order[:n_units], groups, prices))
    n_units = len(decompose(model).terms.units(None, None, None, 1).members)
    assert plan.full_cost == pytest.approx(paid(model, np.arange(n_units), groups, prices))
    rows = X[3000:]
    labels, cost = fast.predict(rows, return_cost=True)
    _, stages = fast.stage_scores(rows)
    np.testing.assert_array_equal(cost, plan.stage_costs[stages])
    for n in (1, 5, 100):
        np.testing.assert_array_equal(fast.predict(rows[:n], return_cost=True)[1], cost[:n])
    assert [fast.predict_one(row, return_cost=True) for row in rows[:30]] == list(
        zip(labels[:30], cost[:30], strict=True)
    )


@pytest.mark.slow
def test_plans_save_prices(fitted) -> None:
    """The rows pay less than under the plan that counts trees."""
    model, X = fitted
    prices = np.where(np.arange(N_FEATURES) < 5, 1.0, 50.0)
    priced, counted = wrapped(fitted, feature_costs=prices), wrapped(fitted)
    plan = counted.plan_
    units = decompose(model).terms.units(None, None, prices, 1)

    def price(n_units: int) -> float:
        chosen = plan.order[:n_units].tolist() if n_units <= len(plan.order) else list(range(len(units.members)))
        return units.take(chosen).total

    _, stages = counted.stage_scores(X[3000:])
    of_counted = np.array([price(n) for n in plan.stages])[stages]
    assert priced.predict(X[3000:], return_cost=True)[1].mean() < of_counted.mean()


def test_time_is_not_what_prices_are_about(fitted) -> None:
    one, other = (wrapped(fitted, feature_costs=PRICES, cost=cost) for cost in ("time", "units"))
    np.testing.assert_array_equal(one.plan_.order, other.plan_.order)
    np.testing.assert_array_equal(one.plan_.stage_costs, other.plan_.stage_costs)


def test_budgets_are_prices(fitted) -> None:
    fast = wrapped(fitted, feature_costs=PRICES)
    budget = float(np.median(fast.plan_.stage_costs))
    cost = fast.predict(fitted[1][3000:], budget=budget, return_cost=True)[1]
    assert cost.max() <= budget
    with pytest.raises(ValueError, match="the cost of the first stage"):
        fast.predict(fitted[1][3000:], budget=fast.plan_.stage_costs[0] * 0.9)


@pytest.mark.parametrize("order", ["random", "sorted", "qwyc", "given"])
def test_other_orders_pay_once_too(order: str) -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=40, max_depth=2).fit(X[:1500], y[:1500])
    given: Any = np.arange(40)[::-1] if order == "given" else order
    plan = wrapped((model, X[1500:]), order=given, feature_costs=PRICES).plan_
    for stage, n_units in enumerate(plan.stages[:-1]):
        assert plan.stage_costs[stage] == pytest.approx(paid(model, plan.order[:n_units], None, PRICES))


@pytest.mark.filterwarnings("ignore:The file holds the terms")
def test_files_keep_prices(tmp_path: Path) -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=20, max_depth=2).fit(X[:1500], y[:1500])
    fast = wrapped((model, X[1500:]), feature_costs=PRICES, feature_groups=GROUPS)
    wald.save(fast, tmp_path / "fast.wald")
    loaded = wald.load(tmp_path / "fast.wald", estimator=model)
    for one, other in zip(fast.predict(X, return_cost=True), loaded.predict(X, return_cost=True), strict=True):
        np.testing.assert_array_equal(one, other)


def test_units_of_displays() -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=20, max_depth=2).fit(X[:1500], y[:1500])
    for params, unit in (
        ({}, "trees"),
        ({"feature_groups": GROUPS}, "features"),
        ({"feature_costs": PRICES}, "feature cost"),
    ):
        assert unit_of(wrapped((model, X[1500:]), **params)) == unit


# ---- columns that are moved, and refused -----------------------------------------------------------------------------


def test_prices_of_columns_that_the_model_moves() -> None:
    """Histogram boosting moves categories to the front; prices and groups are those of raw columns."""
    pd = pytest.importorskip("pandas")
    X, y = data()
    X[:, [4, 6]] = np.round(X[:, [4, 6]])
    names = [f"f{i}" for i in range(N_FEATURES)]
    model = HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=4, categorical_features=[4, 6])
    model.fit(pd.DataFrame(X[:1500], columns=names), y[:1500])
    source = [4, 6, 0, 1, 2, 3, 5, 7, 8, 9]
    trees = decompose(model).terms.trees
    rows = pd.DataFrame(X[1500:4500], columns=names)
    for prices, groups in (
        (PRICES, None),
        (dict(zip(names, PRICES, strict=True)), None),
        (PRICES, {"pair": [4, "f0"]}),
        ({"pair": 30.0} | {name: PRICES[i] for i, name in enumerate(names) if i not in (0, 4)}, {"pair": ["f4", 0]}),
    ):
        fast = EarlyExitClassifier(
            FrozenEstimator(model), risk=0.05, feature_costs=prices, feature_groups=groups, random_state=0
        ).fit(rows)
        plan = fast.plan_
        for stage, n_units in enumerate(plan.stages[:-1]):
            read = {
                source[feature]
                for t in plan.order[:n_units]
                for feature in trees.feature[trees.first_node[t] : trees.first_node[t + 1]]
            }
            pair = {0, 4} if groups and read & {0, 4} else set()
            expected = sum(PRICES[column] for column in read - pair)
            if pair:
                expected += 30.0 if isinstance(prices, dict) else PRICES[0] + PRICES[4]
            assert plan.stage_costs[stage] == pytest.approx(expected)


def test_invalid_prices_of_moved_columns_have_the_users_numbers() -> None:
    X, y = data()
    X[:, 6] = np.round(X[:, 6])
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features=[6]).fit(X[:1500], y[:1500])
    with pytest.raises(ValueError, match="for feature 6"):
        wrapped((model, X[1500:]), feature_costs=np.where(np.arange(N_FEATURES) == 6, np.nan, 1.0))


def test_prices_behind_a_transformer_are_refused() -> None:
    X, y = data()
    model = make_pipeline(PowerTransformer(), GradientBoostingClassifier(n_estimators=5)).fit(X[:1500], y[:1500])
    with pytest.raises(ValueError, match="raw columns, which the pipeline transforms"):
        wrapped((model, X[1500:]), feature_costs=PRICES)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"feature_costs": PRICES[1:]}, "must have shape"),
        ({"feature_costs": {"blood": 3.0}}, "neither a feature name"),
        ({"feature_costs": -PRICES}, "finite and positive"),
        ({"feature_groups": {"blood": [0, 99]}}, "columns are indices from 0 to 9"),
        ({"feature_groups": {"blood": [0], "scan": [0]}}, "a column has one group"),
    ],
)
def test_invalid_prices_are_refused(params: dict[str, Any], words: str) -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=5).fit(X[:500], y[:500])
    with pytest.raises(ValueError, match=words):
        wrapped((model, X[500:]), **params)


# ---- units and orders ------------------------------------------------------------------------------------------------


def test_costs_fall_as_units_are_bought() -> None:
    rng = np.random.default_rng(0)
    prices = rng.integers(1, 9, 12).astype(float)
    buys = tuple(np.flatnonzero(rng.random(12) < 0.3) for _ in range(30))
    units = Units.sharing(tuple(np.arange(30)[:, None]), buys, prices)
    purchase, bought, spent = Purchase(units), set(), 0.0
    for unit in rng.permutation(30):
        expected = [sum(prices[item] for item in items if item not in bought) for items in buys]
        np.testing.assert_array_equal(purchase.costs, expected)
        spent += purchase.buy(int(unit))
        bought |= set(buys[unit].tolist())
        assert spent == prices[list(bought)].sum()
    assert spent == units.total


def moments_of(values: np.ndarray, scores: np.ndarray) -> Moments:
    from wald.plan.moments import gather_moments

    return gather_moments([(values, scores[:, None], np.ones((1, len(values))))], values.shape[1], 1, 1)[0]


def test_greedy_orders_prefer_units_of_bought_features() -> None:
    """Units 0 and 1 read feature 0, unit 2 reads feature 1: 1 gains less than 2 and costs nothing after 0."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4000, 4)) * [3.0, 1.0, 2.0, 0.1]
    moments = moments_of(values, values.sum(axis=1))
    buys = tuple(np.array(items) for items in ([0], [0], [1], [0, 1]))
    units = Units.sharing(tuple(np.arange(4)[:, None]), buys, np.ones(2))
    assert greedy_order(moments, units.members, Purchase(units), 4).tolist() == [0, 1, 2, 3]
    assert greedy_order(moments, units.members, units.costs, 4).tolist() == [0, 2, 1, 3]


def test_greedy_orders_weigh_gains_and_what_is_left_to_buy() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(4000, 3)) * [3.0, 2.0, 1.5]
    moments = moments_of(values, values.sum(axis=1))
    buys = tuple(np.array(items) for items in ([0], [1, 2], [0, 1]))
    units = Units.sharing(tuple(np.arange(3)[:, None]), buys, np.array([1.0, 3.0, 1.0]))
    assert greedy_order(moments, units.members, Purchase(units), 3).tolist() == [0, 1, 2]  # 4 / 4, against 2.25 / 3
    units = Units.sharing(tuple(np.arange(3)[:, None]), buys, np.array([3.0, 1.0, 2.0]))
    assert greedy_order(moments, units.members, Purchase(units), 3).tolist() == [0, 2, 1]  # 2.25 / 1, against 4 / 3


def test_units_that_buy_nothing_come_first_if_they_gain() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(4000, 2)) * [1.0, 9.0]
    units = Units.sharing(tuple(np.arange(2)[:, None]), (np.zeros(0, dtype=np.int64), np.array([0])), np.ones(1))
    moments = moments_of(values, values.sum(axis=1))
    assert greedy_order(moments, units.members, Purchase(units), 2).tolist() == [0, 1]


def test_the_contract_of_prices() -> None:
    X, y = data()
    model = GradientBoostingClassifier(n_estimators=5, max_depth=2).fit(X[:500], y[:500])
    terms = decompose(model).terms
    check_terms(terms, model, X[:80])

    class Forgetful(type(terms)):
        family = "forgetful trees"

        def units(self, names: Any, groups: Any, costs: Any, run: int) -> Units:
            units = super().units(names, groups, costs, run)
            if units.buys is None:
                return units
            return Units.sharing(units.members, tuple(items[:1] for items in units.buys), units.prices)

    fields = {name: getattr(terms, name) for name in ("trees", "base", "bias", "f32_rows", "nan", "infinity")}
    with pytest.raises(AssertionError, match=r"\[prices\].*read features that the unit does not buy"):
        check_terms(Forgetful(**fields), model, X[:80])


def test_the_measured_time_of_a_tree_is_not_taken_from_trees_of_another_size() -> None:
    X, y = make_classification(600, 12, random_state=0)
    keys = {
        decompose(RandomForestClassifier(20, max_leaf_nodes=n, random_state=0).fit(X, y)).terms.speed_key
        for n in (4, 8, None)
    }
    assert len(keys) == 3
