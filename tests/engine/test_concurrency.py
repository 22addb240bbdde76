"""Threads that share an engine, and processes that fork."""

from __future__ import annotations

import multiprocessing
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from engine import cases
from engine.reference import Decision

from wald import _core

U = 2.0**-53


@pytest.fixture
def busy(four_threads):
    """An engine, rows, and what it answers on one thread."""
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
