"""Values: the scores of a regressor or ranker are answers themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils.figures import percent
from .output import Answers, Floats, Output
from .words import VALUES, Words, words_within

__all__ = ["Margin", "Values"]

#: How far a score may be off; see `Values`.
Margin = Literal["none", "constant", "relative", "exp", "logistic", "softmax"]
#: Largest number of tolerances that a certificate names.
MOST_NAMED = 5
MARGINS: tuple[Margin, ...] = ("none", "constant", "relative", "exp", "logistic", "softmax")


@dataclass(frozen=True, eq=False)
class Values(Output):
    """The values of a regressor or ranker, or the probabilities of a classifier, in full or within a tolerance.

    `answers` gives the code 0 to each row, and the model's links turn scores into values. Without a tolerance every row
    is evaluated in full: it has no other answers, and so no margin. With one, the answer of a row that leaves early is
    its estimate, and its margin is how far the score may be off: half the width of the widest interval around the
    estimate in which the value stays within the tolerance. Of several scores, each has a tolerance of its own, which is
    the unit of its margin, and the narrowest margin counts.

    Parameters
    ----------
    n_values : int
        Number of scores of a row.
    tolerance : float, default=0.0
        How far the value of a row that leaves early may lie from the full one; of several, the largest of
        `tolerances`. 0: no row leaves early.
    margin : {"none", "constant", "relative", "exp", "logistic", "softmax"}, default="none"
        How far the estimate z of a score may be off. ``"none"``: not at all. ``"constant"``: by the tolerance.
        ``"relative"``: by the tolerance times ``|z|``. ``"exp"`` and ``"logistic"``: as far as ``exp(z)`` and ``1 / (1
        + exp(-slope * z - offset))`` stay within the tolerance, on the side where they change faster. ``"softmax"``, of
        several scores: as far as all of them may be off, either way, until a probability is.
    relative : bool, default=False
        Whether the tolerance is a share of the full value's size.
    slope, offset : float, default=1.0, 0.0
        Of ``"logistic"``, where there is one score.
    tolerances : list of float, default=[]
        Of several scores: how far the value of each may be off.

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
    slope: float = 1.0
    offset: float = 0.0
    tolerances: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.n_values < 1:
            raise ValueError(f"n_values must be positive. Got {self.n_values} instead.")
        if self.margin not in MARGINS:
            raise ValueError(f"margin must be one of {', '.join(MARGINS)}. Got {self.margin!r} instead.")
        most = 0.5 if self.margin in ("logistic", "softmax") else math.inf
        early, several = self.margin != "none", self.n_values > 1
        good = 0 < self.tolerance < most if early else self.tolerance == 0
        good = good and (several or self.margin != "softmax")
        if not good:
            raise ValueError(
                f"A tolerance of {self.tolerance!r} does not go with {self.n_values} values and the margin "
                f"{self.margin!r}: it is positive and finite, and below 0.5 for probabilities."
            )
        each = self.tolerances
        fits = (
            len(each) == self.n_values and min(each) > 0 and max(each) == self.tolerance
            if early and several
            else not each
        )
        if not fits:
            raise ValueError(
                f"tolerances must hold a positive number for each of several values with a margin, and the largest is "
                f"tolerance={self.tolerance!r}; of one value they are empty. Got {each!r} for {self.n_values}."
            )
        if not (0 < self.slope < math.inf and math.isfinite(self.offset)):
            raise ValueError(f"slope must be positive, and offset finite. Got {self.slope!r} and {self.offset!r}.")

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
        return f"{'a value ' * (self.n_values > 1)}off by more than {self.most}"

    @property
    def words(self) -> Words:
        """What values are called; see `Output.words`."""
        return words_within(self.most) if self.by_margin else VALUES

    @property
    def most(self) -> str:
        """The tolerance in words: "0.1", "5 % of the value", or "0.1, 0.2" of two values."""
        each = sorted(set(self.tolerances)) if self.tolerances else [self.tolerance]
        if len(each) > 1:
            each = self.tolerances
        figures = [percent(one, digits=6) if self.relative else f"{one:g}" for one in each]
        if len(figures) > MOST_NAMED:
            figures = [*figures[: MOST_NAMED - 1], "...", figures[-1]]
        return ", ".join(figures) + " of the value" * self.relative

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
        lacking, found = np.isnan(z).any(axis=1), self._margins(z.astype(np.float64))
        return self.answers(z), np.where(lacking, np.nan, found).astype(z.dtype)

    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """The code 0; every value without NaN is settled where its error is known; see `Output.settled`."""
        return self.answers(scores), (errors < np.inf) & ~np.isnan(scores).any(axis=1)

    def lost_values(self, early: Floats, full: Floats) -> Floats:
        """1 for values that are off by more than the tolerance; see `Output.lost_values`."""
        if not self.by_margin:
            return super().lost_values(early, full)
        each = np.array(self.tolerances) if self.tolerances and early.ndim > 1 else self.tolerance
        with np.errstate(invalid="ignore", over="ignore"):
            off, most = np.abs(early - full), each * (np.abs(full) if self.relative else 1.0)
            # values without a number, or that overflow alike, are not off
            good = (off <= most) | (early == full) | (np.isnan(early) & np.isnan(full))
        return np.asarray(~(good.all(axis=1) if good.ndim > 1 else good), dtype=np.float64)

    def _margins(self, z: Floats) -> Floats:
        """How far the scores of each row may be off; several in the units of their tolerances."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            if not self.by_margin:
                return np.zeros(len(z))
            if self.n_values == 1:
                return self._room(z[:, 0], np.float64(self.tolerance))
            each = np.array(self.tolerances)
            return np.asarray((self._room(_logits(z) if self.margin == "softmax" else z, each) / each).min(axis=1))

    def _room(self, z: Floats, most: Any) -> Floats:
        """How far each score may be off."""
        if self.margin == "relative":
            return np.asarray(most * np.abs(z))
        if self.margin == "exp":
            return np.asarray(np.log1p(most * np.exp(-z)))
        if self.margin in ("logistic", "softmax"):  # the narrower side is that of 0, whichever side z lies on
            size = np.abs(self.slope * z + self.offset)
            least = 1.0 / (1.0 + np.exp(-size)) - most
            room = (size - np.log(least / (1.0 - least))) / self.slope
            return np.asarray(room / 2 if self.margin == "softmax" else room)
        return np.asarray(np.broadcast_to(most, z.shape))


def _logits(z: Floats) -> Floats:
    """Logits of the probabilities of several scores, each of which scores that move apart change twice as much."""
    below = z - z.max(axis=1, keepdims=True)
    shares = np.exp(below)
    rows, best = np.arange(len(z)), z.argmax(axis=1)
    others = np.repeat(shares.sum(axis=1, keepdims=True), z.shape[1], axis=1) - shares
    without = shares.copy()
    without[rows, best] = 0.0
    others[rows, best] = without.sum(axis=1)
    return np.asarray(below - np.log(others))
