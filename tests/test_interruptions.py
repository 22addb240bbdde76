"""Signals are handled while the engine computes, and leave no partial changes."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

import busy
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from wald import EarlyExitClassifier
from wald.online import AttentivePerceptron

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals that are sent to a thread"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
]

#: Limit in seconds, for a machine that is busy with other tests.
SOON = 0.5


class Interruption:
    """A Ctrl-C that is sent some time after the start, and the time until it was handled."""

    def __init__(self, after: float) -> None:
        self.sent = 0.0
        self._main = threading.get_ident()
        self._timer = threading.Timer(after, self._send)

    def _send(self) -> None:
        self.sent = time.perf_counter()
        signal.pthread_kill(self._main, signal.SIGINT)

    def served(self, call) -> float:
        self._timer.start()
        try:
            end = time.perf_counter() + 60
            while time.perf_counter() < end:  # the signal may come when a call has just ended: then into the next one
                call()
        except KeyboardInterrupt:
            return time.perf_counter() - self.sent
        finally:
            self._timer.join()
        return pytest.fail("no call was interrupted")


def _median_wait(call, after: float = 0.25, repeats: int = 5) -> float:
    return statistics.median(Interruption(after + 0.013 * i).served(call) for i in range(repeats))


@pytest.fixture(scope="module")
def machine():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 20))
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    return EarlyExitClassifier(SVC(), risk=0.02, random_state=0).fit(X[1000:], y[1000:]), X


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_predict(machine, n_jobs):
    fast, X = machine
    fast.n_jobs = n_jobs
    many = np.tile(X, (200, 1))
    expected = np.tile(fast.predict(X), 200)
    assert _median_wait(lambda: fast.predict(many)) < SOON
    assert np.array_equal(fast.predict(many[: 10 * len(X)]), expected[: 10 * len(X)])
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(0.2)
    assert time.process_time() - before < 0.1  # no worker went on


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n"), [("linear", 400), ("online", 20_000), ("boosting", 20_000), ("chain_fit", 20), ("parser_fit", 2000)]
)
def test_other_calls(name, n):
    assert _median_wait(busy.CALLS[name](n), 0.4, 3) < SOON


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n"), [("chain", 200), ("parser", 2000)])
def test_calls_over_and_over(name, n):
    """The signal may come during any of many short calls."""
    call = busy.CALLS[name](n)
    assert _median_wait(lambda: busy._for_ever(call), 0.4, 3) < SOON


def test_fit_leaves_an_object_as_it_was():
    X, y = busy._rows(20_000)
    learner = AttentivePerceptron(max_iter=2000, tol=None, random_state=0)
    Interruption(0.3).served(lambda: learner.fit(X, y))
    with pytest.raises(NotFittedError):
        learner.predict(X)
    learner.set_params(max_iter=2).fit(X, y)
    before = learner.predict(X)
    learner.set_params(max_iter=2000)
    Interruption(0.3).served(lambda: learner.fit(X, 1 - y))
    assert np.array_equal(learner.predict(X), before)

    chains, labels = busy._chains(20)
    model = busy._chain(learner="svm", max_iter=2000)
    Interruption(0.6).served(lambda: model.fit(chains, labels))
    assert not [name for name in vars(model) if name.endswith("_")]
    model.set_params(max_iter=1).fit(chains[:200], labels[:200])
    before = np.concatenate(model.predict(chains[:200]))
    model.set_params(max_iter=2000)
    Interruption(0.6).served(lambda: model.fit(chains, labels))
    assert np.array_equal(np.concatenate(model.predict(chains[:200])), before)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_handler_may_predict(machine, n_jobs):
    """If the handler returns, the call goes on, even if the handler used the engine."""
    fast, X = machine
    fast.n_jobs = n_jobs
    many = np.tile(X, (60, 1))
    expected = fast.predict(X)
    answers = []
    before = signal.signal(signal.SIGUSR1, lambda *_: answers.append(fast.predict(X)))
    try:
        timers = [
            threading.Timer(0.1 * (i + 1), signal.pthread_kill, (threading.get_ident(), signal.SIGUSR1))
            for i in range(3)
        ]
        for timer in timers:
            timer.start()
        while not answers:
            assert np.array_equal(fast.predict(many), np.tile(expected, 60))
        for timer in timers:
            timer.join()
        fast.predict(many)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(answers) >= 1
    assert all(np.array_equal(answer, expected) for answer in answers)


def test_other_threads_go_on(machine):
    """Only the call of the main thread, which gets the signal, ends."""
    fast, X = machine
    fast.n_jobs = 2
    many, answers = np.tile(X, (60, 1)), []
    other = threading.Thread(target=lambda: answers.append(fast.predict(many)))
    other.start()
    Interruption(0.2).served(lambda: busy._for_ever(lambda: fast.predict(many)))
    other.join()
    assert np.array_equal(answers[0], np.tile(fast.predict(X), 60))


def run_program(code: str) -> tuple[int, str, str]:
    """Run a program that may import ``busy``; return its exit code, stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=Path(busy.__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


FORKING = """
import os, signal, sys, threading
import busy
import numpy as np

call = busy.kernel(200)
expected = call()
main, children = os.getpid(), []

def fork(*_):
    child = os.fork()
    if child:
        children.append(child)

signal.signal(signal.SIGUSR1, fork)
threading.Timer(0.2, os.kill, (main, signal.SIGUSR1)).start()
while not children:
    try:
        answer = call()
    except RuntimeError as error:
        assert os.getpid() != main and "forked" in str(error)
        assert np.array_equal(call(), expected)  # with threads of its own
        os._exit(7)
    if os.getpid() != main:  # forked between two calls
        os._exit(7)
    assert np.array_equal(answer, expected)
print(os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]))
"""


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs a safe fork")
def test_a_handler_may_fork():
    assert run_program(FORKING) == (0, "7\n", "")


EARLY = """
import threading
import busy
from wald.online import AttentivePerceptron

X, y = busy._rows(200)
real = threading.main_thread

def interrupted():
    threading.main_thread = real
    raise KeyboardInterrupt

threading.main_thread = interrupted  # as if Ctrl-C came while the core reads the main thread, before it computes
try:
    AttentivePerceptron(max_iter=2, tol=None).fit(X, y)
except KeyboardInterrupt:
    print("served")
assert threading.main_thread is real
AttentivePerceptron(max_iter=2, tol=None).fit(X, y)
"""


def test_a_signal_that_comes_while_the_core_prepares_is_served():
    assert run_program(EARLY) == (0, "served\n", "")
