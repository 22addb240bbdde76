"""E: whatever is wrapped, at 1, 100 and 10 000 rows, with equal numbers of threads."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from wald import EarlyExitClassifier

from .models import BINARY_TRAIN, MULTICLASS_TRAIN, PAIRS, binary_svc, digits, linear, multiclass_svc, wrap
from .peers import THREADS, with_threads
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "E. Every model above, cost='time', C-ordered arrays: speed as a multiple of the wrapped model's own"
ROWS = (1, 100, 10_000)
MOST_BATCHES = 50
#: Linear models are left to themselves where that is best, and a ratio of 1 lies near the limit: lest noise decides, so
#: many times the turns, each of so many seconds.
MORE_TURNS, SHORT_TURN = 15, 0.02


def run(how: Run) -> list[Figure]:
    """Measure setting E."""
    data = digits()
    figures = []
    for pair in (*PAIRS, (None, None)):
        case = linear(*pair)
        figures += _compare(f"logistic, {case.name}", case.model, wrap(case.model, case.X), case.X_test, how)
    for name, svc, trained in (
        ("SVC, 8 against the rest", binary_svc(), BINARY_TRAIN),
        ("SVC, ten digits", multiclass_svc(), MULTICLASS_TRAIN),
    ):
        figures += _compare(name, svc, wrap(svc, data.X[trained:]), data.X_test, how)
    return figures


def _compare(name: str, model: Any, fast: EarlyExitClassifier, X: NDArray[np.float32], how: Run) -> list[Figure]:
    figures = []
    plan = "evaluates everything" if fast.plan_.evaluate_all else "leaves early"
    theirs = (1,) if isinstance(model, SVC) else THREADS  # libsvm has one thread
    for n_rows in ROWS:
        if how.quick and n_rows > 1000 and isinstance(model, SVC):
            continue
        batches = _batches(X, n_rows)
        few = isinstance(model, SVC) or how.quick
        t = measure(
            {f"model {n}": _in_turn(model, batches, n) for n in theirs}
            | {f"ours {n}": _in_turn(fast, batches, n) for n in THREADS},
            *((how.repeats,) if few else (MORE_TURNS * how.repeats, SHORT_TURN)),
        )
        for n in THREADS:
            mine, itself = t[f"ours {n}"].median, t[f"model {min(n, max(theirs))}"].median
            figures.append(
                Figure(
                    f"{name}, {n_rows} row{'s' * (n_rows > 1)}, {n} thread{'s' * (n > 1)}",
                    itself / mine,
                    "x",
                    at_least=0.95,
                    note=f"{plan}; {1e6 * mine:.4g} us, itself {1e6 * itself:.4g} us",
                )
            )
    return figures


def _batches(X: NDArray[np.float32], n_rows: int) -> list[NDArray[np.float32]]:
    """Other rows at every call, the same memory for everybody: an easy row or a hard one says little about rows."""
    if n_rows > len(X) // 2:
        return [np.resize(X, (n_rows, X.shape[1]))]
    return [X[i : i + n_rows] for i in range(0, min(len(X) - n_rows, MOST_BATCHES * n_rows), n_rows)]


def _in_turn(model: Any, batches: list[NDArray[np.float32]], threads: int) -> Task:
    if isinstance(model, EarlyExitClassifier):
        model = with_threads(model, threads)
    turn = cycle(batches)
    return Task(lambda: model.predict(next(turn)), threads)
