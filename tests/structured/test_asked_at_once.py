"""Threads that need the same new part at the same time ask about it once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from wald import Calls
from wald.calls.ending import ending
from wald.structured import BudgetedPredictor, ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.keeping import LIMITS
from wald.structured.kept import Claims
from wald.structured.policies import UniformPolicy

X = [["an", "old"], ["fast", "car"], ["old"], ["an", "car", "an"]] * 5
Y = [[word[-1] for word in sentence] for sentence in X]
NEW = [["red", "green"], ["blue", "red"]]
OTHERS = [["green", "grey"], ["red"]]


class Slow:
    """Gives the last letters of words, and takes its time once it is told to; counts how often it gets each word."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.seconds = 0.0
        self.failures = 0
        self.begun = threading.Event()

    def __call__(self, words: list[str]) -> Any:
        self._count(words)
        time.sleep(self.seconds)
        return self._answer(words)

    async def later(self, words: list[str]) -> Any:
        self._count(words)
        await asyncio.sleep(self.seconds)
        return self._answer(words)

    def _count(self, words: list[str]) -> None:
        self.asked.update(words)
        self.begun.set()

    def _answer(self, words: list[str]) -> Any:
        if self.failures > 0:
            self.failures -= 1
            raise ConnectionError("no route")
        return [word[-1] for word in words]


WAYS: dict[str, Callable[[Slow], Any]] = {
    "function": lambda slow: slow,
    "coroutine function": lambda slow: slow.later,
    "calls": lambda slow: Calls(slow, batch_size=2),
    "calls at once": lambda slow: Calls(slow.later, batch_size=1, max_concurrency=3),
    "calls in threads": lambda slow: Calls(slow, batch_size=1, max_concurrency=2, timeout=60.0),
}


def fitted(slow: Slow, extract: Any) -> ChainClassifier:
    groups = [FeatureGroup("first", lambda words: [word[0] for word in words], cost=1.0)]
    model = ChainClassifier([*groups, FeatureGroup("slow", extract, cost=9.0)], max_iter=2, random_state=0).fit(X, Y)
    slow.asked.clear()
    slow.begun.clear()
    return model


@pytest.mark.parametrize("way", WAYS)
def test_one_thread_asks_and_the_others_wait(way: str) -> None:
    slow = Slow()
    model = fitted(slow, WAYS[way](slow))
    wanted = ChainClassifier.predict(fitted(Slow(), Slow()), NEW + OTHERS)
    before = model.feature_groups[1].counts.rows
    slow.seconds = 0.1
    start = threading.Barrier(4)

    def ask(sentences: list[list[str]]) -> tuple[Any, int]:
        start.wait()
        session = model.open(sentences)
        return session.answers(session.decode(session.state())), int(session.features.asked[1])

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, [NEW, OTHERS, NEW, OTHERS]))
    assert [answers for answers, _ in found] == [wanted[:2], wanted[2:]] * 2
    assert slow.asked == Counter(["red", "green", "blue", "grey"])
    assert sum(n_asked for _, n_asked in found) == model.feature_groups[1].counts.rows - before == 4


def test_who_waited_asks_if_the_first_fails() -> None:
    slow = Slow()
    model = fitted(slow, slow)
    slow.seconds, slow.failures = 0.1, 1
    with ThreadPoolExecutor(3) as pool:
        first = pool.submit(model.predict, NEW)
        assert slow.begun.wait(10)
        others = [pool.submit(model.predict, NEW) for _ in range(2)]
        with pytest.raises(ExtractionError, match="no route"):
            first.result(20)
        assert others[0].result(20) == others[1].result(20) == model.predict(NEW)
    assert 2 <= slow.asked["red"] <= 3


def test_answers_that_are_not_kept_are_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    model = fitted(slow, slow)
    slow.seconds = 0.1
    monkeypatch.setattr(LIMITS, "memory", 0)
    monkeypatch.setattr(LIMITS, "disk", 0)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(model.predict, NEW)
        assert slow.begun.wait(10)
        assert pool.submit(model.predict, NEW).result(20) == first.result(20)
    assert slow.asked["red"] == 1


