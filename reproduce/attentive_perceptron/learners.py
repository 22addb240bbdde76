"""The contenders: averaged perceptrons that differ in when they stop reading an example."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.online import AttentivePerceptron
from wald.online.problem import Problem

from .material import Task

#: Readings of the paper's boundary, and ours; in the order of the page.
READINGS = ("printed", "centred", "bridge", "conditional")
#: Their names on the page.
NAMES = {
    "full": "full",
    "budgeted": "budgeted, equal mean cost",
    "printed": "eq. (4), as published",
    "centred": "eq. (4), centred",
    "bridge": "bridge",
    "conditional": "conditional, ours",
}
#: Deltas tried for each.
DELTAS = {
    "printed": (1e-9, 1e-6, 1e-5, 1e-3, 0.1),
    "centred": (1e-3, 0.01, 0.03, 0.05, 0.07, 0.1, 0.3),
    "bridge": (1e-3, 3e-3, 0.01, 0.05, 0.1, 0.2, 0.5),
    "conditional": (1e-3, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1),
}
#: Orders and variances of the walk, which the paper leaves open. CSR rows have one order and one variance.
VARIANTS = (("weight", "independent"), ("weight", "empirical"), ("random", "empirical"))
_NO_VARIANT = (("auto", "auto"),)
#: Orders tried for the budgeted learner.
ORDERS = ("weight", "selected", "random")
#: Features in a cache line.
_LINE = 16


class Contender(NamedTuple):
    """A way to pay attention.

    Attributes
    ----------
    reading : str
        A key of `NAMES`.
    delta : float
        0 for the full and the budgeted learner.
    order, variance : str
    budget : int
        Features per example of the budgeted learner.
    """

    reading: str
    delta: float = 0.0
    order: str = "auto"
    variance: str = "auto"
    budget: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the estimator."""
        if self.reading in ("full", "conditional"):
            return {"attention": self.reading, **({"delta": self.delta} if self.delta else {})}
        if self.reading == "budgeted":
            return {"attention": "budgeted", "budget": self.budget, "order": self.order}
        attention = {"attention": "constant", "boundary": self.reading, "delta": self.delta}
        return {**attention, "order": self.order, "variance": self.variance}


def candidates(reading: str, task: Task) -> list[Contender]:
    """Every setting that is tried for a reading on held-out rows."""
    variants = _NO_VARIANT if task.sparse or reading == "conditional" else VARIANTS
    return [Contender(reading, delta, *variant) for variant in variants for delta in DELTAS[reading]]


def budgeted(task: Task, mean_features: float, rate: float = 0.01) -> list[Contender]:
    """Budgets of a given mean cost, audits included, in every order; on dense rows, budgets are whole runs."""
    n = task.features
    budget = max(1, round((mean_features - rate * n) / (1 - rate)))
    if task.sparse:
        return [Contender("budgeted", budget=budget)]
    # runs are cache lines, or several of them where rows are very wide
    run = _LINE * -(-task.X.shape[1] // (_LINE * 128))
    return [Contender("budgeted", order=order, budget=budget + run // 2) for order in ORDERS]


class Contesting(AttentivePerceptron):
    """A learner that does not warn of boundaries whose formula has no level: they are among the settings tried."""

    def _warn(self) -> None:
        pass


def learner(contender: Contender, seed: int, **more: Any) -> AttentivePerceptron:
    """An estimator that trains one more epoch at every call."""
    return Contesting(**contender.parameters, max_iter=1, tol=None, warm_start=True, random_state=seed, **more)


class Watched(Contesting):
    """A learner that also reads what attention skipped of every example, and so counts the true stop errors."""

    def _start(self, classes: NDArray[Any], X: Any) -> None:
        super()._start(classes, X)
        self.problems_ = [Problem(problem.settings | {"watch_all": True}) for problem in self.problems_]


class Epoch(NamedTuple):
    """An epoch: features per example, updates, seconds, and the error after it."""

    features: float
    updates: int
    seconds: float
    error: float


def train(contender: Contender, seed: int, task: Task) -> tuple[AttentivePerceptron, list[Epoch]]:
    """Train on all training rows, epoch by epoch; errors are those on the test rows."""
    model, epochs = learner(contender, seed), []
    features = updates = 0
    for _ in range(task.epochs):
        begun = time.perf_counter()
        model.fit(task.X, task.y)
        seconds = time.perf_counter() - begun
        seen, changed = model.features_seen_ - features, model.n_updates_ - updates
        features, updates = model.features_seen_, model.n_updates_
        epochs.append(Epoch(seen / len(task.y), changed, seconds, error_of(model, task.X_test, task.y_test)))
    return model, epochs


def error_of(model: AttentivePerceptron, X: Any, y: NDArray[np.bool_]) -> float:
    """Share of rows that full scores label wrongly."""
    return float(np.mean((model.decision_function(X) > 0) != y))
