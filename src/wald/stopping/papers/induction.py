"""Backward induction: the cheapest stopping policy of a Gaussian martingale with the allowed errors.

The walk is the standardised prediction of the full sum, minus the threshold: it starts at `start`, has variance
`clock` at each stage and 1 at the end, and the full model answers by the sign of its end. With a price on every wrong
answer, backward induction compares the price of stopping at each stage with the expected cost of going on. A search
then finds the prices whose policy makes the allowed errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage, special

from ...utils.stage_table import FloatArray

Floats = npt.NDArray[np.float64]

#: Spacing of the grid, and its extent beyond start and threshold, in standard deviations of the full sum.
STEP, REACH = 0.02, 6.0
#: The search for a price ends when this share of the allowed errors is made, or when the price is known to this factor.
SPENT, TOLERANCE = 0.995, 1.0005
#: Errors at prices above this are forbidden; errors at prices below its inverse are free.
HIGHEST = 1e280
#: Most rounds in which the prices of the two sides are found in turn; each hardly changes the other.
MOST_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Policy:
    """Levels at which to stop, and their errors and cost.

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
    """A Gaussian martingale with stages that cost.

    Parameters
    ----------
    start : float
        Start of the martingale.
    clock : float64 array of shape (T,)
        Its variance at every stage, within [0, 1] and not falling.
    costs : float64 array of shape (T + 1,)
        Cost of a walk that ends at each stage, and of the whole walk; rising.
    usable : bool array of shape (T,)
        Stages at which walks may leave.
    """

    start: float
    clock: Floats
    costs: Floats
    usable: npt.NDArray[np.bool_]

    def best(self, allowed: Floats) -> Policy:
        """Find the cheapest policy whose joint errors are `allowed`, of shape (2,), where 0 closes a side.

        Where the errors jump over `allowed` (a first stage without information sends all walks to the same side), the
        policy before the jump is returned.
        """
        evaluate = self._evaluator()
        open_sides = [side for side in (0, 1) if allowed[side] > 0.0 and self.usable.any()]
        prices = np.full(2, np.inf)
        with np.errstate(over="ignore"):  # allowed errors may be subnormal
            prices[open_sides] = np.minimum((self.costs[-1] - self.costs[0]) / allowed[open_sides], HIGHEST)
        policy = evaluate(prices)
        for _ in range(MOST_ROUNDS):
            for side in open_sides:
                prices, policy = _price(evaluate, prices, side, float(allowed[side]))
            spent = policy.errors[open_sides] / allowed[open_sides]
            if len(open_sides) < 2 or ((spent <= 1.0) & (spent >= SPENT)).all():
                break
        return policy

    def _evaluator(self) -> Callable[[Floats], Policy]:
        """Build the grid, and return a function from the prices of both sides' errors to the best policy."""
        low, high = min(0.0, self.start) - REACH, max(0.0, self.start) + REACH
        x = np.arange(math.floor(low / STEP), math.ceil(high / STEP) + 1, dtype=np.float64) * STEP
        kernels = [_kernel(v) for v in np.diff(self.clock, prepend=0.0)]
        sd = np.sqrt(np.maximum(1.0 - self.clock, 1e-12))
        # Probability that a walk at x ends on the other side, for exits upwards and downwards.
        wrong = special.ndtr(np.stack([-x, x]) / sd[:, None, None])
        cost_of_next = np.diff(self.costs)

        def evaluate(prices: Floats) -> Policy:
            levels = np.tile([[np.inf], [-np.inf]], len(self.clock))
            # Expectations of the rest of a walk at each node: cost with the price of errors, cost, and the two errors.
            ahead = np.zeros((4, x.size))
            for t in range(len(self.clock) - 1, -1, -1):
                ahead[:2] += cost_of_next[t]
                if self.usable[t]:
                    stop = np.where(np.isfinite(prices)[:, None], wrong[t] * np.minimum(prices, 1e300)[:, None], np.inf)
                    otherwise = np.minimum(ahead[0], stop[::-1])
                    levels[0, t] = _last_crossing(x, otherwise[0] - stop[0])
                    levels[1, t] = -_last_crossing(-x[::-1], (otherwise[1] - stop[1])[::-1])
                    ahead[0] = np.minimum(otherwise[0], stop[0])
                    # A cell of the grid that the level divides counts in part for both sides.
                    up = np.clip((x - levels[0, t]) / STEP + 0.5, 0.0, 1.0)
                    down = np.minimum(np.clip((levels[1, t] - x) / STEP + 0.5, 0.0, 1.0), 1.0 - up)
                    ahead[1:] *= 1.0 - up - down
                    ahead[2:] += np.stack([up, down]) * wrong[t]
                ahead = ndimage.correlate1d(ahead, kernels[t], axis=1, mode="nearest")
            at_start = [float(np.interp(self.start, x, row)) for row in ahead[1:]]
            return Policy(levels, np.array(at_start[1:]), float(self.costs[0]) + at_start[0])

        return evaluate


def _price(evaluate: Callable[[Floats], Policy], prices: Floats, side: int, allowed: float) -> tuple[Floats, Policy]:
    """Bisect for the lowest price of one side's errors that keeps them within `allowed`; the other price is fixed."""

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
    """Last point at which `gain` turns positive: inf if it does not end positive, -inf if it is always positive."""
    not_positive = np.flatnonzero(gain <= 0.0)
    if not_positive.size == 0:
        return -math.inf
    k = int(not_positive[-1])
    if k == x.size - 1:
        return math.inf
    share = gain[k] / (gain[k] - gain[k + 1])
    return float(x[k] + share * (x[k + 1] - x[k]))
