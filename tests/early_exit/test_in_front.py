"""Transformers that are not taken apart are named, with their share of the time."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import wald
from wald.inspection.facts import model_facts


def slow(X: Any) -> Any:
    time.sleep(2e-5 * len(X))
    return X


def rows() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4))
    return X, X @ [4.0, 3.0, 2.0, 1.0] > 0


@pytest.mark.slow
def test_a_slow_transformer_is_warned_of() -> None:
    X, y = rows()
    model = make_pipeline(FunctionTransformer(slow), LogisticRegression()).fit(X[:500], y[:500])
    with pytest.warns(
        UserWarning, match=r"'functiontransformer' \(FunctionTransformer\) runs as it is, in front"
    ) as all_of:
        fast = wald.EarlyExitClassifier(model, risk=0.05, random_state=0).fit(X[500:])
    assert "% of the time of predict (2 000 rows): wald has next to nothing to save." in str(all_of[0].message)
    ahead = fast.compiled_plan_.in_front
    assert ahead is not None
    assert ahead.share is not None
    assert 0.9 <= ahead.share <= 1
    facts = model_facts(fast)
    assert facts["in_front"] == str(ahead)
    assert facts["time_in_front"] == ahead.share


def test_what_is_taken_apart_is_not_in_front() -> None:
    X, y = rows()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:500], y[:500])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast = wald.EarlyExitClassifier(model, risk=0.05, random_state=0).fit(X[500:])
    assert fast.compiled_plan_.in_front is None
    assert model_facts(fast)["in_front"] is None


def test_a_plan_by_units_measures_nothing() -> None:
    X, y = rows()
    model = make_pipeline(FunctionTransformer(slow), LogisticRegression()).fit(X[:500], y[:500])
    fast = wald.EarlyExitClassifier(model, risk=0.05, planner=wald.Planner(cost="units"), random_state=0).fit(X[500:])
    ahead = fast.compiled_plan_.in_front
    assert ahead is not None
    assert ahead.share is None
    assert str(ahead) == "'functiontransformer' (FunctionTransformer) runs as it is, in front of the engine"
