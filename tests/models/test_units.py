"""Units of terms keep what they say, those of every family and one that is made up, and faults are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from wald.models import Units, check_units, decompose
from wald.models.protocols import units_of

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(300, 6)), RNG.integers(0, 2, 300)
MODELS = {"linear": LogisticRegression().fit(X, Y), "trees": RandomForestClassifier(5, max_depth=3).fit(X, Y)}
#: Three units; the first two share what they read.
SHARING = Units.sharing(
    (np.array([0, 1]), np.array([3]), np.array([2])),
    (np.array([0, 1]), np.array([1]), np.array([2])),
    np.array([1.0, 2.0, 4.0]),
)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("costs", [None, np.arange(1.0, 7.0)])
def test_units_of_models_keep_what_they_say(name, costs):
    terms = decompose(MODELS[name]).terms
    check_units(units_of(terms, None, None, costs), terms.n_terms)


def test_units_keep_what_they_say():
    check_units(SHARING, 4)
    check_units(Units.single(5), 5)
    check_units(Units.runs(10, 4), 10)


@pytest.mark.parametrize(
    ("units", "clause"),
    [
        (replace(SHARING, members=(np.array([0, 1]), np.array([3]), np.array([1]))), "one unit"),
        (
            replace(SHARING, members=(np.array([0, 1, 2]), np.array([3]), np.array([], dtype=np.int64))),
            "a term at least",
        ),
        (replace(SHARING, members=tuple(m.astype(np.int32) for m in SHARING.members)), "int64"),
        (replace(SHARING, costs=np.array([3.0, np.inf, 4.0])), "finite"),
        (replace(SHARING, costs=np.array([3.0, 2.0])), "one for each unit"),
        (replace(SHARING, prices=None), "go with prices"),
        (replace(SHARING, prices=np.array([1.0, 2.0, -4.0])), "prices"),
        (replace(SHARING, costs=np.array([3.0, 1.0, 4.0])), "a unit alone"),
        (replace(SHARING, buys=(np.array([0, 1]), np.array([1, 1]), np.array([2]))), "once"),
        (replace(SHARING, buys=(np.array([0, 1]), np.array([5]), np.array([2]))), "have a price"),
        (replace(Units.single(4), costs=np.array([1.0, 0.0, 1.0, 1.0])), "positive"),
    ],
)
def test_wrong_units_are_told_what_is_wrong(units, clause):
    with pytest.raises(AssertionError, match=clause):
        check_units(units, 4)