def test_nobody_waits_beyond_a_timeout() -> None:
    slow = Slow()
    model = fitted(slow, slow)
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=10.0).fit(X)
    slow.seconds = 1.0
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model.predict, NEW)
        assert slow.begun.wait(10)
        start = time.perf_counter()
        _, state = fast.predict(NEW, timeout=0.1, return_state=True)
        assert time.perf_counter() - start < 0.7
        assert not state.any()
        with pytest.raises(ExtractionError, match="not answered in time"), ending(time.monotonic() + 0.1):
            model.predict(NEW)
        assert time.perf_counter() - start < 0.9
        first.result(20)
    _, state = fast.predict(NEW, timeout=0.1, return_state=True)
    assert state.all()
    assert slow.asked["red"] == 1


def test_nobody_waits_for_another_thread_beyond_a_deadline() -> None:
    slow = Slow()
    model = fitted(slow, slow)
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=10.0).fit(X)
    slow.seconds = 2.0
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model.predict, NEW)
        assert slow.begun.wait(10)
        start = time.perf_counter()
        _, state = fast.predict(NEW, deadline=0.1, return_state=True)
        assert time.perf_counter() - start < 1.5
        assert not first.done()
        assert not state.any()
        first.result(20)
    _, state = fast.predict(NEW, deadline=20.0, return_state=True)
    assert state.all()
    assert slow.asked["red"] == 1


def test_an_extractor_may_ask_its_own_model() -> None:
    models: list[ChainClassifier] = []

    def ask(words: list[str]) -> Any:
        if "red" in words and models:
            inner = models.pop()
            assert len(inner.predict([["red", "blue"]])[0]) == 2
        return [word[-1] for word in words]

    model = fitted(Slow(), ask)
    models.append(model)
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(model.predict, NEW).result(20)) == 2


def test_a_fork_waits_for_no_thread_that_it_does_not_have() -> None:
    claims = Claims()
    claim, mine, _ = claims.take(["a"])
    assert claims.take(["a", "b"])[1] == ["b"]
    claims._process += 1
    again, theirs, others = claims.take(["a"])
    assert (mine, theirs, others) == (["a"], ["a"], {})
    claims.end(claim, mine)  # which must not give free what another claim has
    assert claims.take(["a"])[2] == {"a": again}


def test_coroutines_see_the_context_of_their_own_call() -> None:
    request = contextvars.ContextVar("request", default=0)
    seen: list[int] = []

    async def ask(words: list[str]) -> Any:
        seen.append(request.get())
        return [word[-1] for word in words]

    model = fitted(Slow(), ask)
    for number, word in ((7, "red"), (8, "blue")):
        request.set(number)
        model.predict([[word]])
    assert seen[-2:] == [7, 8]


@pytest.mark.parametrize("way", ["coroutine function", "calls at once", "calls in threads"])
def test_another_part_is_not_waited_for_beyond_a_timeout_either(way: str) -> None:
    """Calls of one extractor share an event loop, which one thread has at a time."""
    slow = Slow()
    model = fitted(slow, WAYS[way](slow))
    fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=10.0).fit(X)
    slow.seconds = 1.0
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(model.predict, [["red"]])
        assert slow.begun.wait(10)
        start = time.perf_counter()
        _, state = fast.predict([["blue"]], timeout=0.1, return_state=True)
        assert time.perf_counter() - start < 0.7
        assert not state.any()
        first.result(20)
    assert slow.asked == Counter(["red"])


@pytest.mark.parametrize("sets", [{}, {"max_concurrency": 2}])
@pytest.mark.parametrize("is_async", [True, False])
def test_calls_that_ask_the_same_calls_do_not_wait_for_themselves(is_async: bool, sets: dict[str, Any]) -> None:
    models: list[ChainClassifier] = []

    def ask(words: list[str]) -> Any:
        if "red" in words and models:
            models.pop().predict([["red", "blue"]])
        return [word[-1] for word in words]

    async def later(words: list[str]) -> Any:
        return ask(words)

    model = fitted(Slow(), Calls(later if is_async else ask, **sets))
    models.append(model)
    with ThreadPoolExecutor(1) as pool:
        assert len(pool.submit(model.predict, NEW).result(20)) == 2
    assert not models
