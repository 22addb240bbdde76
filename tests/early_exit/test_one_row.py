"""Calls for one row: they answer, refuse and warn as calls for many rows do."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from wald import EarlyExitClassifier, Planner

X, Y = make_classification(3000, 12, n_informative=8, n_classes=3, random_state=0)
NAMES = [f"x{c}" for c in range(12)]
TEXTS = np.array(["low", "middle", "high"])[Y]


def classifier(X: Any = X, y: Any = TEXTS, **parameters: Any) -> EarlyExitClassifier:
    """A plan for a logistic regression that was fitted on arrays."""
    model = LogisticRegression(max_iter=1000).fit(np.asarray(X)[:1000], y[:1000])
    return EarlyExitClassifier(model, risk=0.05, planner=Planner(cost="units"), random_state=0, **parameters).fit(
        X[1000:]
    )


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "i8", "f2"])
@pytest.mark.parametrize("y", [Y, TEXTS, Y == 1, TEXTS.astype(object)], ids=["codes", "texts", "booleans", "objects"])
def test_labels_and_costs_are_those_of_the_table(dtype: str, y: Any) -> None:
    fast, rows = classifier(y=y), np.abs(40 * X[:60]).astype(dtype)
    labels, costs = fast.predict(rows, return_cost=True)
    for x, label, cost in zip(rows, labels, costs, strict=True):
        assert fast.predict_one(x) == fast.predict_one(list(x)) == label
        assert type(fast.predict_one(x)) is type(label)
        assert fast.predict_one(x, return_cost=True) == (label, cost)
        alone, paid = fast.predict(x[None], return_cost=True)
        assert (alone.dtype, alone.shape, alone[0]) == (labels.dtype, (1,), label)
        assert (paid.dtype, paid.shape, paid[0]) == (costs.dtype, (1,), cost)
        details = fast.predict(x[None], details=True)
        assert (details.labels[0], details.costs[0]) == (label, cost)


def test_labels_of_one_row_are_the_callers() -> None:
    fast = classifier()
    labels, costs = fast.predict(X[:1], return_cost=True)
    expected = labels.copy(), costs.copy()
    labels[0], costs[0] = "mine", -1
    assert fast.predict(X[:1], return_cost=True) == expected
    assert fast.predict_one(X[0]) == expected[0][0]


@pytest.mark.parametrize("frame", [True, False])
def test_one_row_of_a_frame(frame: bool) -> None:
    table = pd.DataFrame(X, columns=NAMES)
    if not frame:
        table["x3"] = table["x3"].astype(np.float32)  # columns of two dtypes lie apart
    fast = classifier(table)
    labels = fast.predict(table[:40])
    assert [fast.predict(table[i : i + 1])[0] for i in range(40)] == labels.tolist()
    assert [fast.predict_one(record) for record in table[:40].to_dict("records")] == labels.tolist()
    with pytest.raises(ValueError, match="feature names"):
        fast.predict(table[:1].rename(columns={"x0": "other"}))


def test_an_array_for_a_model_with_names_is_warned_of() -> None:
    fast = classifier(pd.DataFrame(X, columns=NAMES))
    with pytest.warns(UserWarning, match="feature names"):
        fast.predict(X[:1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fast.predict(X[:1], check_input=False)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_errors_name_the_same_place(value: float) -> None:
    fast, rows = classifier(), X[:300].copy()
    rows[0] = value
    with pytest.raises(ValueError, match="row 0, column 0") as of_many:
        fast.predict(rows)
    with pytest.raises(ValueError, match="row 0, column 0") as of_table:
        fast.predict(rows[:1])
    with pytest.raises(ValueError, match="row 0, column 0") as of_one:
        fast.predict_one(rows[0])
    assert str(of_many.value) == str(of_table.value) == str(of_one.value)


def test_ties_are_the_models() -> None:
    model = LogisticRegression().fit(np.vstack([X, -X]), np.r_[np.zeros(3000), np.ones(3000)])
    model.intercept_[:] = 0
    fast = EarlyExitClassifier(model, risk=0.05, planner=Planner(cost="units"), random_state=0).fit(X[1000:])
    tie = np.zeros(12)
    assert fast.predict_one(tie) == fast.predict(tie[None])[0] == model.predict(tie[None])[0]


def test_what_is_wrong_with_the_call_is_refused_for_one_row_too() -> None:
    fast = classifier()
    with pytest.raises(ValueError, match="12 features"):
        fast.predict_one(X[0, :5])
    with pytest.raises(ValueError, match="12 features"):
        fast.predict(X[:1, :5])
    with pytest.raises(ValueError, match="one dimension"):
        fast.predict_one(X[:1])
    with pytest.raises(ValueError, match="X must be a table"):
        fast.predict(X[0])
    with pytest.raises(ValueError, match="is not watched"):
        fast.predict_one(X[0], group=1)
    with pytest.raises(ValueError, match="n_jobs must be"):
        fast.set_params(n_jobs=0).predict(X[:1])


def test_a_changed_model_is_noticed() -> None:
    fast = classifier()
    fast.estimator.coef_ = -fast.estimator.coef_
    for call in (lambda: fast.predict(X[:1]), lambda: fast.predict_one(list(X[0]))):
        with pytest.raises(ValueError, match="coef_"):
            call()


def test_copies_answer_alone() -> None:
    fast = classifier()
    for other in (pickle.loads(pickle.dumps(fast)), copy.deepcopy(fast), fast.watched(0.5).unwatched()):
        assert [other.predict_one(x) for x in X[:50]] == fast.predict(X[:50]).tolist()


def test_a_monitor_counts_single_rows() -> None:
    watched = classifier().watched(0.5)
    for x in X[:20]:
        watched.predict_one(x)
        watched.predict(x[None])
    assert watched.monitor_.n_rows == 40


def test_trees_answer_alone() -> None:
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[:1000], TEXTS[:1000])
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=0.0, random_state=0).fit(X[1000:])
    assert [fast.predict_one(x) for x in X[:200]] == model.predict(X[:200]).tolist()
