"""Transformers of a user's own, without fitted attributes, in front of a model."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner


class Ratio(TransformerMixin, BaseEstimator):
    """Adds a column; it learns nothing, so it has no fitted attribute."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X = np.asarray(X)
        return np.c_[X, X[:, 0] / (1 + np.abs(X[:, 1]))]


class Bare:
    """The least that a step must have."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return np.asarray(X) * 2


class Framed(Ratio):
    """Returns a frame."""

    def transform(self, X):
        return pd.DataFrame(super().transform(X), columns=["a", "b", "ratio"])


STEPS = {
    "without state": [Ratio()],
    "without a base class": [Bare()],
    "behind a scaler": [StandardScaler(), Ratio()],
    "before a scaler": [Ratio(), StandardScaler()],
    "a function": [FunctionTransformer(np.exp), Ratio()],
    "a frame between": [Framed(), StandardScaler().set_output(transform="pandas")],
    "a pipeline inside": [make_pipeline(Ratio(), FunctionTransformer(np.tanh))],
}


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("last", [LogisticRegression(), HistGradientBoostingClassifier(max_iter=3), SVC()])
@pytest.mark.parametrize("steps", STEPS)
@pytest.mark.parametrize("risk", [0, 0.2])
@pytest.mark.filterwarnings("ignore:no early exit", "ignore:Only .* rows", "ignore:.* support vectors")
@pytest.mark.filterwarnings("error:.*feature names")
def test_steps_without_fitted_attributes_are_called(steps, last, risk):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(700, 2)), columns=["a", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the pipeline's own, while it is fitted
        model = make_pipeline(*STEPS[steps], last).fit(X, X.a > 0)
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, random_state=0, planner=Planner(cost="units")).fit(
        X[100:]
    )
    own = model.predict(X)
    if risk == 0:
        np.testing.assert_array_equal(fast.predict(X), own)
        assert fast.predict_one(X.iloc[0]) == own[0]
        np.testing.assert_array_equal(fast.predict_records(X[:3].to_dict("records")), own[:3])
    np.testing.assert_allclose(fast.looks(X).full, own)
