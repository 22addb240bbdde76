"""How the calls of a costly model are divided in `fit`: to learn surrogates, to plan, and to certify."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.intp]

#: Rows about which the model is asked twice, and the part of the calls that these may be.
ASKED_AGAIN, AGAIN_PART = 64, 0.04
#: Parts of the calls with which surrogates are learnt, and with which it is planned which of them to ask.
LEARN_PART, PLAN_PART = 0.4, 0.25
#: Fewest rows for these, and to ask again.
LEAST_LEARNT, LEAST_PLANNED, LEAST_AGAIN = 100, 60, 8


class CallsNeeded(NamedTuple):
    """Numbers of rows about which `fit` asks a costly model, as it knows them beforehand.

    Attributes
    ----------
    fewest : int
        Least number that ``max_calls`` may be.
    least : int
        Asked whatever is answered, without ``max_calls``: to learn, to plan, and some rows twice.
    most : int
        Asked at most, without ``max_calls``: rows of the certificate are only asked if they would leave early.
    """

    fewest: int
    least: int
    most: int


@dataclass(frozen=True)
class Division:
    """Most rows that are asked for each purpose, if they are not known from a log.

    Attributes
    ----------
    learn, plan, again : int
    """

    learn: int
    plan: int
    again: int

    @classmethod
    def of(cls, max_calls: int | None, n_learn: int, n_plan: int) -> Division:
        """Divide calls, for so many rows that may learn and plan; the rest is left to the certificate.

        Examples
        --------
        >>> Division.of(None, 7000, 2600)
        Division(learn=7000, plan=2600, again=64)
        >>> Division.of(500, 7000, 2600)
        Division(learn=192, plan=120, again=20)
        """
        if max_calls is None:
            return cls(n_learn, n_plan, ASKED_AGAIN)
        again = min(ASKED_AGAIN, max(LEAST_AGAIN, round(AGAIN_PART * max_calls)))
        left = max_calls - again
        planned = min(n_plan, max(LEAST_PLANNED, round(PLAN_PART * left)))
        return cls(min(n_learn, max(LEAST_LEARNT, round(LEARN_PART * left))), planned, again)


def require_calls(max_calls: Any) -> None:
    """Raise ValueError unless `max_calls` is None or a whole number from 1 on."""
    if max_calls is not None and (isinstance(max_calls, bool) or not isinstance(max_calls, Integral) or max_calls < 1):
        raise ValueError(f"max_calls must be a whole number of at least 1, or None. Got {max_calls!r} instead.")
