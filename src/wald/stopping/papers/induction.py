"""Backward induction: where to stop a Gaussian martingale so that it costs least for the errors allowed.

The walk is the standardised prediction of the full sum, minus the threshold: it starts at `start`, has variance
`clock` at each look and 1 at the end, and the full model answers by the sign of its end. A price on every wrong
answer makes the best policy a matter of comparing, look by look and from the last one, the price of stopping with
the expected cost of going on; the prices are then searched for those whose policy errs as often as it may.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage, special

from ..core.stage_scores import FloatArray

Floats = npt.NDArray[np.float64]

#: Distance of the grid's nodes, and how far it reaches beyond start and threshold, in deviations of the full sum.
STEP, REACH = 0.02, 6.0
#: A price is settled when this share of the errors allowed is spent, or when it is known to this factor.
SPENT, TOLERANCE = 0.995, 1.0005
#: Errors that cost more, or less than one over this, are forbidden, or free.
HIGHEST = 1e280
#: The prices of the two sides are solved in turn, this many times at most: they hardly touch each other.
MOST_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Policy:
    """Where to stop, and how often that is wrong.

    Attributes
    ----------
    levels : float64 array of shape (2, T)
        Exit upwards above the first row, downwards below the second; infinite where no walk may leave.
    errors : float64 array of shape (2,)
        Joint errors: exits upwards of walks that end below 0, and the reverse.
    cost : float
        Expected cost.
    """

    levels: Floats
    errors: Floats
    cost: float


@dataclass(frozen=True, eq=False)
class Problem:
    """A Gaussian martingale with checks that cost.

    Parameters
    ----------
    start : float
        Where the martingale starts.
    clock : float64 array of shape (T,)
        Its variance at every look: within [0, 1] and not falling.
    costs : float64 array of shape (T + 1,)
        Cost of a walk that ends at each look, and of the whole; rising.
    usable : bool array of shape (T,)
        StageScores at which walks may leave.
    """

    start: float
    clock: Floats
    costs: Floats
    usable: npt.NDArray[np.bool_]

    def best(self, allowed: Floats) -> Policy:
        """Find the cheapest policy whose joint errors are `allowed`, of shape (2,), where 0 closes a side.

        Where the errors jump over what is allowed (a first check without information sends all walks the same
        way), the policy before the jump is returned.
        """
        evaluate = self._evaluator()
        open_sides = [side for side in (0, 1) if allowed[side] > 0.0 and self.usable.any()]
        prices = np.full(2, np.inf)
        with np.errstate(over="ignore"):  # errors allowed may be as small as numbers are
            prices[open_sides] = np.minimum((self.costs[-1] - self.costs[0]) / allowed[open_sides], HIGHEST)
        policy = evaluate(prices)
        for _ in range(MOST_ROUNDS):
            for side in open_sides:
                prices, policy = _settle(evaluate, prices, side, float(allowed[side]))
            spent = policy.errors[open_sides] / allowed[open_sides]
            if len(open_sides) < 2 or ((spent <= 1.0) & (spent >= SPENT)).all():
                break
        return policy

    def _evaluator(self) -> Callable[[Floats], Policy]:
        """Lay out the grid once; the result evaluates the best policy for the prices of errors of both sides."""
        low, high = min(0.0, self.start) - REACH, max(0.0, self.start) + REACH
        x = np.arange(math.floor(low / STEP), math.ceil(high / STEP) + 1, dtype=np.float64) * STEP
        kernels = [_kernel(v) for v in np.diff(self.clock, prepend=0.0)]
        sd = np.sqrt(np.maximum(1.0 - self.clock, 1e-12))
        # Probability that a walk seen at x ends on the other side, if it leaves upwards and if downwards.
        wrong = special.ndtr(np.stack([-x, x]) / sd[:, None, None])
        looking = np.diff(self.costs)

        def evaluate(prices: Floats) -> Policy:
            levels = np.tile([[np.inf], [-np.inf]], len(self.clock))
            # What is to come, by where the walk is: cost with the price of errors, cost, and the two errors.
            ahead = np.zeros((4, x.size))
            for t in range(len(self.clock) - 1, -1, -1):
                ahead[:2] += looking[t]
                if self.usable[t]:
                    stop = np.where(np.isfinite(prices)[:, None], wrong[t] * np.minimum(prices, 1e300)[:, None], np.inf)
                    otherwise = np.minimum(ahead[0], stop[::-1])
                    levels[0, t] = _last_crossing(x, otherwise[0] - stop[0])
                    levels[1, t] = -_last_crossing(-x[::-1], (otherwise[1] - stop[1])[::-1])
                    ahead[0] = np.minimum(otherwise[0], stop[0])
                    # A cell of the grid that the level divides counts by parts.
                    up = np.clip((x - levels[0, t]) / STEP + 0.5, 0.0, 1.0)
                    down = np.minimum(np.clip((levels[1, t] - x) / STEP + 0.5, 0.0, 1.0), 1.0 - up)
                    ahead[1:] *= 1.0 - up - down
                    ahead[2:] += np.stack([up, down]) * wrong[t]
                ahead = ndimage.correlate1d(ahead, kernels[t], axis=1, mode="nearest")
            at_start = [float(np.interp(self.start, x, row)) for row in ahead[1:]]
            return Policy(levels, np.array(at_start[1:]), float(self.costs[0]) + at_start[0])

        return evaluate


def _settle(evaluate: Callable[[Floats], Policy], prices: Floats, side: int, allowed: float) -> tuple[Floats, Policy]:
    """Bisect the price of one side's errors, the other side's fixed, for the lowest that keeps within `allowed`."""

    def at(price: float) -> tuple[Floats, Policy]:
        changed = prices.copy()
        changed[side] = price
        return changed, evaluate(changed)

    low = high = min(float(prices[side]), HIGHEST)
    kept = at(high)
    factor = 1.1
    while kept[1].errors[side] > allowed:
        low, high = high, high * factor if high < HIGHEST else np.inf
        kept, factor = at(high), min(factor**2, 1e20)
    while low == high and low > 1.0 / HIGHEST and kept[1].errors[side] < SPENT * allowed:
        tried = at(low / factor)
        if tried[1].errors[side] > allowed:
            low /= factor
        else:
            low = high = low / factor
            kept, factor = tried, min(factor**2, 1e20)
    while np.isfinite(high) and high > TOLERANCE * low and kept[1].errors[side] < SPENT * allowed:
        middle = math.sqrt(low) * math.sqrt(high)
        tried = at(middle)
        if tried[1].errors[side] > allowed:
            low = middle
        else:
            high, kept = middle, tried
    return kept


def _kernel(variance: float) -> Floats:
    """Weights of a centred normal step on the grid, with its exact variance."""
    if variance < STEP**2:
        share = 0.5 * variance / STEP**2
        return np.array([share, 1.0 - 2.0 * share, share])
    width = math.ceil(REACH * math.sqrt(variance) / STEP)
    weights = np.exp(-0.5 * (np.arange(-width, width + 1) * STEP) ** 2 / variance)
    return np.asarray(weights / weights.sum())


def _last_crossing(x: FloatArray, gain: FloatArray) -> float:
    """Where `gain` last turns positive on its way up: infinite if it never ends positive, or is positive all over."""
    behind = np.flatnonzero(gain <= 0.0)
    if behind.size == 0:
        return -math.inf
    k = int(behind[-1])
    if k == x.size - 1:
        return math.inf
    share = gain[k] / (gain[k] - gain[k + 1])
    return float(x[k] + share * (x[k + 1] - x[k]))
