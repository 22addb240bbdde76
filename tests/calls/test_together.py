"""Several functions asked at the same time."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from wald.calls import Asked, CallError, Calls, ask_together

ROWS = np.array([0, 2, 3])


def same(rows):
    return rows


def asked(*functions, **given):
    return [Asked(f if isinstance(f, Calls) else Calls(f, **given), 5, name=f"f{k}") for k, f in enumerate(functions)]


def meeting(n):
    """Functions of which none ends before all have begun, in the order: coroutine, one with threads, plain one."""
    barrier = threading.Barrier(n)

    async def waits(rows):
        with ThreadPoolExecutor(1) as pool:
            await asyncio.wrap_future(pool.submit(barrier.wait, 10.0))
        return rows * 2

    def meets(rows):
        barrier.wait(10.0)
        return rows * 3

    return waits, Calls(meets, timeout=20.0), meets


def test_at_the_same_time():
    first, second, plain = meeting(4)
    group = asked(first, second, plain, first)
    assert ask_together(group, ROWS, same).all()
    assert [each.values[ROWS].tolist() for each in group] == [[0, 4, 6], [0, 6, 9], [0, 6, 9], [0, 4, 6]]
    assert [each.counts.rows for each in group] == [3, 3, 3, 3]
    # nothing is asked twice
    assert ask_together(group, ROWS, same).all()
    assert [each.counts.calls for each in group] == [1, 1, 1, 1]
    assert ask_together([], ROWS, same).tolist() == [True] * 3


def test_inside_of_a_running_loop():
    async def notebook():
        first, second, _ = meeting(2)
        return ask_together(asked(first, second), ROWS, same)

    assert asyncio.run(notebook()).all()


def test_plain_functions_and_those_with_a_cache_stay_in_the_callers_thread():
    here = []

    class Cache(dict):
        def get(self, *given):
            here.append(threading.get_ident())
            return super().get(*given)

    async def cached(rows):
        return rows

    def plain(rows):
        here.append(threading.get_ident())
        return rows

    both = [asked(cached, name=name, cache=Cache(), key=str)[0] for name in ("one", "two")]
    assert ask_together([*both, *asked(plain, plain)], ROWS, same).all()
    assert set(here) == {threading.get_ident()}
    assert len(here) == 8


def test_the_first_that_fails_is_named_and_the_others_end():
    async def answers(rows):
        return rows

    async def fails(rows):
        raise ConnectionError("no route")

    def refuses(rows):
        raise ConnectionError("closed")

    group = asked(answers, fails, answers)
    with pytest.raises(CallError, match=r"'f1' failed for row 0, 2, 3: ConnectionError: no route"):
        ask_together(group, ROWS, same)
    assert [each.counts.rows for each in group] == [3, 0, 3]
    group = asked(refuses, fails, answers, refuses)
    with pytest.raises(CallError, match="'f0' failed"):
        ask_together(group, ROWS, same)
    assert [each.counts.calls for each in group] == [1, 1, 1, 0]  # of plain functions none is called after a failure


def test_a_deadline():
    async def slow(rows):
        await asyncio.sleep(5.0)
        return rows

    async def quick(rows):
        return rows

    assert not ask_together(asked(slow, quick), ROWS, same, deadline=0.05).any()


def test_an_interruption_ends_the_calls():
    begun, ended = threading.Event(), threading.Event()

    async def forever(rows):
        begun.set()
        try:
            await asyncio.sleep(60.0)
        finally:
            ended.set()

    def interrupted(rows):
        assert begun.wait(5.0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask_together(asked(forever, interrupted), ROWS, same)
    assert ended.wait(5.0)
