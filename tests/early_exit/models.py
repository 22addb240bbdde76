"""Fitted models of every kind with the rows that they read; the first 800 trained them."""

from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from wald import EarlyExitClassifier


def make(n=6000, d=20, classes=2, seed=0):
    """Rows and labels."""
    return make_classification(
        n, d, n_informative=8, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=seed
    )


def wrap(model, X, **params):
    """Early exit for a fitted model, planned for units, so that it is the same on every machine."""
    params = {"risk": 0.02, "random_state": 0, "cost": "units"} | params
    return EarlyExitClassifier(FrozenEstimator(model), **params).fit(X)


X2, y2 = make()
X3, y3 = make(classes=4)
MODELS = {
    "rbf": (SVC().fit(X2[:800], y2[:800]), X2),
    "poly": (SVC(kernel="poly", degree=2, coef0=1.0).fit(X2[:800], y2[:800]), X2),
    "sigmoid": (SVC(kernel="sigmoid", gamma=0.01).fit(X2[:800], y2[:800]), X2),
    "nu": (NuSVC(nu=0.2).fit(X2[:800], y2[:800]), X2),
    "linear kernel": (SVC(kernel="linear").fit(X2[:800], y2[:800]), X2),
    "one-vs-one": (SVC().fit(X3[:800], y3[:800]), X3),
    "break_ties": (SVC(break_ties=True).fit(X3[:800], y3[:800]), X3),
    "logistic": (LogisticRegression().fit(X2[:800], y2[:800]), X2),
    "logistic multiclass": (LogisticRegression().fit(X3[:800], y3[:800]), X3),
    "ridge": (RidgeClassifier().fit(X3[:800], y3[:800]), X3),
    "scaled rbf": (make_pipeline(StandardScaler(), SVC()).fit(X2[:800], y2[:800]), X2),
    "scaled logistic": (make_pipeline(MinMaxScaler(), LogisticRegression()).fit(X2[:800], y2[:800]), X2),
    "behind PCA": (make_pipeline(PCA(10), SVC()).fit(X2[:800], y2[:800]), X2),
    "threshold": (FixedThresholdClassifier(LogisticRegression(), threshold=0.3).fit(X2[:800], y2[:800]), X2),
    "multinomial": (MultinomialNB().fit(abs(X2[:800]), y2[:800]), abs(X2)),
    "complement": (ComplementNB().fit(abs(X3[:800]), y3[:800]), abs(X3)),
    "bernoulli": (BernoulliNB().fit(X3[:800], y3[:800]), X3),
    "centroids": (NearestCentroid().fit(X3[:800], y3[:800]), X3),
    "one-vs-rest": (OneVsRestClassifier(LogisticRegression()).fit(X3[:800], y3[:800]), X3),
    "search": (GridSearchCV(LinearSVC(), {"C": [0.1, 1]}, cv=2).fit(X2[:800], y2[:800]), X2),
    "calibrated": (CalibratedClassifierCV(LinearSVC(), ensemble=False).fit(X2[:800], y2[:800]), X2),
}
