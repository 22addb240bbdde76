"""What is not supported is refused by name, with what to do instead."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDOneClassSVM
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR, LinearSVC, OneClassSVM

from wald.additive import decompose

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3
B = Y > 0


class OwnRule(LinearSVC):
    def predict(self, X):
        return 1 - super().predict(X)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RandomForestClassifier(2).fit(X, Y), "RandomForestClassifier is not yet supported"),
        (SVR().fit(X, Y), "SVR is not supported. Supported are"),
        (Ridge().fit(X, Y), "Ridge is not supported"),
        (GridSearchCV(LinearSVC(), {"C": [1]}, cv=2).fit(X, Y), "wrap its best_estimator_"),
        (OneVsRestClassifier(LinearSVC()).fit(X, Y), "wrap each of its estimators_"),
        (MultiOutputClassifier(LinearSVC()).fit(X, np.c_[B, ~B]), "MultiOutputClassifier"),
        (make_pipeline(StandardScaler(), SVR()).fit(X, Y), "SVR"),
        (make_pipeline(StandardScaler(), None).fit(X, Y), "NoneType"),
        (SVC(kernel=lambda a, b: a @ b.T).fit(X, Y), "kernel=a callable"),
        (SVC(kernel="precomputed").fit(X @ X.T, Y), "kernel='precomputed'"),
        (RidgeClassifier().fit(X, np.c_[B, ~B]), "multilabel"),
        (RidgeClassifier().fit(X, np.c_[B, ~B, B]), "multilabel"),
        (OwnRule().fit(X, B), "has its own predict"),
        (LogisticRegression, "not the class LogisticRegression"),
        (object(), "object is not supported"),
    ],
)
def test_type_errors(model, words):
    with pytest.raises(TypeError, match=words):
        decompose(model)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        SVC(),
        FrozenEstimator(LinearSVC()),
        make_pipeline(StandardScaler(), LogisticRegression()),
        FixedThresholdClassifier(LinearSVC()),
        TunedThresholdClassifierCV(LinearSVC()),
        make_pipeline(StandardScaler(), FrozenEstimator(LogisticRegression().fit(X, Y))),
    ],
    ids=str,
)
def test_unfitted(model):
    with pytest.raises(NotFittedError):
        decompose(model)


@pytest.mark.parametrize("model", [OneClassSVM().fit(X), SGDOneClassSVM().fit(X)], ids=str)
def test_outlier_detectors(model):
    with pytest.raises(ValueError, match="finds outliers"):
        decompose(model)


def test_one_class():
    model = RidgeClassifier().fit(X, np.zeros(60, dtype=int))
    with pytest.raises(ValueError, match="one class"):
        decompose(model)


def test_contradictions():
    with pytest.raises(ValueError, match="break_ties"):
        decompose(SVC(break_ties=True, decision_function_shape="ovo").fit(X, Y))
    model = SVC().fit(X, Y)
    model.intercept_ += 1  # predict does not read it
    with pytest.raises(ValueError, match="intercept_ of this SVC was changed after fit"):
        decompose(model)
    linear = LogisticRegression().fit(X, Y)
    linear.coef_ = linear.coef_[:2]
    with pytest.raises(ValueError, match="do not fit"):
        decompose(linear)


def test_a_step_that_cannot_transform():
    model = make_pipeline(StandardScaler(), LinearSVC()).fit(X, Y)
    model.steps[0] = ("sampler", object())
    with pytest.raises(TypeError, match="'sampler' of the pipeline, a object, has no transform"):
        decompose(model)
