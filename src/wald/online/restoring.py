"""What a file holds of a fitted learner besides its public attributes, and a learner made of that again."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .classifier import AttentiveClassifier
from .problem import Problem


def epochs_of(learner: AttentiveClassifier) -> list[int]:
    """How many epochs each problem of a fitted learner has seen."""
    return list(learner._epoch)


def weights_of(learner: AttentiveClassifier) -> NDArray[np.float64]:
    """The weights (n_problems, n_features) that the problems of a fitted learner give."""
    return np.stack([problem.learner.answer(learner._averages)[0] for problem in learner.problems_])


def check_learner(learner: AttentiveClassifier) -> None:
    """Raise what `fit` raises for parameters of no use."""
    learner._check_parameters()
    learner._rule()


def restore(learner: AttentiveClassifier, problems: list[Problem], epochs: list[int]) -> None:
    """Set what was learned, and the attributes that follow from it."""
    learner.problems_, learner._epoch = problems, epochs
    learner._publish()
