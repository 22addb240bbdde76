"""Calls of every kind that keep the engine busy; as a program, processes that end during such calls.

``python busy.py CALL ENDING N`` forks N children, one after the other. Each starts two daemon threads that make the
call again and again, and ends a moment later. The exit codes are printed, or minus the signal's number.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner
from wald.datasets import make_chains, make_trees
from wald.online import AttentiveBoosting, AttentivePerceptron
from wald.structured import ChainClassifier, DependencyParser, FeatureGroup

#: A forked child that hangs is ended after this number of seconds.
PATIENCE = 20


def _rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 20))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)


def _early_exit(estimator, n: int) -> Callable[[], object]:
    X, y = _rows(4400)
    # By units: measured times would let the load of the machine say whether the engine answers at all.
    fast = EarlyExitClassifier(estimator, risk=0.02, planner=Planner(cost="units"), n_jobs=2, random_state=0)
    fast.fit(X[400:], y[400:])
    # Rows that scikit-learn answers may crash a process that ends, for reasons of its own: BLAS is unloaded meanwhile.
    assert not fast.plan_.evaluate_all
    many = np.tile(X[400:], (2 * n, 1))
    return lambda: fast.predict(many)


def kernel(n: int = 4) -> Callable[[], object]:
    """Early exit for a kernel machine."""
    return _early_exit(SVC(), n)


def linear(n: int = 40) -> Callable[[], object]:
    """Early exit for a linear model."""
    return _early_exit(LogisticRegression(), n)


def online(n: int = 20_000) -> Callable[[], object]:
    """An online learner's `fit`."""
    X, y = _rows(n)
    return lambda: AttentivePerceptron(max_iter=500, tol=None, random_state=0).fit(X, y)


def boosting(n: int = 20_000) -> Callable[[], object]:
    """An online booster's `fit`."""
    X, y = _rows(n)
    return lambda: AttentiveBoosting(max_iter=500, tol=None, random_state=0).fit(X, y)


def _chains(n: int):
    X, Y = make_chains(200, n_features=10, noise=1.5, random_state=0)
    return X * n, Y * n


def _half(parts):
    return parts[:, ::2]


def _chain(**parameters) -> ChainClassifier:
    groups = [FeatureGroup("half", _half, cost=1.0), FeatureGroup("all", cost=5.0)]
    return ChainClassifier(groups, random_state=0, **parameters)


def chain(n: int = 20) -> Callable[[], object]:
    """The labels of many chains."""
    X, Y = _chains(1)
    model, many = _chain(max_iter=2).fit(X, Y), X * n
    return lambda: model.predict(many)


def chain_fit(n: int = 20) -> Callable[[], object]:
    """A chain's `fit`."""
    X, Y = _chains(n)
    return lambda: _chain(learner="svm", max_iter=50).fit(X, Y)


def parser(n: int = 2000) -> Callable[[], object]:
    """The trees of many sentences."""
    bank = make_trees(n, random_state=0)
    model = DependencyParser(table_bits=16, max_iter=1, n_jobs=2, random_state=0).fit(bank[:200])
    return lambda: model.predict(bank)


def parser_fit(n: int = 2000) -> Callable[[], object]:
    """A parser's `fit`."""
    bank = make_trees(n, random_state=0)
    return lambda: DependencyParser(table_bits=16, max_iter=50, random_state=0).fit(bank)


CALLS = {f.__name__: f for f in (kernel, linear, online, boosting, chain, chain_fit, parser, parser_fit)}

FITS = ("online", "boosting", "chain_fit", "parser_fit")


def _for_ever(call: Callable[[], object]) -> None:
    while True:
        call()


def _end(call: Callable[[], object], ending: str) -> None:
    """End this process while its other threads compute."""
    if ending == "return":
        return
    if ending == "sys.exit":
        sys.exit(0)
    if ending == "os._exit":
        os._exit(0)
    if ending == "exception":
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # where the traceback goes
        raise RuntimeError("on purpose")
    if ending == "atexit":
        atexit.register(call)
        sys.exit(0)
    if ending == "pool":  # a pool's thread that exits ends nothing but its task
        with ThreadPoolExecutor(2) as threads:
            tasks = [threads.submit(lambda: (call(), sys.exit(3))) for _ in range(2)]
            assert [type(task.exception()) for task in tasks] == [SystemExit] * 2
        sys.exit(0)
    if ending == "SIGTERM":
        os.kill(os.getpid(), signal.SIGTERM)
    if ending == "SIGTERM handled":
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGTERM)).start()
        _for_ever(call)
    raise ValueError(ending)


def main(name: str, ending: str, n: int) -> None:
    """Fork children that end while the engine computes."""
    call = CALLS[name]()
    if name not in FITS:
        call()  # the parent has worker threads already
    if ending == "parent busy":  # threads of the parent are at work when it forks
        for _ in range(2):
            threading.Thread(target=_for_ever, args=(call,), daemon=True).start()
    for i in range(n):
        child = os.fork()
        if child == 0:
            signal.alarm(PATIENCE)
            if ending == "parent busy":
                call()
                sys.exit(0)
            for _ in range(2):
                threading.Thread(target=_for_ever, args=(call,), daemon=True).start()
            # A `fit` begins in NumPy, whose `unique` may abort a process that ends, for reasons of its own.
            time.sleep((0.3 if name in FITS else 0.0) + 0.01 * (1 + i % 4))
            return _end(call, ending)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), end=" ", flush=True)
    return None


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
