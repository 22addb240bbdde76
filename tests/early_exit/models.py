"""Fitted models of every kind with their rows; the first 800 rows trained them."""

from functools import cache

from kinds.estimators import ALSO_SEVERAL_CLASSES, ALSO_TWO_CLASSES, SEVERAL_CLASSES, TWO_CLASSES
from kinds.parameters import nested
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from wald import EarlyExitClassifier


def make(n=6000, d=20, classes=2, seed=0):
    """Rows and labels."""
    return make_classification(
        n, d, n_informative=8, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=seed
    )


def wrap(model, X, **params):
    """Early exit for a fitted model, planned for units, so that the plan is the same on every machine."""
    params = {"risk": 0.02, "random_state": 0, "cost": "units"} | params
    return EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(X)


X2, y2 = make()
X3, y3 = make(classes=4)
MODELS = {
    **{name: (clone(e).fit(X2[:800], y2[:800]), X2) for name, e in (TWO_CLASSES | ALSO_TWO_CLASSES).items()},
    **{name: (clone(e).fit(X3[:800], y3[:800]), X3) for name, e in (SEVERAL_CLASSES | ALSO_SEVERAL_CLASSES).items()},
    "behind PCA": (make_pipeline(PCA(10), SVC()).fit(X2[:800], y2[:800]), X2),
    "multinomial": (MultinomialNB().fit(abs(X2[:800]), y2[:800]), abs(X2)),
    "complement": (ComplementNB().fit(abs(X3[:800]), y3[:800]), abs(X3)),
}


@cache
def wrapped(name):
    """The same for a model by its name, with its rows from the 1000th to the 5000th. Shared: predict, and no more."""
    model, X = MODELS[name]
    return wrap(model, X[1000:5000])
