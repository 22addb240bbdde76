"""Prices of trees where rows are stored by columns, and the order that follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from wald import EarlyExitClassifier
from wald.early_exit.fitting import planning
from wald.models import Units, decompose
from wald.models.protocols import Sharing
from wald.models.tree_arrays import TreesBuilder
from wald.models.tree_work import LINE, LINE_VALUES, SCATTERED_LINE, TreeWork, units_by_columns
from wald.models.trees import TreeTerms
from wald.models.units import Purchase
from wald.plan.recipes import recipes
from wald.stopping import Budget

MODELS = {
    "boosting": GradientBoostingClassifier(n_estimators=12, max_depth=3, random_state=0),
    "forest, whose trees have a value for each class": RandomForestClassifier(12, max_leaf_nodes=9, random_state=0),
    "large trees": RandomForestClassifier(6, random_state=0),
}


@pytest.fixture(scope="module", params=MODELS.values(), ids=MODELS)
def terms(request: pytest.FixtureRequest) -> TreeTerms:
    X, y = make_classification(3000, 40, n_informative=12, n_classes=3, flip_y=0.3, random_state=0)
    found = decompose(request.param.fit(X, y)).terms
    assert isinstance(found, TreeTerms)
    return found


def columns_of(terms: TreeTerms, members: np.ndarray) -> set[int]:
    s = terms.trees.structure[members[0]]
    return set(terms.trees.feature[terms.trees.first_node[s] : terms.trees.first_node[s + 1]].tolist())


def test_few_rows_share_few_lines_of_a_column(terms: TreeTerms) -> None:
    n_trees = len(terms.trees.structure)
    work = TreeWork(terms.trees, np.arange(n_trees), columnar=True)
    shares = [1.0, 0.5, 0.1, 0.01, 1e-4]
    works = [work.of(0, n_trees, 1, 1, share) for share in shares]
    assert works == sorted(works)  # a row that shares lines with few others costs more
    n_columns = len(np.unique(terms.trees.feature))
    alone = works[-1] - works[0] + n_columns * LINE / LINE_VALUES
    assert alone == pytest.approx(n_columns * SCATTERED_LINE, rel=0.01)  # a line for each value
    by_rows = TreeWork(terms.trees, np.arange(n_trees), columnar=False)
    assert len({by_rows.of(0, n_trees, 1, 1, share) for share in shares}) == 1


def test_a_unit_pays_for_the_columns_that_none_before_it_has_read(terms: TreeTerms) -> None:
    units = terms.units(None, None, None, 1)
    timed = units_by_columns(terms.trees, units)
    bought = Purchase(timed)
    seen: set[int] = set()
    price = None
    for u in np.random.default_rng(0).permutation(len(units.members)):
        before = float(timed.costs[u])
        read = columns_of(terms, units.members[u])
        saved = before - bought.buy(int(u))
        if read & seen:
            price = price or saved / len(read & seen)
            assert saved == pytest.approx(price * len(read & seen))
        else:
            assert saved == pytest.approx(0.0)
        seen |= read
    assert price is not None
    assert price > 0
    assert (timed.costs > [price * len(columns_of(terms, m)) for m in units.members]).all()  # and for its own steps


def test_steps_and_walks_take_time() -> None:
    builder = TreesBuilder(1)
    sizes = [0, 1, 3, 100, 255, 256, 400]
    for n in sizes:  # a chain of n nodes, all on one column
        nodes = np.arange(n)
        right = np.where(nodes < n - 1, nodes + 1, ~n)
        builder.add(np.zeros(n, int), np.zeros(n), ~nodes, right, np.zeros(n, int), np.zeros(n + 1))
    trees = builder.build()
    timed = units_by_columns(trees, Units.single(len(sizes)))
    bought = Purchase(timed)
    bought.buy(1)  # the column
    none, _, three, hundred, most, cut, longer = bought.costs.tolist()
    assert 0 < none < three < hundred < most
    assert timed.costs[2] - three == pytest.approx(timed.costs[3] - hundred)  # the column alone
    assert timed.costs[0] == none
    assert cut == longer > most + 10  # 128 exits, and a walk from each


def test_families_whose_terms_share_nothing_have_no_such_prices() -> None:
    X, y = make_classification(200, random_state=0)
    terms = decompose(LogisticRegression().fit(X, y)).terms
    assert Sharing.of(terms) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("params", "orders"),
    [
        ({}, 2),
        ({"order": "sorted"}, 1),
        ({"cost": "units"}, 1),
        ({"feature_costs": np.arange(1.0, 13.0)}, 1),
        ({"rule": Budget(5), "risk": None}, 1),
    ],
    ids=str,
)
def test_rows_in_columns_have_two_orders(params: dict[str, Any], orders: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = make_classification(3000, 12, n_informative=6, random_state=0)
    model = GradientBoostingClassifier(n_estimators=30, random_state=0).fit(X[:1000], y[:1000])
    problems = []
    build = planning.build_plan
    monkeypatch.setattr(planning, "build_plan", lambda problem: problems.append(problem) or build(problem))
    for rows in (X[1000:], np.asfortranarray(X[1000:])):
        EarlyExitClassifier(FrozenEstimator(model), **nested(**{"risk": 0.05, "random_state": 0} | params)).fit(rows)
    found = [{recipe.order.tobytes() for recipe in recipes(problem)} for problem in problems]
    assert [len(each) for each in found] == [1, orders]
    assert found[0] <= found[1]
