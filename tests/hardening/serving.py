"""Models that several threads and processes use, and what they answer; also loaded by a forkserver in advance."""

from __future__ import annotations

import os
import pickle
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from wald import EarlyExitClassifier, Planner, _core

MODELS: dict[str, Callable[[], Any]] = {
    "linear": lambda: LogisticRegression(),
    "kernel": lambda: SVC(gamma=0.05),
    "trees": lambda: HistGradientBoostingClassifier(max_iter=20, max_leaf_nodes=7, early_stopping=False),
}
#: Threads of the engine in every test, whatever the machine has.
THREADS = 4


@cache
def rows() -> tuple[Any, Any]:
    """Rows of 12 features, and their classes."""
    return make_classification(3000, 12, n_informative=8, class_sep=1.2, random_state=0)


@cache
def fitted(name: str) -> EarlyExitClassifier:
    """A classifier of this kind; the same in every process."""
    X, y = rows()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return EarlyExitClassifier(
            FrozenEstimator(MODELS[name]().fit(X[:300], y[:300])),
            risk=0.05,
            planner=Planner(cost="units"),
            n_jobs=THREADS,
            random_state=0,
        ).fit(X[300:2300])


def answers(fast: EarlyExitClassifier) -> tuple[bytes, bytes, list[int]]:
    """Labels and costs of all rows by several threads of the engine, and some labels one by one."""
    _core.set_num_threads(THREADS)
    X, _ = rows()
    labels, cost = fast.predict(X, return_cost=True)
    return labels.tobytes(), cost.tobytes(), [int(fast.predict_one(row)) for row in X[:20]]


def answers_of_threads(fast: EarlyExitClassifier, n: int = 4) -> list[Any]:
    """What n threads of Python are answered at once."""
    gate = threading.Barrier(n)

    def call(_: int) -> Any:
        gate.wait(60)
        return answers(fast)

    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(call, range(n)))


def in_child(connection: Any, packed: bytes) -> None:
    """Send what the models answer in this process, to one thread and to several."""
    connection.send([[answers(fast), *answers_of_threads(fast)] for fast in pickle.loads(packed)])
    connection.close()


def in_prepared_child(connection: Any, name: str) -> None:
    """Send what the model of the forkserver answers; it was fitted before the fork."""
    connection.send([fitted.cache_info().currsize, answers(fitted(name)), *answers_of_threads(fitted(name))])
    connection.close()


if os.environ.get("WALD_TEST_PRELOAD"):  # in the forkserver; its children find the model as it left it
    answers(fitted(os.environ["WALD_TEST_PRELOAD"]))
