"""Processes end cleanly while the engine computes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import joblib
import numpy as np
import pytest
from busy import CALLS, PATIENCE, kernel
from sklearn.svm import SVC

from wald import EarlyExitClassifier

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs a safe fork"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

BUSY = Path(__file__).with_name("busy.py")
EXPECTED = {"exception": 1, "SIGTERM": -signal.SIGTERM}


def _endings(call: str, ending: str, n: int) -> list[int]:
    """Exit codes of n children, and then of their parent."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(BUSY), call, ending, str(n)],
        capture_output=True,
        text=True,
        timeout=60 + n * PATIENCE,
        check=False,
    )
    assert done.stderr == "" or done.returncode == 0, done.stderr
    return [*map(int, done.stdout.split()), done.returncode]


@pytest.mark.slow
@pytest.mark.parametrize("call", list(CALLS)[:2])
def test_daemon_threads_at_work(call):
    assert _endings(call, "return", 2) == [0] * 3


@pytest.mark.long
@pytest.mark.parametrize("call", CALLS)
def test_daemon_threads_at_work_again_and_again(call):
    assert _endings(call, "return", 20) == [0] * 21


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending",
    [
        "sys.exit",
        "os._exit",
        "exception",
        "atexit",
        "pool",
        "SIGTERM",
        "SIGTERM handled",
        pytest.param("parent busy", marks=pytest.mark.long),
    ],
)
def test_every_ending(ending):
    assert _endings("kernel", ending, 2) == [EXPECTED.get(ending, 0)] * 2 + [0]


@pytest.mark.long
@pytest.mark.parametrize("ending", ["SIGTERM handled", "parent busy"])
@pytest.mark.parametrize("call", ["chain", "parser"])
def test_other_calls_end_too(call, ending):
    assert _endings(call, ending, 2) == [0] * 3


@pytest.mark.long
def test_no_forks():
    """The process that imported wald ends, without a fork."""
    program = (
        "import threading, time, busy\n"
        "call = busy.kernel()\n"
        "threading.Thread(target=busy._for_ever, args=(call,), daemon=True).start()\n"
        "time.sleep(0.1)\n"
    )
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            cwd=BUSY.parent,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")


def _in_child(call, expected):
    threading.Thread(target=call, daemon=True).start()
    assert np.array_equal(call(), expected)


def test_multiprocessing():
    call = kernel()
    expected = call()
    children = [multiprocessing.get_context("fork").Process(target=_in_child, args=(call, expected)) for _ in range(4)]
    for child in children:
        child.start()
    for child in children:
        child.join(PATIENCE)
        assert child.exitcode == 0
        child.close()


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["loky", "multiprocessing"])
def test_joblib(backend):
    X = np.random.default_rng(0).standard_normal((8000, 20))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    fast = EarlyExitClassifier(SVC(), risk=0.02, n_jobs=2).fit(X[300:], y[300:])
    expected = fast.predict(X)  # the parent has worker threads
    with joblib.parallel_config(backend, n_jobs=2):
        answers = joblib.Parallel()(joblib.delayed(fast.predict)(X) for _ in range(8))
    assert all(np.array_equal(answer, expected) for answer in answers)
