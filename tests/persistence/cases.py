"""Fitted classifiers of every kind that a file can hold, small and made once."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from kinds.estimators import SEVERAL_CLASSES, TWO_CLASSES
from kinds.parameters import nested
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC

from wald import CostModel, EarlyExitClassifier
from wald.stopping import Budget, ConstantBoundary, Ladder, Lossless


def rows(n: int = 2600, d: int = 14, classes: int = 2) -> tuple[Any, Any]:
    return make_classification(
        n, d, n_informative=8, n_classes=classes, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )


X2, y2 = rows()
X3, y3 = rows(classes=4)
HOLES = np.where(np.random.default_rng(0).random(X2.shape) < 0.05, np.nan, X2)
THIN = sparse.random(2600, 60, 0.2, random_state=0, format="csr")
WIDE = sparse.random(2600, 3000, 0.005, random_state=1, format="csr")
SPARSE_LABELS = {
    X.shape[1]: np.asarray(X @ np.random.default_rng(2).normal(size=X.shape[1]) > 0.1, dtype=int) for X in (THIN, WIDE)
}


def wrap(model: Any, X: Any, **params: Any) -> EarlyExitClassifier:
    params = {"risk": 0.05, "random_state": 0, "cost": "units"} | params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # too few certificate rows, where that is the case
        return EarlyExitClassifier(FrozenEstimator(model), **nested(**params)).fit(X)


def dense(model: Any, X: Any = X2, y: Any = y2, fit_rows: slice = slice(300, 2300), **params: Any) -> Callable[[], Any]:
    return lambda: (wrap(clone(model).fit(X[:300], y[:300]), X[fit_rows], **params), X[2000:])


def thin(model: Any, X: Any, **params: Any) -> Callable[[], Any]:
    y = SPARSE_LABELS[X.shape[1]]
    return lambda: (wrap(model.fit(X[:300], y[:300]), X[300:2300], risk=0.2, **params), X[2000:])


def frame(**params: Any) -> Callable[[], Any]:
    def made() -> Any:
        import pandas

        columns = pandas.DataFrame(X2, columns=[f"größe {i}" for i in range(14)])
        model = LogisticRegression().fit(columns[:300], y2[:300])
        return wrap(model, columns[300:2300], **params), columns[2000:]

    return made


def landmarks() -> Any:
    """Noise gives many support vectors, and landmarks that predict the score better than these."""
    rng = np.random.default_rng(0)
    X = rng.random((5000, 6))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + rng.normal(size=5000) * 0.4 > 1
    return wrap(SVC(gamma=0.5).fit(X[:1500], y[:1500]), X[1500:4500], random_state=1), X[4300:]


def of_columns() -> tuple[EarlyExitClassifier, Any]:
    """A pipeline of numbers and categories, of which some are rare, and one is dropped."""
    import pandas

    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(X2[:, :4], columns=["größe", "a", "b", "c"])
    rows["ort"] = np.array(["Köln", "Bonn", "Graz", "Ulm"])[(4 * rng.random(len(rows)) ** 2).astype(int)]
    encoder = OneHotEncoder(min_frequency=400, drop="first", handle_unknown="infrequent_if_exist")
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    steps = ColumnTransformer([("n", scaled, ["größe", "a"]), ("c", encoder, ["ort"]), ("p", "passthrough", [2, 3])])
    model = make_pipeline(steps, LogisticRegression()).fit(rows[:300], y2[:300])
    return wrap(model, rows[300:2300]), rows[2000:]


WORDS = np.array(["ja", "nein"])
MAKERS: dict[str, Callable[[], Any]] = {
    **{name: dense(estimator) for name, estimator in TWO_CLASSES.items()},
    **{name: dense(estimator, X3, y3) for name, estimator in SEVERAL_CLASSES.items()},
    "single precision": dense(LogisticRegression(), X2.astype(np.float32)),
    "rbf": dense(SVC(), order="random"),  # and therefore without landmarks
    "rbf in float64": dense(SVC(), X2 * 1e16),
    "evaluates everything by proof": dense(SVC(gamma=0.5), rule=Lossless()),
    "rbf with landmarks": landmarks,
    "measured times": dense(SVC(C=100, gamma=0.3), cost="time"),
    "linear kernel": dense(SVC(kernel="linear"), X3, y3),  # one-vs-one
    "sparse": thin(SVC(), THIN),
    "sparse and wide": thin(SVC(), WIDE),
    "sparse linear": thin(LinearSVC(), THIN, feature_costs=np.ones(THIN.shape[1])),
    "imputed rbf": dense(make_pipeline(SimpleImputer(), StandardScaler(), SVC()), HOLES),
    "imputed logistic": dense(make_pipeline(SimpleImputer(), LogisticRegression()), HOLES),
    "evaluates everything": dense(SVC(), fit_rows=slice(300, 340), risk=0.001),
    "evaluates everything multiclass": dense(SVC(), X3, y3, fit_rows=slice(300, 340), risk=0.001),
    "each class": dense(SVC(), X3, y3, risk={"each": 0.1}),
    "classes": dense(SVC(), X3, y3, risk={"all": 0.1, 0: 0.2, 3: 0.15}),
    "named class": dense(SVC(), y=np.where(y2, "nein", "ja"), risk={"all": 0.05, np.str_("nein"): 0.1}),
    "positives": dense(SVC(), risk={"positive": 0.05, "negative": 0}),
    "budget": dense(LogisticRegression(), rule=Budget(7), risk=None),
    "constant": dense(LogisticRegression(), rule=ConstantBoundary(delta=0.1, sides="negative"), order="random"),
    "ladder": dense(LogisticRegression(), rule=Ladder("partial")),
    "ranges": dense(LogisticRegression(), rule=Lossless(low=[-20.0] * 14, high=20), risk=None),
    "own order": dense(LogisticRegression(), order=np.arange(14)[::-1]),
    "own cost model": dense(SVC(), cost=CostModel(row=1.0, unit=1.0, readout=0.0, stage=0.1, full=1e3)),
    "feature costs": dense(LogisticRegression(), feature_costs=np.linspace(1, 14, 14)),
    "frame": frame(),
    "columns": of_columns,
    "groups": frame(feature_groups={"lab": ["größe 0", 2]}, feature_costs={"lab": 9.0, "größe 5": 3.0}),
    "words": dense(SVC(), X2, WORDS[y2]),
    "words as objects": dense(SVC(), X2, WORDS[y2].astype(object)),
    "booleans": dense(LogisticRegression(), X2, y2 > 0),
    "small labels": dense(LogisticRegression(), X3, (10 * y3).astype(np.uint8)),
    "floats": dense(LogisticRegression(), X3, y3 * 1.0),
}


@cache
def made(name: str) -> tuple[EarlyExitClassifier, Any]:
    """A classifier, and rows, some of them new to it."""
    if name in ("frame", "groups", "columns"):
        import pytest

        pytest.importorskip("pandas")
    fast, X = MAKERS[name]()
    return fast, X
