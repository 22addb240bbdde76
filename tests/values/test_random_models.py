"""Values of random models of each library, bit for bit, in each container that the model takes."""

import warnings

import numpy as np
import pytest
from values.random_models import LIBRARIES, Case

from wald import EarlyExitRanker, EarlyExitRegressor
from wald.models.tree_arrays import rows_at_thresholds

FAST, MANY = 12, 200


def require_own_values(library, seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of libraries, about names and deprecations
        case = Case(library, seed)
        model, rows = case.model, case.given()
        shell = EarlyExitRanker if case.ranks else EarlyExitRegressor
        fast = shell(model).fit(rows if case.framed or case.rng.random() < 0.5 else None)
        compared = 0
        for name, some in case.containers().items():
            try:
                own = model.predict(some)
            except Exception:  # whatever a library raises for what it does not take
                continue
            found = fast.predict(some)
            assert found.dtype == own.dtype, name
            np.testing.assert_array_equal(found, own, err_msg=name)
            compared += 1
        assert compared >= 3
        one = rows.iloc[5].to_dict() if case.framed else rows[5]
        np.testing.assert_array_equal(fast.predict_one(one), model.predict(rows[5:6])[0])
        if case.framed:
            np.testing.assert_array_equal(fast.predict_records(rows[:5].to_dict("records")), model.predict(rows[:5]))
        terms = fast.compiled_plan_.model.terms
        if not case.categories:
            near = rows_at_thresholds(terms.trees, 40, case.rng, nan=bool(np.isnan(case.X).any()))
            near = case.given(near)
            np.testing.assert_array_equal(fast.predict(near), model.predict(near), err_msg="at thresholds")


@pytest.mark.parametrize("seed", range(FAST))
@pytest.mark.parametrize("library", LIBRARIES)
def test_random_models(library, seed):
    require_own_values(library, seed)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(FAST, FAST + MANY))
@pytest.mark.parametrize("library", LIBRARIES)
def test_many_random_models(library, seed):
    require_own_values(library, seed)
