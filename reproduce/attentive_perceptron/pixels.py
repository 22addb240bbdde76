"""The pixels that a learner read of a digit before it skipped it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.online import AttentivePerceptron
from wald.online.problem import Problem
from wald.online.rows import learner_rows

from .learners import Contender, learner
from .material import Task

#: Pixels that are read together in the picture; and audited rows kept of each class, so that more stages can be fitted.
RUN, RING = 4, 400
#: Digits of each class among which an easy and a hard one are chosen.
_AMONG = 300
#: The shape of an image.
_SHAPE = (28, 28)
#: The learners that are drawn: our boundary, and the paper's as its derivation supports it.
DRAWN = (Contender("conditional", 0.02), Contender("centred", 0.05, "weight", "empirical"))


class PixelsRead(NamedTuple):
    """An image, the place of every pixel in the order of reading (NaN: not read), and the number of pixels read."""

    image: NDArray[np.float32]
    shape: tuple[int, int]
    place: NDArray[np.float64]
    n_read: int
    positive: bool


def pixels_read(model: AttentivePerceptron, X: NDArray[np.float32], y: NDArray[np.bool_], run: int) -> list[PixelsRead]:
    """The pixels that a trained learner would read of each row if it came next, without audits.

    Parameters
    ----------
    model : AttentivePerceptron
        A binary one, trained on dense rows, that reads runs of `run` features.
    X : float32 ndarray of shape (N, n_features)
    y : bool ndarray of shape (N,)
    run : int
    """
    (problem,) = model.problems_
    state = problem.learner.state()
    replay = Problem(problem.settings | {"audit_rate": 0.0})
    n_runs = -(-X.shape[1] // run)
    found = []
    for x, positive in zip(X, y, strict=True):
        replay.learner.restore(state)
        before = replay.learner.features_seen
        row = learner_rows(x[None], problem.dtype, problem.learner.n_columns)
        replay.learner.train(row, np.array([positive], dtype=np.uint8), None, 1.0, 1.0, None)
        n_read = replay.learner.features_seen - before
        order = np.asarray(state[f"{'positive' if positive else 'negative'}.order"], dtype=np.intp)
        found.append(PixelsRead(x, _SHAPE, places(order, n_read, X.shape[1], run, n_runs), n_read, bool(positive)))
    return found


def places(order: NDArray[np.intp], n_read: int, n_features: int, run: int, n_runs: int) -> NDArray[np.float64]:
    """Place of every feature, from 1; where a row is read to the end, others share the last place."""
    features = np.minimum(np.arange(n_runs)[:, None] * run + np.arange(run), n_features)  # n_features: none
    read = features[order].ravel()
    read = read[read < n_features][:n_read]
    place = np.full(n_features, np.nan)
    place[read] = np.arange(1, len(read) + 1)
    if n_read == n_features:
        place[np.isnan(place)] = len(read) + 1
    return place


def easy_and_hard(task: Task) -> list[tuple[str, list[PixelsRead]]]:
    """For each of `DRAWN`, an easy and a hard digit of either class among the test rows.

    The easy one has the fewest pixels read; the hard one has the most among those that are not read to the end.
    """
    rows = np.concatenate([np.flatnonzero(task.y_test == side)[:_AMONG] for side in (False, True)])
    drawn = []
    for contender in DRAWN:
        model = learner(contender, 0, run_length=RUN, ring_size=RING).set_params(max_iter=task.epochs)
        model.fit(task.X, task.y)
        found = pixels_read(model, task.X_test[rows], task.y_test[rows], RUN)
        drawn.append((contender.reading, [digit for side in (False, True) for digit in _pair(found, side)]))
    return drawn


def _pair(found: Sequence[PixelsRead], positive: bool) -> list[PixelsRead]:
    own = [digit for digit in found if digit.positive == positive]
    left = [digit for digit in own if digit.n_read < len(digit.image)] or own
    return [min(left, key=_read), max(left, key=_read)]


def _read(digit: PixelsRead) -> int:
    return digit.n_read
