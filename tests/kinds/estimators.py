"""Unfitted classifiers by family, for tests of every family; clone before fitting.

A new family adds one line to each list that it belongs to.
"""

from __future__ import annotations

from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Binarizer, MaxAbsScaler, MinMaxScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

#: One of each family, for tests of something else that must hold for all of them.
ONE_A_FAMILY: dict[str, Any] = {
    "svc": SVC(),
    "logistic": LogisticRegression(),
    "trees": HistGradientBoostingClassifier(max_iter=30, min_samples_leaf=5, random_state=0),
}

#: The same and a kernel machine that is read as a linear model: one of each way to read a classifier.
ONE_A_READING: list[Any] = [*ONE_A_FAMILY.values(), SVC(kernel="linear")]

#: One of each family with settings of its own, for the end of a pipeline that scales or imputes.
BEHIND_STEPS: list[Any] = [
    LogisticRegression(),
    SVC(gamma=0.05),
    SVC(kernel="linear", C=0.01),
    SVC(kernel="poly", degree=2),
]

#: Linear classifiers with a ``coef_``, for tests of how one is read.
LINEAR: list[Any] = [
    LogisticRegression(max_iter=50),
    LogisticRegression(max_iter=50, fit_intercept=False),
    LogisticRegressionCV(Cs=2, cv=2, max_iter=50),
    LinearSVC(max_iter=200),
    LinearSVC(max_iter=200, fit_intercept=False),
    LinearSVC(max_iter=200, multi_class="crammer_singer"),
    SGDClassifier(random_state=0, max_iter=20),
    SGDClassifier(random_state=0, max_iter=20, average=True, loss="log_loss"),
    Perceptron(max_iter=20),
    RidgeClassifier(),
    RidgeClassifier(fit_intercept=False),
    RidgeClassifierCV(),
    LinearDiscriminantAnalysis(),
    LinearDiscriminantAnalysis(solver="lsqr"),
]

#: Classifiers without a ``coef_`` that are linear in their features, or in simple functions of them.
LINEAR_IN_DISGUISE: dict[str, Any] = {
    "multinomial": MultinomialNB(),
    "multinomial without prior": MultinomialNB(alpha=0.1, fit_prior=False),
    "complement": ComplementNB(),
    "complement with norm": ComplementNB(norm=True),
    "bernoulli": BernoulliNB(),
    "bernoulli above 1": BernoulliNB(binarize=1.1),
    "bernoulli of bits": make_pipeline(Binarizer(threshold=0.5), BernoulliNB(binarize=None)),
    "centroids": NearestCentroid(),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression(max_iter=50)),
    "one-vs-rest of ridge": OneVsRestClassifier(RidgeClassifier()),
    "one-vs-rest of linear kernels": OneVsRestClassifier(SVC(kernel="linear")),
    "one-vs-rest of pipelines": OneVsRestClassifier(make_pipeline(MaxAbsScaler(), SGDClassifier(random_state=0))),
    "search": GridSearchCV(LinearSVC(max_iter=100), {"C": [0.1, 1]}, cv=2),
}

#: Kernels of SVC and NuSVC, for tests of how a kernel machine is read.
KERNELS: list[dict[str, Any]] = [
    {"kernel": "rbf"},
    {"kernel": "rbf", "gamma": "auto"},
    {"kernel": "rbf", "gamma": 0.02},
    {"kernel": "poly", "degree": 3, "coef0": 0.5},
    {"kernel": "poly", "degree": 2, "gamma": 0.05},
    {"kernel": "sigmoid", "gamma": 0.01, "coef0": -0.2},
    {"kernel": "linear"},
]

#: Classifiers of two classes on dense rows, for tests of early exit and its files; each has rows of its own.
TWO_CLASSES: dict[str, Any] = {
    "rbf": SVC(),
    "poly": SVC(kernel="poly", degree=2, coef0=1.0),
    "sigmoid": SVC(kernel="sigmoid", gamma=0.01),
    "linear kernel": SVC(kernel="linear"),
    "logistic": LogisticRegression(),
    "scaled rbf": make_pipeline(StandardScaler(), SVC()),
    "scaled logistic": make_pipeline(MinMaxScaler(), LogisticRegression()),
    "threshold": FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    "calibrated": CalibratedClassifierCV(LinearSVC(), ensemble=False),
    "boosting": GradientBoostingClassifier(n_estimators=40, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=5, random_state=0),
}

#: The same for several classes.
SEVERAL_CLASSES: dict[str, Any] = {
    "one-vs-one": SVC(),
    "break_ties": SVC(break_ties=True),
    "logistic multiclass": LogisticRegression(),
    "ridge": RidgeClassifier(),
    "boosting of several": HistGradientBoostingClassifier(max_iter=20, min_samples_leaf=5, random_state=0),
}

#: Variants of the classifiers above, and classifiers of counts, for tests of early exit only.
ALSO_TWO_CLASSES: dict[str, Any] = {
    "nu": NuSVC(nu=0.2),
    "search": GridSearchCV(LinearSVC(), {"C": [0.1, 1]}, cv=2),
}
ALSO_SEVERAL_CLASSES: dict[str, Any] = {
    "bernoulli": BernoulliNB(),
    "centroids": NearestCentroid(),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression()),
}
