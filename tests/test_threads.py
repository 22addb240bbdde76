"""n_jobs has its meaning in joblib, and threadpoolctl limits the engine."""

from __future__ import annotations

import subprocess
import sys

import joblib
import pytest
import threadpoolctl

from wald import _core
from wald.engine.threads import effective_threads


@pytest.fixture
def four_threads():
    """Let the engine use four threads on any machine."""
    before = _core.get_num_threads()
    _core.set_num_threads(4)
    yield
    _core.set_num_threads(before)


@pytest.mark.usefixtures("four_threads")
class TestEffectiveThreads:
    def test_none_is_one_thread(self):
        assert effective_threads(None) == 1

    def test_none_uses_parallel_config(self):
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

    @pytest.mark.slow
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


def test_a_daemonic_process_has_the_threads_that_are_asked_for_and_no_warnings(tmp_path):
    """joblib warns of child processes there, as in Dask's workers; wald's threads are none."""
    code = """
import warnings
from multiprocessing import Process
from wald.engine.threads import effective_threads

def work():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [effective_threads(n) for n in (None, 1, 2, -1)] == [1, 1, 2, 1]

if __name__ == "__main__":
    process = Process(target=work, daemon=True)
    process.start()
    process.join()
    raise SystemExit(process.exitcode)
"""
    (tmp_path / "daemon.py").write_text(code)
    done = subprocess.run([sys.executable, tmp_path / "daemon.py"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
