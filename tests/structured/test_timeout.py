"""The predictor waits for a blocked extractor until the timeout, and no longer."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from wald.datasets import make_chains, make_trees
from wald.structured import BudgetedPredictor, ChainClassifier, DependencyParser, ExtractionError, FeatureGroup
from wald.structured.policies import IteratedPolicy, OneShotPolicy, UniformPolicy
from wald.structured.policies.base import Policy

X, Y = make_chains(120, n_features=6, noise=1.5, random_state=0)
HANG = 3.0


class Costly:
    """An extractor that blocks or fails at given calls, counted from when they are set."""

    def __init__(self) -> None:
        self.calls, self.hangs, self.fails, self.ends = 0, False, False, False

    def __call__(self, parts: Any) -> Any:
        self.calls += 1
        if self.hangs:
            time.sleep(HANG)
        if self.fails:
            raise RuntimeError("no such table")
        if self.ends:
            raise SystemExit("the extractor ends")
        return parts


def fitted(policy: Policy, **parameters: Any) -> tuple[BudgetedPredictor, list[Costly]]:
    costly = [Costly(), Costly()]
    groups = [
        FeatureGroup("half", lambda parts: parts[:, ::2], cost=1),
        FeatureGroup("one", costly[0], cost=4),
        FeatureGroup("two", costly[1], cost=5),
    ]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(X[:80], Y[:80])
    policy.fit(model, X[:80], Y[:80])
    fast = BudgetedPredictor(model, policy, **({"budget": 6.0} | parameters)).fit(X[80:])
    for one in costly:
        one.calls = 0
    return fast, costly


POLICIES = {
    "uniform": UniformPolicy,
    "iterated": lambda: IteratedPolicy(max_iter=3, random_state=0),
    "one-shot": lambda: OneShotPolicy(tradeoff=0.05, features="simple", random_state=0),
}


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("more", [{}, {"deadline": 0.2}, {"deadline": 60.0}], ids=["alone", "deadline", "far deadline"])
def test_a_call_that_hangs_is_left(name: str, more: dict[str, float]) -> None:
    fast, costly = fitted(POLICIES[name]())
    costly[1].hangs = True
    start = time.perf_counter()
    answers, state = fast.predict(X[80:], timeout=0.2, return_state=True, **more)
    assert time.perf_counter() - start < 0.2 + HANG / 2
    assert costly[1].calls == 1
    assert not state[:, 1].any()  # what hung is not there
    assert [list(row) for row in answers] == [list(row) for row in fast.model.predict(X[80:], state=state)]


def test_what_was_bought_before_is_used() -> None:
    fast, costly = fitted(UniformPolicy())
    costly[1].hangs = True
    state = fast.predict(X[80:], timeout=0.1, return_state=True)[1]
    assert state[:, 0].any()
    costly[1].hangs = False
    usual = fast.predict(X[80:], return_state=True)[1]
    np.testing.assert_array_equal(state[:, 0], usual[:, 0])


def test_a_deadline_ends_a_call_before_its_timeout() -> None:
    fast, costly = fitted(UniformPolicy())
    costly[0].hangs = costly[1].hangs = True
    start = time.perf_counter()
    fast.predict(X[80:], deadline=0.1, timeout=60.0)
    assert time.perf_counter() - start < HANG / 2


def test_without_hanging_a_timeout_changes_nothing() -> None:
    fast, _ = fitted(IteratedPolicy(max_iter=3, random_state=0))
    for one, other in zip(
        fast.predict(X[80:], timeout=60.0, return_state=True, return_cost=True),
        fast.predict(X[80:], return_state=True, return_cost=True),
        strict=True,
    ):
        np.testing.assert_array_equal(np.concatenate(list(one), axis=None), np.concatenate(list(other), axis=None))


def test_an_extractor_that_fails_within_its_time_is_reported() -> None:
    fast, costly = fitted(UniformPolicy())
    costly[0].fails = True
    with pytest.raises(ExtractionError, match=r"Group 'one': the extractor failed .* no such table"):
        fast.predict(X[80:], timeout=60.0)


def test_a_generator_is_waited_for_and_fails_like_a_function() -> None:
    def one_by_one(parts: Any) -> Any:
        for part in parts:
            yield costly(part)

    costly = Costly()
    groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("one", one_by_one, cost=4)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(X[:80], Y[:80])
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=3.0).fit(X[80:])
    costly.hangs = True
    start = time.perf_counter()
    _, state = fast.predict(X[80:], timeout=0.05, return_state=True)
    assert time.perf_counter() - start < HANG
    assert not state.any()
    costly.hangs, costly.fails = False, True
    with pytest.raises(ExtractionError, match=r"Group 'one': the extractor failed .* no such table"):
        fast.predict(X[80:])


@pytest.mark.parametrize("more", [{}, {"timeout": 60.0}], ids=["waited for", "timeout"])
def test_an_extractor_that_ends_its_thread_is_no_timeout(more: dict[str, float]) -> None:
    fast, costly = fitted(UniformPolicy())
    costly[0].ends = True
    with pytest.raises(SystemExit, match="the extractor ends"):
        fast.predict(X[80:], **more)


@pytest.mark.parametrize("timeout", [1e300, float("inf")])
def test_a_timeout_may_be_endless(timeout: float) -> None:
    fast, _ = fitted(UniformPolicy())
    for found, plain in zip(fast.predict(X[80:], timeout=timeout), fast.predict(X[80:]), strict=True):
        np.testing.assert_array_equal(found, plain)


@pytest.mark.parametrize("timeout", [0, -1.0, float("nan")])
def test_timeouts_are_checked(timeout: float) -> None:
    with pytest.raises(ValueError, match="timeout must be a positive number of seconds"):
        fitted(UniformPolicy())[0].predict(X, timeout=timeout)


def test_a_model_without_extractors_refuses_a_timeout() -> None:
    bank = make_trees(60, random_state=0)
    parser = DependencyParser(table_bits=12, max_iter=1, states="random", random_state=0).fit(bank)
    fast = BudgetedPredictor(parser, UniformPolicy().fit(parser), budget=float(parser.group_costs_.sum())).fit(bank)
    with pytest.raises(TypeError, match=r"timeout needs a model .* Got DependencyParser"):
        fast.predict(bank, timeout=1.0)
