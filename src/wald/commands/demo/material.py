"""The rows and the models that the demo shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
from sklearn.utils import check_random_state

from ...datasets import fetch_mnist
from ...early_exit.fitting.data_split import split_rows
from ..errors import UserError

Floats = NDArray[np.floating[Any]]

#: The digit that the binary models separate from the rest, chosen because it is the hardest.
DIGIT = 8


@dataclass(frozen=True, eq=False)
class Task:
    """A model to wrap, and its problem.

    Attributes
    ----------
    model : estimator
        An unfitted classifier.
    name, unit : str
        What it is called, and what its costs count.
    cost : {"time", "units"}
        The quantity that its plan minimizes.
    binary : bool
        Whether it separates `DIGIT` from the rest.
    """

    model: Any
    name: str
    unit: str
    cost: Literal["time", "units"] = "units"
    binary: bool = True

    @property
    def question(self) -> str:
        """The problem that it solves."""
        return f"{DIGIT} or not" if self.binary else "which of ten"

    @property
    def aim(self) -> str:
        """The quantity that its plan minimizes, in words."""
        return "least time" if self.cost == "time" else f"fewest {self.unit}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Material:
    """Images of digits, and the tasks on them.

    Attributes
    ----------
    X_train, y_train
        Rows that train the models.
    X_fit
        Rows that plan and certify.
    X_count, y_count
        Rows for all counts that the demo prints and draws.
    counted : str
        Description of these rows.
    split : str
        Sentence on the number of rows for each purpose.
    risk, certificate_fraction : float
        Parameters of `EarlyExitClassifier`.
    tasks : tuple of Task
    """

    X_train: Floats
    y_train: NDArray[np.int64]
    X_fit: Floats
    X_count: Floats
    y_count: NDArray[np.int64]
    counted: str
    split: str
    risk: float
    certificate_fraction: float
    tasks: tuple[Task, ...]

    @property
    def side(self) -> int:
        """Pixels along one side of an image."""
        return int(np.sqrt(self.X_train.shape[1]))

    def targets(self, task: Task) -> NDArray[Any]:
        """Labels of the training rows for a task."""
        return self.y_train == DIGIT if task.binary else self.y_train


def load(data: str, seed: int) -> Material:
    """Load the data set ``data``.

    Raises
    ------
    UserError
        If there is no data set of this name, or it cannot be loaded.
    """
    if data == "digits":
        return _digits(seed)
    if data == "mnist":  # which has a published order and split
        return _mnist()
    raise UserError(f"there is no data called {data!r}; --data takes digits or mnist.")


def _tasks(gamma: float, n_trees: int) -> tuple[Task, Task, Task]:
    trees = HistGradientBoostingClassifier(max_iter=n_trees, early_stopping=False, random_state=0)
    return (
        Task(SVC(C=5, gamma=gamma), "kernel SVM", "support vectors", "time"),
        Task(LogisticRegression(max_iter=2000), "linear model", "pixels"),
        Task(trees, "boosted trees", "trees"),
    )


def _digits(seed: int) -> Material:
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order] / 16, y[order]
    fraction = 797 / 1197
    # the rows of `fit` that an EarlyExitClassifier with these parameters certifies on
    rng = np.random.default_rng(check_random_state(seed).randint(2**31 - 1))
    certificate = split_rows(np.arange(1197), None, fraction, rng).certificate
    kernel, linear, trees = _tasks(0.5, 60)
    return Material(
        X_train=X[:600],
        y_train=y[:600],
        X_fit=X[600:],
        X_count=X[600:][certificate],
        y_count=y[600:][certificate],
        counted="the 797 certificate rows; the data set is too small for rows held out",
        split="Digits of scikit-learn, 8 x 8 pixels: 600 train the models, 400 plan, 797 certify.",
        risk=0.01,
        certificate_fraction=fraction,
        tasks=(kernel, Task(kernel.model, kernel.name, kernel.unit, "time", binary=False), linear, trees),
    )


def _mnist() -> Material:
    try:
        X, y = fetch_mnist(subset="train", return_X_y=True)
        X_test, y_test = fetch_mnist(subset="test", return_X_y=True)
    except OSError as error:
        raise UserError(
            f"MNIST could not be had. {_one_line(error)} "
            "With a network, wald downloads its 12 MB itself, once, and checks them."
        ) from error
    except ValueError as error:
        raise UserError(f"MNIST could not be read. {_one_line(error)}") from error
    return Material(
        X_train=X[:20_000],
        y_train=y[:20_000],
        X_fit=X[20_000:],
        X_count=X_test,
        y_count=y_test,
        counted="the 10 000 test rows, which are held out",
        split="MNIST, 28 x 28 pixels: 20 000 train the models, 20 000 plan, 20 000 certify.",
        risk=0.001,
        certificate_fraction=0.5,
        tasks=_tasks(0.02, 200),
    )


def _one_line(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if said.endswith((".", "!")) else f"{said}."
