"""One word and one sentence, step by step: what was bought, and how the answer changed."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wald.structured.policies.driver import rounds

from .contenders import Contender
from .curves import Fitted

#: The budget and the policy that are shown.
SHARE = 0.3
SHOWN = Contender("iterated")
#: The least and the most parts of an example that fits into a picture.
_FEWEST, _MOST = 5, 12


class Step(NamedTuple):
    """An example after a round.

    Attributes
    ----------
    bought : bool ndarray of shape (n_parts,)
    codes : int32 ndarray of shape (n_parts,)
    doubt : float64 ndarray of shape (n_parts,)
        Probability, by the policy, that the answer is wrong; NaN where everything is bought.
    """

    bought: NDArray[np.bool_]
    codes: NDArray[np.int32]
    doubt: NDArray[np.float64]


class Walk(NamedTuple):
    """An example with its steps.

    Attributes
    ----------
    data : str
    example : object
        An example in the form that the model takes.
    truth : int32 ndarray of shape (n_parts,)
    steps : list of Step
        Nothing is bought in the first step.
    """

    data: str
    example: Any
    truth: NDArray[np.int32]
    steps: list[Step]


def walk(fitted: Fitted) -> Walk:
    """The example with the most parts corrected by the policy; among equals, the one with the fewest purchases."""
    split = fitted.split
    session = fitted.model.open(split.X_test)
    truth, offsets = np.asarray(session.codes(split.y_test)), np.asarray(session.offsets)
    predictor = fitted.predictors[SHOWN, SHARE]
    states = [session.state() & False]
    states += [state.copy() for state, _ in rounds(predictor.policy, session, predictor.threshold_)]
    codes = [np.array(session.decode(state)) for state in states]
    wrong = [np.add.reduceat(c != truth, offsets[:-1], dtype=np.int64) for c in codes]
    bought = np.add.reduceat(states[-1][:, 0], offsets[:-1], dtype=np.int64)
    lengths = np.diff(offsets)
    fits = (lengths >= _FEWEST) & (lengths <= _MOST)
    worth = np.where(fits, 100 * (wrong[0] - wrong[-1]) - 10 * wrong[-1] - bought, -(10**6))
    best = int(np.argmax(worth))
    parts = slice(int(offsets[best]), int(offsets[best + 1]))
    steps = []
    for state, answer in zip(states, codes, strict=True):
        log_odds = predictor.policy.priority(session, state, np.array([best]))[:, 0]
        doubt = np.where(np.isfinite(log_odds), np.exp(log_odds), np.nan)
        steps.append(Step(state[parts, 0], answer[parts], doubt))
    return Walk(split.data, split.X_test[best], truth[parts], steps)
