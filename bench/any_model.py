"""Models that wald cannot read, behind surrogates that it learns: nearest neighbours and a neural net on digits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier

from wald import EarlyExitClassifier
from wald.datasets import fetch_mnist
from wald.early_exit import Status

from .report import Figure
from .settings import Run
from .timing import Task, measure

TITLE = "10 digits of MNIST in float32; fit on 35 000 rows, of which a third teach the surrogates; 2 threads"
TRAIN, FIT, TEST = 20_000, 35_000, 10_000
RISKS = (0.001, 0.005, 0.01)
#: Calls of which `fit` makes a promise of 5 %, and draws of the rows that are asked.
FEW, DRAWS = 500, 5


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    X, y = fetch_mnist(subset="all", return_X_y=True)
    shuffled = np.random.default_rng(0).permutation(len(X))
    X, y = X[shuffled], y[shuffled]
    n_train, n_fit, n_test = how.rows(TRAIN, 2000), how.rows(FIT, 6000), how.rows(TEST, 1000)
    train, fit, test = slice(n_train), slice(n_train, n_train + n_fit), slice(n_train + n_fit, n_train + n_fit + n_test)
    neighbours = KNeighborsClassifier(5, n_jobs=2).fit(X[train], y[train])
    figures = []
    for risk in RISKS:
        figures += _early("neighbours", neighbours, risk, X[fit], X[test], how)
        figures.append(_against_truth("neighbours", neighbours, risk, X[fit], y[fit], X[test], y[test]))
    net = MLPClassifier((512, 512), max_iter=how.rows(15, 3), random_state=0).fit(X[train], y[train])
    figures += _early("net", net, 0.005, X[fit], X[test], how)
    return figures + _few_calls(neighbours, X[fit], X[test])


def _early(name: str, model: Any, risk: float, fit: NDArray[Any], test: NDArray[Any], how: Run) -> list[Figure]:
    """Speed, and the rows for which the model is asked."""
    fast = EarlyExitClassifier(model, risk=risk, n_jobs=2, random_state=0).fit(fit)
    answers, own = fast.predict(test, details=True), model.predict(test)
    tasks = {"ours": Task(lambda: fast.predict(test), 2), "peer": Task(lambda: model.predict(test), 2)}
    t = measure(tasks, how.repeats)
    each = {who: 1e6 * t[who].median / len(test) for who in t}
    asked = float(np.mean(answers.status == Status.FULL))
    differ = float(np.mean(answers.labels != own))
    note = f"{each['ours']:.4g} us a row; peer {each['peer']:.4g} us"
    title = f"{name}, {100 * risk:g} %"
    return [
        Figure(f"{title}: speed", each["peer"] / each["ours"], "x", "predict", note),
        Figure(f"{title}: rows for which it is asked", 100 * asked, "%", note=f"{100 * differ:.2g} % of labels differ"),
    ]


def _against_truth(
    name: str, model: Any, risk: float, fit: NDArray[Any], y_fit: NDArray[Any], test: NDArray[Any], y: NDArray[Any]
) -> Figure:
    """Rows for which the model is asked where the promise is about true labels."""
    fast = EarlyExitClassifier(FrozenEstimator(model), risk=risk, reference="labels", n_jobs=2, random_state=0)
    answers, own = fast.fit(fit, y_fit).predict(test, details=True), model.predict(test)
    asked, more = np.mean(answers.status == Status.FULL), np.mean(answers.labels != y) - np.mean(own != y)
    note = f"{100 * more:+.2g} % of labels wrong; the model alone: {100 * np.mean(own != y):.3g} %"
    return Figure(f"{name}, {100 * risk:g} % of true labels: rows for which it is asked", 100 * asked, "%", note=note)


def _few_calls(model: Any, fit: NDArray[Any], test: NDArray[Any]) -> list[Figure]:
    """Rows asked where `fit` may ask about few, on average over draws."""
    own, asked, differ, calls = model.predict(test), [], [], []
    for seed in range(DRAWS):
        fast = EarlyExitClassifier(model, risk=0.05, n_jobs=2, random_state=seed).fit(fit, max_calls=FEW)
        answers = fast.predict(test, details=True)
        asked.append(float(np.mean(answers.status == Status.FULL)))
        differ.append(float(np.mean(answers.labels != own)))
        calls.append(fast.n_calls_)
    note = f"at most {max(calls)} calls in fit, and {100 * max(differ):.2g} % of labels differ; mean of {DRAWS} draws"
    title = f"neighbours, 5 %, {FEW} calls in fit: rows for which it is asked"
    return [Figure(title, 100 * float(np.mean(asked)), "%", note=note)]
