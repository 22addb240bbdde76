"""Values: the scores of a regressor or ranker are answers themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils.figures import percent
from .output import Answers, Floats, Output
from .words import VALUES, Words, words_within

__all__ = ["Margin", "Values"]

#: How far a score may be off; see `Values`.
Margin = Literal["none", "constant", "relative", "exp", "logistic"]
MARGINS: tuple[Margin, ...] = ("none", "constant", "relative", "exp", "logistic")


@dataclass(frozen=True, eq=False)
class Values(Output):
    """The values of a regressor or ranker, in full or within a tolerance.

    `answers` gives the code 0 to each row, and the model's links turn scores into values. Without a tolerance every row
    is evaluated in full: it has no other answers, and so no margin. With one, the answer of a row that leaves early is
    its estimate, and its margin is how far the score may be off: half the width of the widest interval around the
    estimate in which the value stays within the tolerance.

    Parameters
    ----------
    n_values : int
        Number of values of a row; 1 with a tolerance.
    tolerance : float, default=0.0
        How far the value of a row that leaves early may lie from the full one. 0: no row leaves early.
    margin : {"none", "constant", "relative", "exp", "logistic"}, default="none"
        How far the estimate z of a score may be off. ``"none"``: not at all. ``"constant"``: by the tolerance.
        ``"relative"``: by the tolerance times ``|z|``. ``"exp"`` and ``"logistic"``: as far as ``exp(z)`` and ``1 / (1
        + exp(-z))`` stay within the tolerance, on the side where they change faster.
    relative : bool, default=False
        Whether the tolerance is a share of the full value's size.

    Raises
    ------
    ValueError
        If a number is out of range, or they do not fit each other.

    Examples
    --------
    >>> from wald.outputs import Values
    >>> Values(2).n_outputs, Values(2).answers([[0.5, 1.0]])
    (2, array([0], dtype=int32))
    >>> Values(1, 0.5, "relative", True).judged([2.0, -4.0])[1].tolist()
    [1.0, 2.0]
    """

    compiled: ClassVar[bool] = True
    valued: ClassVar[bool] = True
    column: ClassVar[str] = "value"
    kind: ClassVar[Literal["values"]] = "values"

    n_values: int
    tolerance: float = 0.0
    margin: Margin = "none"
    relative: bool = False

    def __post_init__(self) -> None:
        if self.n_values < 1:
            raise ValueError(f"n_values must be positive. Got {self.n_values} instead.")
        if self.margin not in MARGINS:
            raise ValueError(f"margin must be one of {', '.join(MARGINS)}. Got {self.margin!r} instead.")
        most = 0.5 if self.margin == "logistic" else math.inf
        good = self.tolerance == 0 if self.margin == "none" else 0 < self.tolerance < most
        if not good or (self.n_values > 1 and self.margin != "none"):
            raise ValueError(
                f"A tolerance of {self.tolerance!r} does not go with {self.n_values} values and the margin "
                f"{self.margin!r}: it is for one value, positive and finite, and below 0.5 for 'logistic'."
            )

    @property
    def n_outputs(self) -> int:
        """Number of values of a row."""
        return self.n_values

    @property
    def n_answers(self) -> int:
        """One code, which says nothing."""
        return 1

    @property
    def event(self) -> str:
        """Noun for an early answer that loses; see `Output.event`."""
        return f"off by more than {self._most}"

    @property
    def words(self) -> Words:
        """What values are called; see `Output.words`."""
        return words_within(self._most) if self.by_margin else VALUES

    @property
    def _most(self) -> str:
        return f"{percent(self.tolerance, digits=6)} of the value" if self.relative else f"{self.tolerance:g}"

    @property
    def by_margin(self) -> bool:
        """Whether rows leave early; see `Output.by_margin`."""
        return self.margin != "none"

    def answers(self, scores: ArrayLike) -> Answers:
        """The code 0 for each row; see `Output.answers`."""
        return np.zeros(len(self.table(scores)), dtype=np.int32)

    def judged(self, estimates: ArrayLike) -> tuple[Answers, NDArray[np.floating]]:
        """The code 0, and how far each estimate may be off; see `Output.judged`."""
        z = self.table(estimates)
        lacking = np.isnan(z).any(axis=1)
        return self.answers(z), np.where(lacking, np.nan, self._room(z[:, 0].astype(np.float64))).astype(z.dtype)

    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """The code 0; every value without NaN is settled where its error is known; see `Output.settled`."""
        return self.answers(scores), (errors < np.inf) & ~np.isnan(scores).any(axis=1)

    def lost_values(self, early: Floats, full: Floats) -> Floats:
        """1 for values that are off by more than the tolerance; see `Output.lost_values`."""
        if not self.by_margin:
            return super().lost_values(early, full)
        with np.errstate(invalid="ignore", over="ignore"):
            off, most = np.abs(early - full), self.tolerance * (np.abs(full) if self.relative else 1.0)
            # values without a number, or that overflow alike, are not off
            good = (off <= most) | (early == full) | (np.isnan(early) & np.isnan(full))
        return np.asarray(~good, dtype=np.float64)

    def _room(self, z: Floats) -> Floats:
        """How far each score may be off."""
        most = np.float64(self.tolerance)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            if self.margin == "relative":
                return np.asarray(most * np.abs(z))
            if self.margin == "exp":
                return np.asarray(np.log1p(most * np.exp(-z)))
            if self.margin == "logistic":  # the narrower side is that of 0, whichever side z lies on
                size = np.abs(z)
                least = 1.0 / (1.0 + np.exp(-size)) - most
                return np.asarray(size - np.log(least / (1.0 - least)))
            return np.full(len(z), most)
