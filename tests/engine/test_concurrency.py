"""Threads that share an engine, and processes that fork."""

from __future__ import annotations

import contextlib
import hashlib
import multiprocessing
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision

from wald import _core

U = 2.0**-53


@pytest.fixture
def busy(four_threads):
    """An engine, rows, and its answers on one thread."""
    rng = np.random.default_rng(0)
    model = cases.machine(rng, d=20, n=200)
    engine = cases.plan(rng, model, Decision()).engine(model.pack(True))
    X = cases.rows(rng, 600, 20)
    return engine, X, cases.bits(engine.predict(_core.Rows.dense(X), 4, "full", U, 1))


def test_many_callers(busy):
    engine, X, expected = busy

    def call(i):
        return cases.bits(engine.predict(_core.Rows.dense(X), 4, "full", U, 1 + i % 4)) == expected

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(call, range(120)))


def test_one_rows_object_for_many_callers(busy):
    engine, X, expected = busy
    rows = _core.Rows.dense(X)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda i: engine.predict(rows, 4, "full", U, 2), range(60)))
    assert all(cases.bits(answer) == expected for answer in answers)


def test_a_limit_that_moves(busy):
    engine, X, expected = busy
    with ThreadPoolExecutor(1) as pool:
        moving = pool.submit(lambda: [_core.set_num_threads(1 + i % 4) for i in range(20000)])
        while not moving.done():
            assert cases.bits(engine.predict(_core.Rows.dense(X), 4, "full", U, 4)) == expected


def _processors_of_threads():
    """The processors on which each thread of this process may run."""
    allowed = {}
    for thread in map(int, os.listdir("/proc/self/task")):
        with contextlib.suppress(ProcessLookupError):  # it has ended
            allowed[thread] = os.sched_getaffinity(thread)
    return allowed


def _allow(allowed):
    for thread, processors in allowed.items():
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(thread, processors)


@pytest.mark.skipif(sys.platform != "linux", reason="workers are moved, and seen to be, on Linux only")
@pytest.mark.parametrize("anywhere", [False, True])
def test_workers_may_run_where_they_could_before(busy, anywhere):
    engine, X, _ = busy
    rows = _core.Rows.dense(np.tile(X, (40, 1)))  # milliseconds
    stop = threading.Event()

    def occupy(processor):
        os.sched_setaffinity(0, {processor})
        while not stop.is_set():
            hashlib.sha256(bytes(1 << 20))

    expected = cases.bits(engine.predict(rows, 4, "full", U, 1))
    assert cases.bits(engine.predict(rows, 4, "full", U, 4)) == expected  # the threads are there now
    before = _processors_of_threads()
    everywhere = os.sched_getaffinity(0)
    caller = {min(everywhere)}
    try:
        _allow(dict.fromkeys(before, everywhere if anywhere else caller) | {threading.get_native_id(): caller})
        given = _processors_of_threads()
        with ThreadPoolExecutor(1) as neighbour:  # so that workers find no better place than behind their caller
            neighbour.submit(occupy, max(everywhere))
            for _ in range(50):
                assert cases.bits(engine.predict(rows, 4, "full", U, 4)) == expected
            stop.set()
        after = _processors_of_threads()
        assert {t: after[t] for t in given if t in after} == {t: given[t] for t in given if t in after}
    finally:
        stop.set()
        _allow(before)


def test_the_limit():
    before = _core.get_num_threads()
    try:
        _core.set_num_threads(3)
        assert _core.get_num_threads() == 3
        _core.set_num_threads(0)
        assert _core.get_num_threads() == 1
        _core.set_num_threads(-5)
        assert _core.get_num_threads() == 1
    finally:
        _core.set_num_threads(before)


def _in_child(engine, X, connection):
    answer = engine.predict(_core.Rows.dense(X), 4, "full", U, 2)
    again = engine.predict(_core.Rows.dense(X), 4, "full", U, 4)
    connection.send((cases.bits(answer), cases.bits(again)))


@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs a safe fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_threads_of_its_own(busy):
    engine, X, expected = busy
    # the parent has its threads already
    assert cases.bits(engine.predict(_core.Rows.dense(X), 4, "full", U, 4)) == expected
    context = multiprocessing.get_context("fork")
    for _ in range(3):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_in_child, args=(engine, X, sender))
        child.start()
        try:
            assert receiver.poll(20), "the child hangs"
            answer, again = receiver.recv()
        finally:
            child.join(5)
            child.kill()
        assert answer == again  # hashes of bytes are the same in a forked child
        assert answer == expected
    assert cases.bits(engine.predict(_core.Rows.dense(X), 4, "full", U, 4)) == expected
