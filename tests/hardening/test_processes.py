"""A model fitted or loaded in one process answers in others, whatever started them and whoever uses threads."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hardening import serving
from hardening.serving import MODELS, answers, answers_of_threads, fitted

import wald
from wald import _core

#: Seconds after which a child is said to hang.
PATIENCE = 120

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
forks = pytest.mark.skipif(not hasattr(os, "fork") or sys.platform == "darwin", reason="needs a safe fork")
METHODS = [
    pytest.param("fork", marks=forks),
    "spawn",
    pytest.param(
        "forkserver",
        marks=pytest.mark.skipif(
            "forkserver" not in multiprocessing.get_all_start_methods(), reason="this system has no forkserver"
        ),
    ),
]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = _core.get_num_threads()
    yield
    _core.set_num_threads(before)


def received(context: Any, target: Callable[..., None], *args: Any) -> Any:
    """What a child sends; fails if it hangs or dies."""
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=target, args=(sender, *args))
    child.start()
    sender.close()
    try:
        assert receiver.poll(PATIENCE), "the child hangs"
        found = receiver.recv()
        child.join(PATIENCE)
        assert child.exitcode == 0
        return found
    finally:
        child.kill()
        child.join()


@contextlib.contextmanager
def busy(call: Callable[[], object], n: int = 2) -> Iterator[None]:
    """Threads of this process make a call again and again."""
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            call()

    threads = [threading.Thread(target=work) for _ in range(n)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_child_answers_as_its_parent(method: str) -> None:
    context = multiprocessing.get_context(method)
    models = [fitted(name) for name in MODELS]
    expected = [answers(fast) for fast in models]  # the engine of the parent has its threads now
    assert [answers_of_threads(fast) for fast in models] == [[each] * 4 for each in expected]
    assert received(context, serving.in_child, pickle.dumps(models)) == [[each] * 5 for each in expected]
    assert [answers(fast) for fast in models] == expected


@forks
@pytest.mark.parametrize("name", MODELS)
def test_a_fork_of_a_busy_parent(name: str) -> None:
    """The child answers although threads of the parent were in the engine when it forked."""
    fast = fitted(name)
    expected, packed = answers(fast), pickle.dumps([fast])
    context = multiprocessing.get_context("fork")
    with busy(lambda: answers(fast)):
        for _ in range(4):
            assert received(context, serving.in_child, packed) == [[expected] * 5]
    assert answers(fast) == expected


@pytest.mark.slow
@pytest.mark.skipif("forkserver" not in multiprocessing.get_all_start_methods(), reason="this system has no forkserver")
def test_a_forkserver_that_has_used_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WALD_TEST_PRELOAD", "kernel")
    expected = answers(fitted("kernel"))
    context = multiprocessing.get_context("forkserver")
    from multiprocessing import forkserver

    server = forkserver.ForkServer()  # a fresh one, which imports the module
    server.set_forkserver_preload(["hardening.serving"])
    monkeypatch.setattr(forkserver, "_forkserver", server)
    for name in ("connect_to_new_process", "ensure_running", "get_inherited_fds"):
        monkeypatch.setattr(forkserver, name, getattr(server, name))
    try:
        for _ in range(2):
            prepared, *found = received(context, serving.in_prepared_child, "kernel")
            assert prepared == 1  # the child did not fit it anew
            assert found == [expected] * 5
    finally:
        server._stop()


def _worker(fast: Any, expected: Any) -> int:
    """Start a worker, as a server does that has loaded the application first; its exit code tells what it found."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        signal.alarm(PATIENCE)
        right = answers_of_threads(fast) == [expected] * 4
        grandchild = os.fork()  # a worker may fork, too
        if grandchild == 0:
            os._exit(0 if answers(fast) == expected else 2)
        code = 0 if right and os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0 else 3
    finally:
        os._exit(code)


@forks
@pytest.mark.filterwarnings("ignore:The file holds the terms:UserWarning")  # the test has the estimator
@pytest.mark.parametrize("name", MODELS)
def test_workers_of_a_server_that_loaded_the_model(name: str, tmp_path: Any) -> None:
    """The server loads and warms up, forks its workers, and replaces those that end; workers use threads."""
    path = tmp_path / "model.wald"
    wald.save(fitted(name), path)
    fast = wald.load(path, estimator=fitted(name).estimator_).set_params(n_jobs=serving.THREADS)
    expected = answers(fast)
    assert expected == answers(fitted(name))
    for _ in range(2):
        workers = [_worker(fast, expected) for _ in range(3)]
        assert answers(fast) == expected
        assert [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers] == [0] * 3


@forks
@pytest.mark.long
def test_many_forks_of_a_busy_parent() -> None:
    fast = fitted("kernel")
    expected = answers(fast)
    until = time.monotonic() + 60
    with busy(lambda: answers(fast), 4):
        while time.monotonic() < until:
            workers = [_worker(fast, expected) for _ in range(4)]
            assert [os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1]) for worker in workers] == [0] * 4
