"""Waiting until other threads are at rest, before something is timed."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from wald.plan import timing
from wald.plan.timing import wait_for_rest


class Clocks:
    """Of a process whose other threads run until a moment, and sleep after that."""

    def __init__(self, busy_until):
        self.now, self.used, self.busy_until = 0.0, 0.0, busy_until

    def sleep(self, seconds):
        self.used += max(0.0, min(seconds, self.busy_until - self.now))
        self.now += seconds

    def perf_counter(self):
        return self.now

    def process_time(self):
        return self.used


@pytest.mark.parametrize(("busy_until", "waited"), [(0.0, 0.02), (0.1, 0.12), (10.0, 0.26)])
def test_waiting_for_rest_ends_when_others_do_or_when_told(monkeypatch, busy_until, waited):
    clocks = Clocks(busy_until)
    monkeypatch.setattr(timing, "time", clocks)
    wait_for_rest(at_most=0.25)
    assert clocks.now == pytest.approx(waited, abs=0.021)


def test_waiting_for_rest_sees_threads():
    began = time.perf_counter()
    wait_for_rest(at_most=60.0)
    assert time.perf_counter() - began < 30.0
    stop = threading.Event()

    def occupy():
        while not stop.is_set():
            pass

    with ThreadPoolExecutor(1) as other:
        other.submit(occupy)
        began = time.perf_counter()
        wait_for_rest(at_most=0.2)
        stop.set()
    assert time.perf_counter() - began >= 0.2
