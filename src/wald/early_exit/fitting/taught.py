"""What rows teach of a model: its labels, or its probabilities, which tell more of a row than its label does."""

from __future__ import annotations

from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...models.asked import AskedFunction
from .late_answers import LateAnswers

Indices = NDArray[np.intp]
Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

#: Probabilities are asked in parts, each so many times as large as the one before: none is long if they are dear.
GROWS = 8
#: Probabilities are dear if they take so many times as long as labels, and the next part so many seconds more.
DEARER, SECONDS_MORE = 2.0, 1.0
#: Largest share of the compared rows of which another class than the label may be the most probable one.
MOST_OTHER = 0.1


class Taught(NamedTuple):
    """What some rows teach.

    Attributes
    ----------
    codes : int32 ndarray of shape (n_rows,)
        The label of each, or the most probable class.
    probabilities : float64 ndarray of shape (n_rows, n_classes) or None
        1 for the label where only this is known. None: only labels are.
    n_compared : int
        Rows that were asked about both.
    """

    codes: Codes
    probabilities: Floats | None
    n_compared: int


def gives_probabilities(model: Any) -> bool:
    """Whether an estimator may be asked for probabilities in place of labels."""
    return hasattr(model, "predict_proba") and not isinstance(model, AskedFunction)


def taught(answers: LateAnswers, rows: Indices, n_again: int) -> Taught:
    """Ask a model for the probabilities of rows whose label is not known, and for labels if these are of no use.

    Probabilities are of no use if they raise or warn, are none, contradict the labels, or take much longer than labels
    do. Only labels are kept in `answers`: a promise is about these.

    Parameters
    ----------
    answers : LateAnswers
        Of a model for which `gives_probabilities`; it has answered some rows, so that its labels are timed.
    rows : ndarray of int
    n_again : int
        Rows that may be asked about twice. Half of them are asked about both.
    """
    unknown = answers.unknown(rows)
    n_compared = min(len(unknown), n_again // 2)
    compared = unknown[np.unique(np.linspace(0, len(unknown) - 1, n_compared).astype(np.intp))]
    if len(compared) == 0:
        return Taught(answers.ask(rows), None, 0)
    seconds, found = answers.seconds_of_row, np.zeros((len(answers.known), len(answers.classes)))
    start = perf_counter()
    said = answers.probabilities(compared)
    each = (perf_counter() - start) / len(compared)
    own = answers.ask(compared)
    if said is None or np.mean(said.argmax(axis=1) != own) > MOST_OTHER:
        return Taught(answers.ask(rows), None, len(compared))
    asked = np.zeros(len(answers.known), dtype=bool)
    found[compared], asked[compared] = said, True
    left, size = answers.unknown(rows), GROWS * len(compared)
    while len(left):
        if answers.left is not None:  # a part that fails is asked again, and leaves half for the certificate
            size = min(size, (answers.left - len(left) - n_again) // 2)
        part = left[: max(0, size)]
        if len(part) == 0 or (each > DEARER * seconds and (each - seconds) * len(part) > SECONDS_MORE):
            break
        start = perf_counter()
        said = answers.probabilities(part)
        each = (perf_counter() - start) / len(part)
        if said is None:
            break
        found[part], asked[part] = said, True
        left, size = left[len(part) :], GROWS * size
    labelled = rows[~asked[rows]]
    found[labelled, answers.ask(labelled)] = 1.0
    return Taught(found[rows].argmax(axis=1).astype(np.int32), found[rows], len(compared))
