"""Passes: which stages share one reading of a row, so that a plan takes the least time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .moments import Floats
from .order import Ints

__all__ = ["PassTimes", "PassWork", "cheapest_passes"]

#: Work of a row that takes a pass, in any unit: from the numbers of terms before and after it, the number of its
#: stages, and the share of all rows that reach it.
PassWork = Callable[[int, int, int, float], float]
#: A later pass of several stages multiplies the number of terms that a row has seen by at most this.
MOST_GROWTH = 4


@dataclass(frozen=True)
class PassTimes:
    """Expected time of a row, by which plans with passes are compared.

    Parameters
    ----------
    stages : tuple of float
        Seconds that a row takes which reaches a stage: those of a pass at its first stage, 0 at its others.
    finish : float
        Seconds of full evaluation after the last stage.
    full : float
        Seconds of a row without early exits.
    margin : float, default=1.0
        A plan is used if its expected time is below this share of `full`.
    """

    stages: tuple[float, ...]
    finish: float
    full: float
    margin: float = 1.0

    def __post_init__(self) -> None:
        numbers = (*self.stages, self.finish, self.full, self.margin)
        if not all(np.isfinite(number) and number >= 0 for number in numbers):
            raise ValueError(f"PassTimes must be finite and not negative. Got {self!r}.")

    def expected(self, stage_terms: Ints, stage_costs: Floats, reached: Floats, n_outputs: int) -> float:
        """Expected seconds of a row, of which the shares ``reached`` reach each stage, the full model's included.

        Parameters
        ----------
        stage_terms, stage_costs : ndarray
            Not used: the times are those of the stages. They are parameters of `CostModel.expected`.
        reached : ndarray of shape (T + 1,)
        n_outputs : int
        """
        return float(reached[:-1] @ np.array(self.stages) + reached[-1] * self.finish)

    def worthwhile(self, expected: float) -> bool:
        """Whether a plan of this expected time is preferred to full evaluation."""
        return expected < self.margin * self.full

    def scaled(self, factor: float) -> PassTimes:
        """Multiply the times of a plan, but not that of full evaluation."""
        return replace(self, stages=tuple(factor * s for s in self.stages), finish=factor * self.finish)


def cheapest_passes(stage_terms: Sequence[int], reached: Floats, work: PassWork) -> tuple[Ints, Floats]:
    """Passes that take the least work on average.

    Rows leave at stages, but work is done pass by pass: a row that reaches a pass takes part in all of it. So the work
    of a plan is the sum over its passes of the share of rows that reach them, times the work of a pass; the least one
    is a shortest path.

    Parameters
    ----------
    stage_terms : sequence of T int
    reached : ndarray of shape (T + 1,)
        Share of the rows that reach each stage.
    work : PassWork

    Returns
    -------
    passes : int64 ndarray
        Numbers of stages at the ends of passes.
    works : float64 ndarray of shape (T,)
        Work of a pass at its first stage, 0 at its others.
    """
    n = len(stage_terms)
    least, before, cost = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1)
    least[0] = 0.0
    ends = [0, *stage_terms]
    for first in range(n):
        for last in range(first + 1, n + 1):
            if last > first + 1 and first and ends[last] > MOST_GROWTH * ends[first]:
                break
            own = work(ends[first], ends[last], last - first, float(reached[first]))
            if least[first] + reached[first] * own < least[last]:
                least[last], before[last], cost[last] = least[first] + reached[first] * own, first, own
    passes, works, at = [], np.zeros(n), n
    while at > 0:
        passes.append(at)
        works[before[at]] = cost[at]
        at = int(before[at])
    return np.array(passes[::-1], dtype=np.int64), works
