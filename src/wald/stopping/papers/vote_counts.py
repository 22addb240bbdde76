"""Stopping of votes by dynamic programming over counts: the cheapest policy with the allowed disagreement.

N members vote on two classes, n of them for the second one, and the second one wins if ``2 n > N``. If members are
asked in a random order, the number of votes for the second class among the first i is hypergeometric, and, given that
number, all of their orders are equally likely. So the share of walks that get to a state without having stopped does
not depend on n.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy import special

__all__ = ["VoteCounts", "VotePolicy"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Range of the price of a wrong answer, in costs of full evaluation, and number of bisections.
CHEAPEST, DEAREST, BISECTIONS = 1e-3, 1e15, 64


@dataclass(frozen=True, eq=False)
class VotePolicy:
    """Counts at which to stop.

    Attributes
    ----------
    low, high : int64 arrays of shape (T,)
        Answer the first class if at most `low` votes of a stage are for the second one, and the second class if at
        least `high` are; -1 and i + 1 where no walk of i votes may stop.
    error, cost : float
        Probability of another answer than that of all votes, and expected cost.
    """

    low: Ints
    high: Ints
    error: float
    cost: float


class VoteCounts:
    """Votes in random order, with stages that cost.

    Parameters
    ----------
    counts : float64 array of shape (N + 1,)
        Probability of each number of votes for the second class.
    stages : int array of shape (T,)
        Numbers of votes after which a walk may stop, increasing and below N.
    costs : float64 array of shape (T + 1,)
        Cost of a walk that stops at each stage, and of one that does not.
    """

    def __init__(self, counts: Floats, stages: npt.NDArray[np.integer], costs: Floats) -> None:
        n_members = len(counts) - 1
        self.stages = np.asarray(stages, dtype=np.int64)
        self.costs = np.asarray(costs, dtype=np.float64)
        wins = 2 * np.arange(n_members + 1) > n_members
        ends = [*self.stages.tolist(), n_members]
        # probability of each count after i votes, with either answer of all votes
        self.first = [_earlier(n_members, i) @ np.where(wins, 0.0, counts) for i in ends]
        self.second = [_earlier(n_members, i) @ np.where(wins, counts, 0.0) for i in ends]
        #: Element [j, k] of the matrix of a stage: P(j votes at this stage | k votes at the next one).
        self.steps = [_earlier(later, i) for i, later in pairwise(ends)]

    def best(self, alpha: float, negative: bool = True, positive: bool = True) -> VotePolicy:
        """Find the cheapest policy whose disagreement is at most `alpha`.

        Parameters
        ----------
        alpha : float
        negative, positive : bool, default=True
            The answers that may be given early.

        Returns
        -------
        VotePolicy
        """
        low, high = math.log(CHEAPEST), math.log(DEAREST)
        best = self._at_price(DEAREST, negative, positive)
        for _ in range(BISECTIONS):
            middle = 0.5 * (low + high)
            policy = self._at_price(math.exp(middle), negative, positive)
            if policy.error <= alpha:
                high, best = middle, policy
            else:
                low = middle
        return best

    def evaluate(self, low: Ints, high: Ints) -> tuple[float, float]:
        """Disagreement and expected cost of a policy."""
        reach, error, cost = np.ones(1), 0.0, 0.0
        for t, i in enumerate(self.stages):
            reach = np.ones(i + 1) if t == 0 else reach @ self.steps[t - 1]
            j = np.arange(i + 1)
            down, up = j <= low[t], j >= high[t]
            error += float(reach @ (np.where(up, self.first[t], 0.0) + np.where(down, self.second[t], 0.0)))
            cost += float(self.costs[t] * (reach @ np.where(up | down, self.first[t] + self.second[t], 0.0)))
            reach = np.where(up | down, 0.0, reach)
        last = reach @ self.steps[-1] if len(self.steps) else np.ones(len(self.first[-1]))
        return error, cost + float(self.costs[-1] * (last @ (self.first[-1] + self.second[-1])))

    def _at_price(self, price: float, negative: bool, positive: bool) -> VotePolicy:
        """The policy of least expected cost, where a wrong answer costs `price` times full evaluation."""
        per_error = price * float(self.costs[-1])
        n = len(self.stages)
        low, high = np.full(n, -1), self.stages + 1
        ahead = np.zeros(len(self.first[-1]))
        for t in reversed(range(n)):
            going_on = (self.costs[t + 1] - self.costs[t]) * (self.first[t] + self.second[t]) + self.steps[t] @ ahead
            up = per_error * self.first[t] if positive else np.full(len(going_on), np.inf)
            down = per_error * self.second[t] if negative else np.full(len(going_on), np.inf)
            stops_up = (up <= going_on) & (up <= down)
            stops_down = (down <= going_on) & (down < up)
            high[t] = self.stages[t] + 1 - _run(stops_up[::-1])
            low[t] = _run(stops_down) - 1
            ahead = np.minimum(going_on, np.minimum(up, down))
        return VotePolicy(low, high, *self.evaluate(low, high))


def _run(stops: npt.NDArray[np.bool_]) -> int:
    """Number of leading True."""
    return len(stops) if stops.all() else int(stops.argmin())


def _earlier(later: int, i: int) -> Floats:
    """P(j of the first i votes | k of the first `later` are for the second class), of shape (i + 1, later + 1)."""
    j, k = np.arange(i + 1)[:, None], np.arange(later + 1)[None, :]
    possible = (j <= k) & (i - j <= later - k)
    with np.errstate(invalid="ignore"):
        logs = _log_choose(k, j) + _log_choose(later - k, i - j) - _log_choose(np.asarray(later), np.asarray(i))
    return np.where(possible, np.exp(np.where(possible, logs, 0.0)), 0.0)


def _log_choose(n: npt.NDArray[np.integer], k: npt.NDArray[np.integer]) -> Floats:
    return np.asarray(special.gammaln(n + 1.0) - special.gammaln(k + 1.0) - special.gammaln(n - k + 1.0))
