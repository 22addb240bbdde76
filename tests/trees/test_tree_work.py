"""Work of tree ensembles: what trees cost where rows are stored by columns, which are read once."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

from wald.models import Units, decompose
from wald.models.tree_work import units_by_columns
from wald.models.trees import TreeTerms
from wald.models.units import Purchase

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


def test_more_steps_take_more_time(terms: TreeTerms) -> None:
    units = terms.units(None, None, None, 1)
    timed = units_by_columns(terms.trees, units)
    columns = np.array([len(columns_of(terms, m)) for m in units.members])
    steps = np.array([np.diff(terms.trees.first_node)[terms.trees.structure[m[0]]] for m in units.members])
    first = np.lexsort((steps, columns))
    for a, b in pairwise(first.tolist()):
        if columns[a] == columns[b]:
            assert timed.costs[a] <= timed.costs[b]


def test_families_whose_terms_share_no_columns_have_one_order() -> None:
    from sklearn.linear_model import LogisticRegression

    X, y = make_classification(200, random_state=0)
    terms = decompose(LogisticRegression().fit(X, y)).terms
    assert terms.units_by_columns(Units.single(X.shape[1])) is None
