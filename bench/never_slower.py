"""The models of the other settings at 1, 100 and 10 000 rows, with the same number of threads as the wrapped model."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from wald import EarlyExitClassifier

from .models import BINARY_TRAIN, MULTICLASS_TRAIN, PAIRS, binary_svc, digits, linear, multiclass_svc, narrow, wrap
from .peers import THREADS, with_threads
from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "Linear models and SVCs, cost='time', C-ordered arrays, as many threads as the wrapped model"
ROWS = (1, 100, 10_000)
MOST_BATCHES = 50
#: Columns of made-up rows, which are narrower than pixels.
COLUMNS = (10, 100)
#: A plan that evaluates everything may run the wrapped linear model's own code, so that its speed is 1. To see this
#: despite the noise, linear models take MORE_ROUNDS times as many rounds, with turns of SHORT_TURN seconds.
MORE_ROUNDS, SHORT_TURN = 15, 0.02


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    data = digits()
    figures = []
    pixels = [*(linear(*pair) for pair in PAIRS), linear(None, None)]
    for case in (*pixels, *map(narrow, COLUMNS), narrow(30, scaled=True)):
        figures += _compare(f"logistic, {case.name}", case.model, wrap(case.model, case.X), case.X_test, how)
    for name, svc, trained in (
        ("SVC, 8 against the rest", binary_svc(), BINARY_TRAIN),
        ("SVC, ten digits", multiclass_svc(), MULTICLASS_TRAIN),
    ):
        figures += _compare(name, svc, wrap(svc, data.X[trained:]), data.X_test, how)
    return figures


def _compare(name: str, model: Any, fast: EarlyExitClassifier, X: NDArray[np.floating[Any]], how: Run) -> list[Figure]:
    figures = []
    plan = "evaluates everything" if fast.plan_.evaluate_all else "exits early"
    their_threads = (1,) if isinstance(model, SVC) else THREADS  # libsvm has one thread
    for n_rows in ROWS:
        if how.quick and n_rows > 1000 and isinstance(model, SVC):
            continue
        batches = _batches(X, n_rows)
        few = isinstance(model, SVC) or how.quick
        t = measure(
            {f"model {n}": _cycling(model, batches, n) for n in their_threads}
            | {f"ours {n}": _cycling(fast, batches, n) for n in THREADS},
            *((how.repeats,) if few else (MORE_ROUNDS * how.repeats, SHORT_TURN)),
        )
        for n in THREADS:
            ours, theirs = t[f"ours {n}"].median, t[f"model {min(n, max(their_threads))}"].median
            figures.append(
                Figure(
                    f"speed, {name}, {n_rows} row{'s' * (n_rows > 1)}, {n} thread{'s' * (n > 1)}",
                    theirs / ours,
                    "x",
                    "the wrapped model",
                    f"{plan}; {1e6 * ours:.4g} us against {1e6 * theirs:.4g} us",
                )
            )
    return figures


def _batches(X: NDArray[np.float32], n_rows: int) -> list[NDArray[np.float32]]:
    """Make batches for successive calls of both sides, so that the times do not depend on a few rows."""
    if n_rows > len(X) // 2:
        return [np.resize(X, (n_rows, X.shape[1]))]
    return [X[i : i + n_rows] for i in range(0, min(len(X) - n_rows, MOST_BATCHES * n_rows), n_rows)]


def _cycling(model: Any, batches: list[NDArray[np.float32]], threads: int) -> Task:
    if isinstance(model, EarlyExitClassifier):
        model = with_threads(model, threads)
    rows = cycle(batches)
    return Task(lambda: model.predict(next(rows)), threads)
