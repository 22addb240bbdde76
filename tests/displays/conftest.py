from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier

plt: Any = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def wrapped(model: Any, digits: Any, **parameters: Any) -> EarlyExitClassifier:
    """A model with early exit, planned for units, so that it is the same on every machine."""
    model.fit(digits.X_train, digits.y_train)
    fast = EarlyExitClassifier(FrozenEstimator(model), cost="units", random_state=0, **{"risk": 0.02, **parameters})
    return fast.fit(digits.X_fit)


@pytest.fixture(scope="session")
def linear(binary_digits: Any) -> EarlyExitClassifier:
    return wrapped(LogisticRegression(max_iter=2000), binary_digits)


@pytest.fixture(scope="session")
def linear_ten(digits: Any) -> EarlyExitClassifier:
    return wrapped(LogisticRegression(max_iter=2000), digits, risk=0.05)


@pytest.fixture(scope="session")
def kernel(binary_digits: Any) -> EarlyExitClassifier:
    return wrapped(SVC(), binary_digits)


@pytest.fixture(scope="session")
def kernel_ten(digits: Any) -> EarlyExitClassifier:
    return wrapped(SVC(), digits, risk=0.05)


@pytest.fixture(scope="session")
def one_sided(binary_digits: Any) -> EarlyExitClassifier:
    """Rows may leave as negative only."""
    return wrapped(LogisticRegression(max_iter=2000), binary_digits, protect="positive", risk=0.05)


@pytest.fixture(scope="session")
def everything(binary_digits: Any) -> EarlyExitClassifier:
    """Too few certificate rows: every row is evaluated in full."""
    with pytest.warns(UserWarning, match="no early exit"):
        return wrapped(LogisticRegression(max_iter=2000), binary_digits, risk=1e-4)


@pytest.fixture(params=["linear", "linear_ten", "kernel", "kernel_ten", "one_sided"])
def fast(request: pytest.FixtureRequest) -> EarlyExitClassifier:
    fitted: EarlyExitClassifier = request.getfixturevalue(request.param)
    return fitted
