"""Bands: between which thresholds the score of a row lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .output import Answers, Floats, Output
from .words import BANDS, Words

__all__ = ["Bands"]


@dataclass(frozen=True, eq=False)
class Bands(Output):
    """The number of the band between thresholds in which the score of a row lies.

    The margin of an estimate is its distance to the nearest threshold.

    Parameters
    ----------
    thresholds : list of float
        Thresholds of the score, in rising order. Two may be equal, and so enclose no score but their own; infinite ones
        are never reached, or always.
    inclusive : list of bool
        For each threshold, whether a score that equals it belongs to the upper band.

    Raises
    ------
    ValueError
        If there is no threshold, one is NaN, or they fall.

    Examples
    --------
    >>> from wald.outputs import Bands
    >>> Bands([-1.0, 1.0], [True, False]).answers([-2.0, -1.0, 0.0, 1.0, 2.0]).tolist()
    [0, 1, 1, 1, 2]
    """

    compiled: ClassVar[bool] = True
    kind: ClassVar[Literal["bands"]] = "bands"
    column: ClassVar[str] = "band"

    thresholds: list[float]
    inclusive: list[bool]

    def __post_init__(self) -> None:
        rising = all(a <= b for a, b in zip(self.thresholds, self.thresholds[1:] or self.thresholds, strict=False))
        if not self.thresholds or len(self.inclusive) != len(self.thresholds) or not rising:
            raise ValueError(
                f"thresholds must be one or more numbers in rising order, each with its word in inclusive. Got "
                f"{self.thresholds!r} and {self.inclusive!r} instead."
            )

    @property
    def n_outputs(self) -> int:
        """One score."""
        return 1

    @property
    def n_answers(self) -> int:
        """Number of bands: one more than thresholds."""
        return len(self.thresholds) + 1

    @property
    def event(self) -> str:
        """Noun for an early answer that loses; see `Output.event`."""
        return "another band"

    @property
    def words(self) -> Words:
        """What bands are called; see `Output.words`."""
        return BANDS

    def answers(self, scores: ArrayLike) -> Answers:
        """Numbers of the bands of full scores; see `Output.answers`."""
        f = self.table(scores)[:, 0].astype(np.float64)
        below = np.searchsorted(self.thresholds, f, side="left")
        equal = np.array([0, *np.cumsum(self.inclusive)])
        # of the thresholds that equal a score, those that are inclusive lie below it
        last = np.searchsorted(self.thresholds, f, side="right")
        return np.where(np.isnan(f), 0, below + equal[last] - equal[below]).astype(np.int32)

    def judged(self, estimates: ArrayLike) -> tuple[Answers, NDArray[np.floating]]:
        """Bands of estimates, and their distances to the nearest threshold; see `Output.judged`."""
        z = self.table(estimates)
        with np.errstate(invalid="ignore"):  # infinity less infinity
            distances: NDArray[np.floating] = np.abs(z - np.array(self.thresholds, dtype=z.dtype)).min(axis=1)
        return self.answers(z), distances

    def settled(self, scores: Floats, errors: Floats) -> tuple[Answers, NDArray[np.bool_]]:
        """Bands of full scores, and whether no threshold lies within the error; see `Output.settled`."""
        answers, distances = self.judged(scores)
        return answers, (distances > errors) | ((errors == 0) & ~np.isnan(distances))

    def linear_margins(self) -> Floats:
        """The score itself, than which no distance to a threshold moves further; see `Output.linear_margins`."""
        return np.eye(1)
