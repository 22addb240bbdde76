"""Ensembles of any estimators, their rows, and exits from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner


def data(n_classes: int = 2) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(4300, 5))
    y = (X[:, 0] + X[:, 1] * X[:, 2]).argsort().argsort() * n_classes // len(X)
    return X[:300], y[:300], X[300:]


SLOW = [("svc", SVC()), ("bayes", GaussianNB()), ("near", KNeighborsClassifier()), ("line", LogisticRegression())]


def early(model: Any, rows: np.ndarray, risk: float = 0) -> EarlyExitClassifier:
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, planner=Planner(cost="units"), random_state=0)
    return fast.fit(rows)
