"""A linear classifier behind one-hot, target and affine columns, made up and fitted, and its terms."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from wald.models import ColumnTerms, Family, LinearTerms, Reading
from wald.outputs import Labels
from wald.steps import ByState, Numeric


def made(rng, n_outputs=1, n_columns=9, n_states=(2, 5, 40), refused=False):
    """A linear model, and one function for each raw column: every third holds states, every second number NaN."""
    columns, width = [], 0
    for j in range(n_columns):
        if j % 3 == 0:
            n = n_states[j // 3 % len(n_states)]
            values = np.column_stack([np.eye(n)[:, 1:], rng.normal(size=n)])  # one-hot, and a mean of the target
            if refused:
                values[n - 1] = np.nan
            columns.append(ByState(j, values, width + np.arange(n)))
            width += n
        else:
            fill = rng.normal(size=2) if j % 2 else None
            columns.append(Numeric(j, rng.normal(size=2), rng.normal(size=2), fill, width + np.arange(2)))
            width += 2
    linear = LinearTerms(coef=rng.normal(size=(n_outputs, width)), intercept=rng.normal(size=n_outputs))
    return linear, columns


def rows(rng, columns, n, nan=0.0, states=None):
    """Rows of numbers and states, as float64."""
    X = rng.normal(size=(n, len(columns)))
    for each in columns:
        if isinstance(each, ByState):
            X[:, each.column] = rng.integers(0, states or len(each.values), n)
        elif each.fill is not None:
            X[rng.random(n) < nan, each.column] = np.nan
    return X


def written(columns, width, X):
    """The columns that the functions write, as the wrapped model reads them."""
    Z = np.empty((len(X), width))
    for each in columns:
        x = np.asarray(X[:, each.column], dtype=np.float64)
        if isinstance(each, ByState):
            Z[:, each.written] = each.values[x.astype(int)]
        else:
            image = x[:, None] * each.scale + each.shift
            Z[:, each.written] = image if each.fill is None else np.where(np.isnan(x)[:, None], each.fill, image)
    return Z


class ByColumns(ClassifierMixin, BaseEstimator):
    """A fitted classifier of this form."""

    def __init__(self, linear=None, columns=None):
        self.linear, self.columns = linear, columns

    def fit(self, X, y=None):
        self.n_features_in_, K = len(self.columns), self.linear.n_outputs
        self.classes_ = np.arange(max(2, K))
        return self

    def decision_function(self, X):
        scores = written(self.columns, self.linear.n_terms, np.asarray(X)) @ self.linear.coef.T + self.linear.intercept
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X):
        scores = self.decision_function(X)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]


def read(model, decompose):
    K = model.linear.n_outputs
    decision = Labels("sign", 2) if K == 1 else Labels("argmax", K)
    return Reading(ColumnTerms.of(model.linear, model.columns), decision)


FAMILY = Family((ByColumns,), ("predict", "decision_function"), ("linear", "columns", "classes_"), read)
