from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from kinds.parameters import nested
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.datasets import make_chains, make_trees
from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
from wald.structured.policies import IteratedPolicy
from wald.structured.policies.base import Policy

plt: Any = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed_figures() -> Iterator[None]:
    yield
    plt.close("all")


def names(display: Any) -> list[str]:
    """The entries of a display's legend."""
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def wrapped(model: Any, digits: Any, **parameters: Any) -> EarlyExitClassifier:
    """A model with early exit, planned for units, so that the plan is the same on every machine."""
    model.fit(digits.X_train, digits.y_train)
    fast = EarlyExitClassifier(
        FrozenEstimator(model), **nested(cost="units", random_state=0, **{"risk": 0.02, **parameters})
    )
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
    return wrapped(LogisticRegression(max_iter=2000), binary_digits, risk={"positive": 0.05, "negative": 0})


@pytest.fixture(scope="session")
def everything(binary_digits: Any) -> EarlyExitClassifier:
    """Too few certificate rows: every row is evaluated in full."""
    with pytest.warns(UserWarning, match="no early exit"):
        return wrapped(LogisticRegression(max_iter=2000), binary_digits, risk=1e-4)


@pytest.fixture(params=["linear", "linear_ten", "kernel", "kernel_ten", "one_sided"])
def fast(request: pytest.FixtureRequest) -> EarlyExitClassifier:
    fitted: EarlyExitClassifier = request.getfixturevalue(request.param)
    return fitted


class Chains(NamedTuple):
    """Sequences: the first 200 train the model and the policy, the others are for tests."""

    X: list[Any]
    y: list[Any]
    X_test: list[Any]
    y_test: list[Any]
    model: ChainClassifier
    policy: Policy


@pytest.fixture(scope="session")
def chains() -> Chains:
    X, y = make_chains(1500, n_features=12, noise=1.6, random_state=0)
    groups = [FeatureGroup("sketch", lambda parts: parts[:, ::3], cost=1), FeatureGroup("detail", cost=9)]
    model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:200], y[:200])
    policy = IteratedPolicy(cv=2, random_state=0).fit(model, X[:200], y[:200])
    return Chains(X[:1400], y[:1400], X[1400:], y[1400:], model, policy)


@pytest.fixture(scope="session")
def budgeted(chains: Chains) -> BudgetedPredictor:
    return BudgetedPredictor(chains.model, chains.policy, budget=4.0).fit(chains.X[200:300])


@pytest.fixture(scope="session")
def certified(chains: Chains) -> BudgetedPredictor:
    fast = BudgetedPredictor(chains.model, chains.policy, risk=0.1, random_state=0).fit(chains.X[200:1400])
    assert fast.certificate_.status == "certified"
    return fast


class Doubt(Policy):
    """A policy that buys one part at a time, the least confident first."""

    n_rounds, pace = None, 0.0

    def priority(self, session: Any, state: Any, examples: Any) -> Any:
        return -session.confidence(state, examples)[:, None].astype(float)


class Parser:
    """A parser that guesses heads from positions; the costly group gives the true heads."""

    group_names_ = ("tags", "words")
    group_costs_ = np.array([1.0, 4.0])

    def open(self, X: Any) -> ParserSession:
        return ParserSession(X)

    def loss(self, truth: Any, answer: Any) -> Any:
        return (truth != answer).astype(float)

    def predict(self, X: Any) -> Any:
        return X


class ParserSession:
    """A session in which the head of a word, without the costly group, is the word before it."""

    def __init__(self, X: Any) -> None:
        self.offsets, self.heads = X.offsets, X.heads
        self.places = np.concatenate([np.arange(n) for n in np.diff(X.offsets)]).astype(np.int32)
        self.seconds, self.extracted = np.zeros(2), np.array([len(self.heads), 0])

    def state(self, state: Any = None) -> Any:
        return np.ones((len(self.heads), 1), dtype=bool) if state is None else np.asarray(state)

    def codes(self, y: Any) -> Any:
        return y.heads

    def decode(self, state: Any, examples: Any = None) -> Any:
        return self._of(np.where(state[:, 0], self.heads, self.places).astype(np.int32), examples)

    def confidence(self, state: Any, examples: Any = None) -> Any:
        return self._of(np.where(state[:, 0], 1.0, 0.1 * (self.places % 7)).astype(np.float32), examples)

    def _of(self, values: Any, examples: Any) -> Any:
        if examples is None:
            return values
        return np.concatenate([values[:0], *(values[self.offsets[i] : self.offsets[i + 1]] for i in examples)])


@pytest.fixture(scope="session")
def parsed() -> tuple[BudgetedPredictor, Any]:
    """A predictor whose answers are heads, and sentences."""
    bank, model = make_trees(30, random_state=0), Parser()
    return BudgetedPredictor(model, Doubt().fit(model), budget=2.0).fit(bank), bank
