"""Unsupported models are refused by name, with advice on what to do instead."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostRegressor,
    RandomTreesEmbedding,
    StackingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, LocalOutlierFactor, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from wald.models import decompose

X = np.random.default_rng(0).normal(size=(60, 3))
Y = np.arange(60) % 3
B = Y > 0


class OwnRule(LinearSVC):
    def predict(self, X):
        return 1 - super().predict(X)


class OwnSearch(GridSearchCV):
    def predict(self, X):
        return super().predict(X)[::-1]


class OwnLikelihood(MultinomialNB):
    def _joint_log_likelihood(self, X):
        return -super()._joint_log_likelihood(X)


def foreign_object(module, name="Net"):
    """An object that seems to come from a library, which need not be installed."""
    return type(name, (), {"__module__": module})()


@pytest.mark.parametrize(
    ("model", "name", "words"),
    [
        (RandomTreesEmbedding(2).fit(X), "RandomTreesEmbedding", "a classifier is needed"),
        (StackingClassifier([("a", LinearSVC())], cv=2).fit(X, Y), "StackingClassifier", "Use a VotingClassifier"),
        (AdaBoostRegressor(n_estimators=2).fit(X, Y), "AdaBoostRegressor", "weighted median"),
        (KNeighborsClassifier().fit(X, Y), "KNeighborsClassifier", "Use NearestCentroid"),
        (MLPClassifier((2,), tol=1e9, n_iter_no_change=1).fit(X, Y), "MLPClassifier", "with a risk above 0"),
        (GaussianNB().fit(X, Y), "GaussianNB", "Use LinearDiscriminantAnalysis"),
        (QuadraticDiscriminantAnalysis().fit(X, Y), "QuadraticDiscriminantAnalysis", "Use LinearDiscriminantAnalysis"),
        (CategoricalNB().fit(np.c_[B, ~B], Y), "CategoricalNB", "OneHotEncoder"),
        (GaussianProcessClassifier().fit(X[:9], Y[:9]), "GaussianProcessClassifier", "Use an SVC"),
        (LabelSpreading().fit(X, Y), "LabelSpreading", "Train an SVC on its transduction_"),
        (
            SelfTrainingClassifier(LogisticRegression()).fit(X, np.where(X[:, 0] > 1, -1, Y)),
            "SelfTrainingClassifier",
            "estimator_",
        ),
        (DummyClassifier().fit(X, Y), "DummyClassifier", "Serve it as it is"),
        (OneVsOneClassifier(LinearSVC()).fit(X, Y), "OneVsOneClassifier", r"SVC\(kernel='linear'\)"),
        (OutputCodeClassifier(LinearSVC()).fit(X, Y), "OutputCodeClassifier", "Use OneVsRestClassifier"),
        (ClassifierChain(LinearSVC()).fit(X, np.c_[B, ~B]), "ClassifierChain", "Wrap each of its estimators_"),
        (LocalOutlierFactor(novelty=True).fit(X), "LocalOutlierFactor", "EarlyExitOutlierDetector takes"),
        (KMeans(2).fit(X), "KMeans", "NearestCentroid"),
        (StandardScaler().fit(X), "StandardScaler", "Put one behind it"),
        ("model.pkl", "str", "pass the fitted classifier itself"),
        (b"model", "bytes", "load the classifier first"),
        (None, "NoneType", "Pass a fitted model"),
        (X, "ndarray", "Pass the fitted classifier that holds them"),
        ([LinearSVC()], "list", "one by one"),
        (np.abs, "ufunc", "Pass the fitted classifier inside"),
        (lambda X: X, "function", "Pass the fitted classifier inside"),
        (foreign_object("torch.nn.modules.container"), "Net", "Put all layers but the last into a Pipeline"),
        (foreign_object("keras.src.models"), "Net", "Put all layers but the last into a Pipeline"),
        (foreign_object("torchless"), "Net", "Pass a fitted model"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("place", ["bare", "pipeline"])
def test_every_refusal_says_what_to_do(model, name, words, place):
    if place == "pipeline":
        model = Pipeline([("scale", StandardScaler().fit(X)), ("model", model)])
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        decompose(model)
    assert str(caught.value).startswith(f"{name} ")
    assert "Supported are scikit-learn's linear models" in str(caught.value)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (
            KNeighborsRegressor().fit(X, Y),
            "KNeighborsRegressor is not supported. EarlyExitRegressor takes regressors of",
        ),
        (GridSearchCV(LinearSVC(), {"C": [1]}, cv=2, refit=False).fit(X, Y), "Fit it with refit=True"),
        (OwnSearch(LinearSVC(), {"C": [1]}, cv=2).fit(X, Y), "OwnSearch is not supported: it has its own predict"),
        (OneVsRestClassifier(SVC()).fit(X, Y), "OneVsRestClassifier of SVC with kernel='rbf' is not supported"),
        (OneVsRestClassifier(MultinomialNB()).fit(abs(X), Y), "Wrap the MultinomialNB itself"),
        (OneVsRestClassifier(NearestCentroid()).fit(X, Y), "Wrap the NearestCentroid itself"),
        (OneVsRestClassifier(Ridge()).fit(X, Y), "OneVsRestClassifier of Ridge is not supported"),
        (OneVsRestClassifier(LinearSVC()).fit(X, np.c_[B, ~B]), "multilabel.*Wrap each of its estimators_"),
        (
            OneVsRestClassifier(make_pipeline(PCA(2), LinearSVC())).fit(X, Y),
            "Put the steps in front: make_pipeline",
        ),
        (NearestCentroid(metric="manhattan").fit(X, Y), "metric='manhattan'.* Use metric='euclidean'"),
        (NearestCentroid(priors=[0.2, 0.3, 0.5]).fit(X, Y), "unequal priors.*LinearDiscriminantAnalysis"),
        (CalibratedClassifierCV(NearestCentroid(), ensemble=False).fit(X, B), "around NearestCentroid is not"),
        (OwnLikelihood().fit(abs(X), Y), "has its own _joint_log_likelihood"),
        (MultiOutputClassifier(LinearSVC()).fit(X, np.c_[B, ~B]), "MultiOutputClassifier"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()).fit(X, Y), "KNeighborsRegressor"),
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


@pytest.mark.filterwarnings("ignore:Label not:UserWarning", "ignore:Label .* is present:UserWarning")
def test_one_class():
    for model in (RidgeClassifier(), MultinomialNB(), BernoulliNB(), OneVsRestClassifier(LinearSVC())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of OneVsRestClassifier
            read = decompose(model.fit(abs(X), np.zeros(60, dtype=int)))
        assert (read.decision.n_classes, read.classes.tolist()) == (1, [0])


def test_probabilities_of_zero_are_refused():
    counts = np.array([[0, 3], [0, 2], [1, 0], [2, 0]])
    for model in (MultinomialNB(alpha=0, force_alpha=True), BernoulliNB(alpha=0, force_alpha=True)):
        with np.errstate(divide="ignore"), pytest.raises(ValueError, match="Fit it with alpha > 0"):
            decompose(model.fit(counts, [0, 0, 1, 1]))


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
