"""Learning of a chain: codes of labels, orders of sequences, and the structural SVM."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .labels import require_alike

#: Copies of a sequence under fixed states that the structural SVM learns from: everything, nothing costly, random.
COPIES = 3


def codes_of(labels: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.int32]:
    """Labels as indices of the classes; raises ValueError for a label that is none of them."""
    require_alike(labels, classes)
    known = np.isin(labels, classes)
    if not known.all():
        raise ValueError(f"y holds {labels[~known][0]!r}, which is none of the classes {classes.tolist()!r}.")
    return np.searchsorted(classes, labels).astype(np.int32)


def order_of(chain: Any, n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Order of n sequences in an epoch."""
    return (rng.permutation(n) if chain.shuffle else np.arange(n)).astype(np.int64)


def learn_svm(
    chain: Any, start: _core.Chain, lesson: _core.ChainLesson, n_sequences: int, rng: np.random.Generator
) -> tuple[_core.ChainFrankWolfe, int, float]:
    """Train the structural SVM with the parameters of a `ChainClassifier`, from its weights at the start on.

    Gives the learner, the epochs that it ran, and the duality gap of the last or, with ``average``, of the averaged
    weights.
    """
    copies = COPIES if chain.states == "random" and len(chain._sizes) > 1 else 1
    average = bool(chain.average)
    learner = _core.ChainFrankWolfe(start, lesson, 1.0 / (chain.C * n_sequences * copies), copies)
    n_epochs = 0
    for n_epochs in range(1, chain.max_iter + 1):
        learner.epoch(order_of(chain, n_sequences * copies, rng))
        if chain.tol > 0 and n_epochs % 10 == 0 and learner.gap(average) < chain.tol:
            break
    return learner, n_epochs, learner.gap(average)
