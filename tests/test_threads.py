"""n_jobs means what it means in joblib, and threadpoolctl reaches the engine."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import joblib
import pytest
import threadpoolctl

from wald import _core, _threads
from wald._threads import effective_threads, wait_for_rest


@pytest.fixture
def four_threads():
    """An engine that may use four threads, on a machine of any size."""
    before = _core.get_num_threads()
    _core.set_num_threads(4)
    yield
    _core.set_num_threads(before)


@pytest.mark.usefixtures("four_threads")
class TestEffectiveThreads:
    def test_none_is_one_thread(self):
        assert effective_threads(None) == 1

    def test_none_asks_parallel_config(self):
        with joblib.parallel_config(n_jobs=3):
            assert effective_threads(None) == 3
            assert effective_threads(2) == 2

    def test_negative_counts_from_all_processors(self):
        processors = joblib.cpu_count()
        assert effective_threads(-1) == min(processors, 4)
        assert effective_threads(-processors - 5) == 1

    def test_engine_limit_caps(self):
        assert effective_threads(100) == 4
        with threadpoolctl.threadpool_limits(2, user_api="wald"):
            assert effective_threads(100) == 2

    @pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True])
    def test_nonsense_is_refused(self, n_jobs):
        with pytest.raises(ValueError, match="n_jobs must be None or a non-zero integer"):
            effective_threads(n_jobs)

    def test_worker_keeps_to_its_share(self, monkeypatch):
        def in_worker(n_jobs):
            return joblib.Parallel(n_jobs=2, backend="threading")(
                joblib.delayed(effective_threads)(n_jobs) for _ in range(2)
            )

        monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        assert in_worker(None) == [1, 1]
        assert in_worker(3) == [3, 3]
        monkeypatch.setenv("OMP_NUM_THREADS", "2")
        assert in_worker(3) == [2, 2]
        monkeypatch.setenv("OMP_NUM_THREADS", "2,1")  # OpenMP's form for nested regions
        assert in_worker(3) == [3, 3]
        assert effective_threads(3) == 3  # not in a worker

    def test_inner_max_num_threads(self):
        with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
            assert joblib.Parallel()(joblib.delayed(effective_threads)(n) for n in (None, 3)) == [1, 1]


def engine_info():
    return [info for info in threadpoolctl.threadpool_info() if info["user_api"] == "wald"]


def test_threadpoolctl_sees_exactly_one_engine():
    (info,) = engine_info()
    assert info["filepath"].endswith(("so", "pyd"))
    assert info["num_threads"] == _core.get_num_threads()
    assert info["version"]


@pytest.mark.parametrize("user_api", [None, "wald"])
def test_threadpoolctl_limits_and_restores(user_api, four_threads):
    with threadpoolctl.threadpool_limits(1, user_api=user_api):
        assert _core.get_num_threads() == 1
        assert engine_info()[0]["num_threads"] == 1
    assert _core.get_num_threads() == 4


def test_threadpoolctl_leaves_the_engine_alone_when_another_is_meant(four_threads):
    with threadpoolctl.threadpool_limits(1, user_api="blas"):
        assert _core.get_num_threads() == 4


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
    monkeypatch.setattr(_threads, "time", clocks)
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
