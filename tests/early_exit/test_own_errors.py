"""Rows of linear models and kernel machines leave by the size of their own errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from early_exit.own_errors import FIT, HELD, KINDS, SIZE, TOLERANCE, X, Y, model, near, planned
from sklearn.linear_model import LogisticRegression

import wald.plan.recipes as planning
from wald import EarlyExitClassifier, Planner
from wald.engine import LEAST_VARIANCE
from wald.plan import Recipe


@pytest.mark.parametrize("kind", KINDS)
def test_easy_rows_leave_before_hard_ones(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fast = near(kind)
    values, cost = fast.predict(X[HELD], return_cost=True)
    assert fast.plan_.early.has_spread
    easy = SIZE[HELD] < 0.5
    assert cost[easy].mean() < 0.95 * cost[~easy].mean()
    assert np.mean(np.abs(values - model(kind).predict(X[HELD])) > TOLERANCE) < 0.06

    def without(_: Any, recipe: Recipe, *others: Any) -> Iterator[Recipe]:
        yield recipe

    monkeypatch.setattr(planning, "_with_spread", without)
    usual = planned(kind)
    assert not usual.plan_.early.has_spread
    assert cost.mean() < usual.predict(X[HELD], return_cost=True)[1].mean()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_leave_where_their_own_error_keeps_the_tolerance(kind: str) -> None:
    """By the values of the terms alone."""
    fast = near(kind)
    plan, rows = fast.plan_, X[HELD]
    terms = fast.compiled_plan_.model.terms
    values = terms.values(rows, plan.terms[plan.terms < terms.n_terms])
    if len(plan.surrogates.vectors):
        distances = ((rows[:, None] - plan.surrogates.vectors) ** 2).sum(axis=2)
        values = np.hstack([np.exp(-0.05 * distances), values])  # surrogates come first
    _, high = plan.thresholds()
    stages = np.full(len(rows), plan.n_stages)
    for t in reversed(range(plan.n_stages)):
        readout = plan.early.readouts[t]
        assert readout.spread is not None
        variance = readout.spread_bias + values[:, : plan.stage_terms[t]] @ readout.spread
        stages[TOLERANCE / np.sqrt(np.maximum(variance, LEAST_VARIANCE)) > high[t]] = t
    found = fast.predict(rows, details=True)
    assert np.mean(found.stages == stages) > 0.998  # others lie within float32 rounding of a threshold
    assert len(np.unique(stages)) > 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_row_leaves_alone_as_among_others(kind: str) -> None:
    fast = near(kind)
    values, cost = fast.predict(X[HELD], return_cost=True)
    for i in range(0, 1500, 211):
        row = X[HELD][i]
        assert fast.predict_one(row) == values[i]
        some, paid = fast.predict(np.asfortranarray(X[HELD][i : i + 40]), return_cost=True)
        np.testing.assert_array_equal(some, values[i : i + 40])
        np.testing.assert_array_equal(paid, cost[i : i + 40])
    table = fast.looks(X[HELD][:50])
    np.testing.assert_array_equal(table.margins[:7], fast.looks(X[HELD][:7]).margins)


def test_bands_may_take_it_and_labels_do_not() -> None:
    bands = planned("kernel", tolerance=None, bands=[0.2])
    found = bands.predict(X[HELD], return_cost=True)
    np.testing.assert_array_equal(bands.predict(X[HELD][:9]), found[0][:9])
    labels = EarlyExitClassifier(
        LogisticRegression().fit(X[:500], Y[:500] > 0), risk=0.05, planner=Planner(cost="units"), random_state=0
    ).fit(X[FIT])
    assert not labels.plan_.early.has_spread
