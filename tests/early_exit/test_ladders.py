"""The numbers of terms at the stages of ladders, and the thresholds of late stages."""

import numpy as np
import pytest
from early_exit.models import MODELS, wrap
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from wald.plan import CostModel, ladder, recipes
from wald.plan.ladder import LATE_BOLDNESS

UNITS = {"row": 0.0, "unit": 1.0, "readout": 1e-6, "stage": 1e-6, "full": 20.0}


def test_ladders_of_linear_models_have_a_stage_when_every_feature_that_varies_is_read():
    model, X = MODELS["logistic"]
    still = np.hstack([X, np.ones((len(X), 5))])
    wide = LogisticRegression().fit(still[:1000], model.predict(X[:1000]))
    for cost in ("units", CostModel(**UNITS | {"full": 25.0})):
        plan = wrap(wide, still[1000:3000], cost=cost).plan_
        assert plan.stages[-2:].tolist() == [X.shape[1], X.shape[1] + 5]


def test_ladders_of_wide_models_and_kernel_machines_end_half_way(monkeypatch):
    machine, X = MODELS["rbf"]
    plan = wrap(machine, X[1000:3000]).plan_
    n_surrogates = len(plan.surrogates.vectors)
    assert plan.stages[-2] <= (plan.stages[-1] - n_surrogates) // 2 + n_surrogates
    monkeypatch.setattr(recipes, "WHOLE", 19)
    model, X = MODELS["logistic"]
    assert X.shape[1] == 20
    assert wrap(model, X[1000:3000]).plan_.stages[-2] <= 10


def test_late_stages_are_bolder_where_rows_share_lines():
    model, X = MODELS["logistic"]
    alone, together = (
        wrap(model, X[1000:3000], cost=CostModel(**UNITS, rows_per_line=n), n_splits=1).plan_ for n in (1, 16)
    )
    common, one, other = np.intersect1d(alone.stage_terms, together.stage_terms, return_indices=True)
    assert len(common) > 3
    assert 0 < LATE_BOLDNESS < 0.5
    np.testing.assert_allclose(
        together.boundary.high_scale[other], alone.boundary.high_scale[one] * common**-LATE_BOLDNESS, rtol=1e-9
    )


def test_a_line_is_paid_for_while_one_of_its_rows_is_left():
    model = CostModel(**UNITS | {"readout": 0.0, "stage": 0.0}, rows_per_line=2)
    reached = np.array([1.0, 0.5, 0.1])
    assert model.expected(np.array([2, 5]), np.array([2.0, 5.0, 9.0]), reached, 1) == pytest.approx(
        2 + 3 * (1 - 0.5**2) + 4 * (1 - 0.9**2)
    )
    for n in (0, 1.5, True, float("nan")):
        with pytest.raises(ValueError, match="rows_per_line must be a whole number of at least 1"):
            CostModel(**UNITS, rows_per_line=n)


def test_column_stages_are_for_all_rows_until_few_are_active():
    costs = UNITS | {"unit": 0.0, "readout": 1.0, "stage": 100.0}
    model, by_rows = (CostModel(**costs, rows_per_line=16, by_columns=by) for by in (True, False))
    terms, reached = np.array([2, 5, 9, 20]), np.array([1.0, 0.3, 0.1, 0.02, 0.01])
    units = np.append(terms, 30.0)
    dense = (2 + 5) + 2 * 100
    few = 0.1 * (9 * 2 + 100) + 0.02 * (11 + 100)  # from the beginning, in two estimates; what is new, in one
    assert model.expected(terms, units, reached, 1) == pytest.approx(dense + few)
    assert by_rows.expected(terms, units, reached, 1) == pytest.approx(reached[:-1] @ (terms + 100))
    all_few = np.full(5, 0.1)
    assert model.expected(terms, units, all_few, 1) == pytest.approx(0.1 * (2 * 4 + 3 * 3 + 4 * 2 + 11 + 400))
    none = np.empty(0, dtype=np.int64)
    assert model.expected(none, np.array([30.0]), np.ones(1), 1) == 0.0
    with pytest.raises(ValueError, match="by_columns must be True or False"):
        CostModel(**costs, by_columns=1)


def test_some_ladders_over_columns_begin_late(monkeypatch):
    model, X = MODELS["logistic"]
    tried = []
    ladders = ladder._ladders

    def spy(recipe, cost_model, problem):
        found = ladders(recipe, cost_model, problem)
        tried.extend(recipe.stages[keep[0]] for keep in found)
        return found

    monkeypatch.setattr(ladder, "_ladders", spy)
    for by_columns in (False, True):
        tried.clear()
        costs = CostModel(**UNITS | {"readout": 1.0, "stage": 1.0, "full": 500.0}, by_columns=by_columns)
        wrap(model, X[1000:3000], cost=costs, n_splits=1)
        assert (max(tried) >= 12) == by_columns


@pytest.mark.slow
def test_rows_in_columns_share_lines():
    model, X = MODELS["logistic"]
    rows = X[1000:3000]
    layouts = {
        16: np.asfortranarray(rows.astype(np.float32)),
        8: np.asfortranarray(rows),
        1: np.ascontiguousarray(rows),
    }
    for n, laid in layouts.items():
        costs = wrap(model, laid, cost="time").plan_.cost_model
        assert (costs.rows_per_line, costs.by_columns) == (n, n > 1)
    assert wrap(model, layouts[8], cost="units").plan_.cost_model.rows_per_line == 1
    whole = np.asfortranarray(np.clip(100 * rows + 128, 0, 255).astype(np.uint8))
    bytes_ = LogisticRegression(max_iter=1000).fit(whole[:500], model.predict(rows[:500]))
    costs = wrap(bytes_, whole, cost="time").plan_.cost_model
    assert costs.rows_per_line == 64
    assert not costs.by_columns  # the engine goes through them row by row
    filled = make_pipeline(SimpleImputer(), LogisticRegression()).fit(layouts[8], model.predict(rows))
    assert not wrap(filled, layouts[8], cost="time").plan_.cost_model.by_columns
    machine, X = MODELS["rbf"]
    assert wrap(machine, np.asfortranarray(X[1000:2000]), cost="time").plan_.cost_model.rows_per_line == 1


@pytest.mark.parametrize(
    "classes", [[False, True], [0, 1], [1, 2], [-1, 1], ["no", "yes"], [0.0, 1.0]], ids=lambda c: str(c)
)
def test_labels_are_of_the_models_own_kind(classes):
    _, X = MODELS["logistic"]
    y = np.array(classes)[(X[:1000, 0] > X[:1000, 1]).astype(int)]
    model = LogisticRegression().fit(X[:1000], y)
    labels = wrap(model, X[1000:3000]).predict(X[3000:])
    assert labels.dtype == model.predict(X[3000:]).dtype
    assert np.mean(labels != model.predict(X[3000:])) < 0.05
    assert set(labels) == set(classes)


def test_features_that_are_constant_but_for_rounding_keep_the_models_weight():
    rng = np.random.default_rng(0)
    X = np.hstack([rng.normal(size=(4000, 6)), np.full((4000, 2), -0.0316227766)])
    X[:1000, 6:] = rng.normal(size=(1000, 2))
    model = LogisticRegression().fit(X[:1000], X[:1000].sum(axis=1) > 0)
    for order in ("greedy", np.arange(8)):
        plan = wrap(model, X[1000:3000], order=order).plan_
        for readout in plan.early.readouts:
            assert np.abs(readout.weights).max() < 10 * np.abs(model.coef_).max()
