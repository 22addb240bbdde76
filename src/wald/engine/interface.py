"""What every engine offers, compiled or not: terms that are packed, and a cascade of stages on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

#: What happens to rows that are left after the last stage of a call: they are evaluated in full, get the last stage's
#: own answer, or are left open.
AtEnd = Literal["full", "answer", "pending"]
#: From the dtype of rows to the unit roundoff in which the wrapped model computes for them.
Working = Callable[[np.dtype[Any]], float]


class Trace(NamedTuple):
    """What every stage sees of rows, of which none leaves.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_stages) or None
        One output: the estimate.
    codes : int32 ndarray of shape (n_rows, n_stages) or None
        Several outputs: the label that the stage would answer.
    confidence : ndarray of shape (n_rows, n_stages) or None
        Several outputs: how clear it is.
    """

    scores: NDArray[Any] | None
    codes: Codes | None
    confidence: NDArray[Any] | None


class Rule(Protocol):
    """How full scores become labels; see `wald.models.Decision`."""

    @property
    def kind(self) -> Literal["sign", "argmax", "votes"]:
        """One score against a threshold, one per class, or one per pair of classes."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def threshold(self) -> float:
        """Of "sign"."""

    @property
    def tie_positive(self) -> bool:
        """Of "sign": whether a score at the threshold is class 1."""

    @property
    def break_ties(self) -> bool:
        """Of "votes": whether equal votes are not for the first class."""

    @property
    def n_outputs(self) -> int:
        """Number of scores per row."""


class Decided(Protocol):
    """What an engine must know of a model beside its terms."""

    @property
    def decision(self) -> Rule:
        """How scores become labels."""

    @property
    def tie_margin(self) -> float:
        """Distance from a tie within which the wrapped model's own rounding decides."""

    def working_precision(self, dtype: Any) -> float:
        """Unit roundoff in which the wrapped model computes for rows of a dtype."""


class Readout(Protocol):
    """From the values of the first terms to an estimate of the scores."""

    @property
    def weights(self) -> Floats:
        """Of shape (n_outputs, n_terms)."""

    @property
    def bias(self) -> Floats:
        """Of shape (n_outputs,)."""


class Cascade(Protocol):
    """Stages on packed terms. It never changes, so that threads share it."""

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> tuple[Codes, Codes]:
        """Codes and stages of rows that meet the terms; a code below 0 says why there is none."""

    def predict_one(self, x: NDArray[Any], n_stages: int, at_end: AtEnd, working: float) -> tuple[int, int]:
        """Code and stage of one row, a float32, float64 or uint8 array."""

    def trace(self, X: Any, n_threads: int) -> Trace:
        """What every stage sees of rows, of which none leaves."""

    def decide(self, scores: NDArray[Any], error: float) -> Codes:
        """Codes of full scores that are known to within `error`; `HAND_OVER` where another label is as near."""


class Packed(Protocol):
    """Terms in the order of a plan, ready to be evaluated."""

    def scores(self, X: Any, working: Working, n_threads: int, single: bool = False) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and how far each row's may be from the wrapped model's own (n,)."""

    def cascade(
        self,
        model: Decided,
        stage_terms: NDArray[np.int64],
        readouts: Sequence[Readout],
        low: NDArray[Any],
        high: NDArray[Any],
    ) -> Cascade:
        """Put stages on the terms; after ``stage_terms[t]`` a row leaves below ``low[t]`` or above ``high[t]``."""
