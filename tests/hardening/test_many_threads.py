"""Many threads use one model: some predict many rows, others one row, and others fit, pickle and save."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hardening.serving import MODELS, THREADS, fitted, rows
from sklearn.base import clone

from wald import _core
from wald.persistence import from_bytes, to_bytes

# Of `to_bytes`. Python's `catch_warnings` works on all threads, so that it may appear in another one's `fit`.
pytestmark = pytest.mark.filterwarnings("ignore:The file holds the terms:UserWarning")

#: Threads that predict many rows, and rows of a call.
CALLERS, CALL = 8, 5000


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = _core.get_num_threads()
    _core.set_num_threads(THREADS)
    yield
    _core.set_num_threads(before)


def tasks(fast: Any, X: Any, expected: Any) -> list[Callable[[int], None]]:
    """What the other threads do, again and again: each checks what it gets."""
    labels, cost = expected
    some, _ = rows()

    def one(i: int) -> None:
        at = 7919 * i % len(X)
        assert fast.predict_one(X[at]) == labels[at]

    def refit(_: int) -> None:
        again = clone(fast).set_params(n_jobs=1).fit(some[300:2300])
        assert np.array_equal(again.predict(X[:50]), labels[:50])

    def pickled(_: int) -> None:
        found = pickle.loads(pickle.dumps(fast)).predict(X[:200], return_cost=True)
        assert np.array_equal(found[0], labels[:200])
        assert np.array_equal(found[1], cost[:200])

    def saved(_: int) -> None:
        assert np.array_equal(from_bytes(to_bytes(fast)).predict(X[:200]), labels[:200])

    return [one, one, refit, pickled, saved]


def check_under_load(name: str, n_rows: int) -> None:
    """Check every label and cost against those of a single thread."""
    fast, (some, _) = fitted(name), rows()
    X = np.random.default_rng(0).normal(some.mean(axis=0), some.std(axis=0), size=(n_rows, some.shape[1]))
    alone = pickle.loads(pickle.dumps(fast)).set_params(n_jobs=1)
    expected = alone.predict(X, return_cost=True)
    stop, done = threading.Event(), [0] * 5

    def again_and_again(k: int, task: Callable[[int], None]) -> None:
        while not stop.is_set():
            task(done[k])
            done[k] += 1

    def predict(start: int) -> tuple[Any, Any]:
        labels, cost = fast.predict(X[start : start + CALL], return_cost=True)
        return labels, cost

    with ThreadPoolExecutor(5) as others, ThreadPoolExecutor(CALLERS) as callers:
        running = [others.submit(again_and_again, k, task) for k, task in enumerate(tasks(fast, X, expected))]
        try:
            parts = list(callers.map(predict, range(0, n_rows, CALL)))
            while min(done) == 0 and not any(each.done() for each in running):  # each of them at least once
                predict(0)
        finally:
            stop.set()
        for each in running:
            each.result()
    assert np.array_equal(np.concatenate([labels for labels, _ in parts]), expected[0])
    assert np.array_equal(np.concatenate([cost for _, cost in parts]), expected[1])
    assert min(done) > 0


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_rows_under_load(name: str) -> None:
    check_under_load(name, 40_000)


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
def test_a_million_rows_under_load(name: str) -> None:
    check_under_load(name, 1_000_000)
