"""Comparison of two classifiers to the last bit, and rows that reveal differences."""

import dataclasses

import numpy as np
from persistence.cases import X2, dense
from scipy import sparse
from sklearn.linear_model import LogisticRegression


def same_array(one, other):
    assert type(one) is type(other)
    if sparse.issparse(one):
        assert (one != other).nnz == 0
        assert one.shape == other.shape
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, tuple) and not isinstance(one, str):
        assert len(one) == len(other)
        for a, b in zip(one, other, strict=True):
            same_array(a, b)
    elif dataclasses.is_dataclass(one) and not one.__dataclass_params__.eq:
        for field in dataclasses.fields(one):
            same_array(getattr(one, field.name), getattr(other, field.name))
    else:
        assert one == other


def same_answers(one, other, X):
    for budget in (None, one.plan_.stage_costs[0], one.plan_.full_cost):
        labels, cost = one.predict(X, budget=budget, return_cost=True)
        labels2, cost2 = other.predict(X, budget=budget, return_cost=True)
        same_array((labels, cost), (labels2, cost2))
    same_array(one.stage_scores(X), other.stage_scores(X))
    if isinstance(X, np.ndarray):
        for x in X[:20]:
            same_array(one.trace(x), other.trace(x))
            assert one.predict_one(x, return_cost=True) == other.predict_one(x, return_cost=True)
            assert one.predict_one(x, budget=one.plan_.full_cost) == other.predict_one(x, budget=one.plan_.full_cost)


def near_ties():
    """A classifier, and rows within rounding of its threshold."""
    fast, _ = dense(LogisticRegression(), X2.astype(np.float32), risk=0.01)()
    X = X2.astype(np.float32)
    coef, intercept = fast.estimator_.coef_[0].astype(float), fast.estimator_.intercept_[0]
    j = np.argmax(np.abs(coef))
    X[:, j] -= ((X @ coef + intercept) / coef[j]).astype(np.float32)
    return fast, X
