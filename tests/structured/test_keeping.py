"""How much of what extractors gave is kept: in memory, in a file, and across forks."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from structured.kept_cases import OTHERS, WAYS, Service, X, Y, model_of

from wald import Calls
from wald.structured import (
    BudgetedPredictor,
    keep_features,
)
from wald.structured.kept import Kept
from wald.structured.policies import OneShotPolicy


@pytest.fixture
def limits() -> Iterator[None]:
    before = keep_features()
    yield
    keep_features(memory=before.memory, disk=before.disk)


@pytest.mark.usefixtures("limits")
def test_the_oldest_are_forgotten() -> None:
    keep_features(memory=10_000, disk=0)
    rows = Kept()
    for i in range(100):
        rows.put([i], [np.zeros(10, dtype=np.float32)])
    assert 10 < len(rows) < 100
    assert rows.get(99) is not None
    assert rows.get(0) is None
    rows.put([1], [b"a row"])
    assert rows.get(1) == b"a row"
    rows.forget()
    assert len(rows) == 0
    keep_features(memory=1000)
    model = model_of(Service()).fit(X, Y)
    assert model.predict(X) == model_of(Service()).fit(X, Y).predict(X)


@pytest.mark.usefixtures("limits")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("container", [list, np.array, sparse.csr_matrix])
def test_what_is_too_much_for_memory_goes_to_a_file(way: str, container: Any) -> None:
    service = Service()

    def ask(words: list[str]) -> Any:
        return container(service(words))

    async def later(words: list[str]) -> Any:
        return ask(words)

    extract = {"function": ask, "coroutine function": later}.get(way, Calls(ask, batch_size=5))
    keep_features(memory=0)
    model = model_of(extract).fit(X, Y)
    assert not model.feature_groups[1].kept._rows
    policy = OneShotPolicy(target="wrong", cv=2, random_state=0).fit(model, X, Y)
    fast = BudgetedPredictor(model, policy, budget=5.0).fit(OTHERS)
    answers = fast.predict(X + OTHERS)
    assert service.most == 1
    keep_features(memory=2**28)
    other = model_of(Service()).fit(X, Y)
    policy = OneShotPolicy(target="wrong", cv=2, random_state=0).fit(other, X, Y)
    assert BudgetedPredictor(other, policy, budget=5.0).fit(OTHERS).predict(X + OTHERS) == answers
    model.forget_features()
    assert len(model.feature_groups[1].kept) == 0
    model.predict(X)
    assert service.most == 2


@pytest.mark.usefixtures("limits")
def test_a_disk_without_room_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    keep_features(memory=0, disk=100)
    rows = Kept()
    rows.put(range(3), [np.full(10, i, dtype=np.float32) for i in range(3)])
    assert [rows.get(i) is not None for i in range(3)] == [False, False, True]
    np.testing.assert_array_equal(rows.get(2), np.full(10, 2, dtype=np.float32))
    keep_features(disk=2**30)

    def full(*given: Any) -> Any:
        raise OSError("No space left on device")

    monkeypatch.setattr("wald.structured.keeping.RowFile.add", full)
    rows.put([7], [b"a row"])
    assert rows.get(7) is None
    monkeypatch.setattr("wald.structured.keeping.RowFile.read", full)
    assert rows.get(2) is None
    rows.put([2], [b"again"])  # where the file cannot be read, the part can be kept anew
    assert len(rows) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
@pytest.mark.usefixtures("limits")
def test_forks_read_the_file_and_write_their_own() -> None:
    keep_features(memory=0)
    rows = Kept()
    rows.put(["before"], [b"before"])
    child = os.fork()
    if child == 0:  # the test's process must not end here in another way
        rows.put(["child"], [b"child"])
        os._exit(0 if (rows.get("before"), rows.get("child")) == (b"before", b"child") else 1)
    rows.put(["parent"], [b"parent"])
    assert os.waitpid(child, 0)[1] == 0
    assert [rows.get(key) for key in ("before", "parent", "child")] == [b"before", b"parent", None]


@pytest.mark.parametrize("limit", [{"memory": -1}, {"disk": 0.5}, {"disk": "1 GB"}])
def test_limits_are_whole_numbers(limit: dict[str, Any]) -> None:
    before = keep_features()
    with pytest.raises(ValueError, match=rf"'{next(iter(limit))}' parameter of keep_features must be an integer"):
        keep_features(**limit)
    assert keep_features() == before


def test_a_full_file_begins_anew_and_forgets_the_oldest() -> None:
    before = keep_features(memory=0, disk=3 * 40)
    try:
        kept = Kept()
        for i in range(8):
            kept.put([i], [np.full(10, i, dtype=np.float32)])
        assert [i for i in range(8) if kept.get(i) is not None] == [6, 7]
        assert kept.get(7).tolist() == [7.0] * 10
        kept.put(["long"], [np.zeros(31, dtype=np.float32)])
        assert kept.get("long") is None
        assert kept.get(7) is not None
    finally:
        keep_features(memory=before.memory, disk=before.disk)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a fork")
def test_a_fork_waits_for_no_lock_of_a_thread_that_it_does_not_have() -> None:
    kept = Kept()
    with kept._lock, kept.claims._lock:
        child = os.fork()
        if child == 0:
            signal.alarm(5)
            kept.put(["a"], [np.zeros(2, dtype=np.float32)])
            claim, mine, _ = kept.claims.take(["b"])
            kept.claims.end(claim, mine)
            os._exit(0 if kept.get("a") is not None and mine == ["b"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
