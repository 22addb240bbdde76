"""A small model in a file, and the service around it."""

from __future__ import annotations

import pytest
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

for needed in ("starlette", "uvicorn", "httpx"):
    pytest.importorskip(needed, reason="needs the extra serve, and httpx", exc_type=ImportError)

import pandas as pd  # noqa: E402

import wald  # noqa: E402


@pytest.fixture(scope="session")
def rows():
    X, y = make_classification(6000, 8, n_informative=5, random_state=0)
    return X, y


@pytest.fixture(scope="session")
def fast(rows):
    X, y = rows
    model = LogisticRegression().fit(X[:1000], y[:1000])
    return wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    ).fit(X[1000:5000])


@pytest.fixture(scope="session")
def named(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    model = LogisticRegression().fit(frame[:1000], y[:1000])
    fast = wald.EarlyExitClassifier(
        FrozenEstimator(model), risk=0.05, planner=wald.Planner(cost="units"), random_state=0
    )
    return fast.fit(frame[1000:5000])


@pytest.fixture(scope="session")
def saved(fast, tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "model.wald"
    wald.save(fast, path)
    return path
