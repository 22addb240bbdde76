"""Plan rows on their way through the stages, and thresholds chosen on the rows that are still active."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...utils.exits import exits
from .walk import Float64Array, Walk


class Survivors:
    """The plan rows that have not left yet.

    Parameters
    ----------
    walk : Walk
    """

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._margins = walk.margins
        self._active = np.ones(walk.n_rows, dtype=bool)

    @property
    def n_rows(self) -> int:
        """Number of active rows."""
        return int(np.count_nonzero(self._active))

    def margins(self, t: int) -> Float64Array:
        """Margins of the active rows at stage `t`, without NaN, which never leaves."""
        seen = self._margins[self._active, t]
        return np.asarray(seen[~np.isnan(seen)], dtype=np.float64)

    def wrong(self, t: int) -> tuple[Float64Array, Float64Array]:
        """Margins of the active rows for which leaving low would be wrong, and leaving high."""
        low, high = self._wrong(t)
        return self._margins[low, t], self._margins[high, t]

    def leave(self, t: int, low: float, high: float) -> tuple[int, int]:
        """Let rows leave at stage `t`; count those that leave wrongly on the low and on the high side."""
        leaves, above = exits(self._margins[:, t], low if self._walk.two_sided else None, high)
        wrong_low, wrong_high = self._wrong(t)
        counts = np.count_nonzero(wrong_low & leaves & ~above), np.count_nonzero(wrong_high & above)
        self._active &= ~leaves
        return int(counts[0]), int(counts[1])

    def _wrong(self, t: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        walk = self._walk
        usable = self._active & ~np.isnan(self._margins[:, t])
        high = usable & (walk.lost_at(t) > 0)
        return usable & (walk.lost_at(t, above=False) > 0) if walk.two_sided else np.zeros_like(usable), high


def allowed(share: float, n: int) -> int:
    """Largest count k of `n` rows with ``k / n <= share``, free of the rounding of `share` times `n`.

    Examples
    --------
    >>> allowed(0.29, 100), int(0.29 * 100)
    (29, 28)
    """
    if n == 0:
        return 0
    k = min(n, int(share * n) + 1)
    while k > 0 and k / n > share:
        k -= 1
    return k


def loosest(scores: Float64Array, budget: int) -> float:
    """Smallest threshold above which no more than `budget` of the `scores` lie; -inf if any threshold will do.

    Examples
    --------
    >>> import numpy as np
    >>> loosest(np.array([3.0, 1.0, 2.0]), 1), loosest(np.array([3.0]), 1)
    (2.0, -inf)
    """
    if budget >= scores.size:
        return -np.inf
    position = scores.size - 1 - budget
    return float(np.partition(scores, position)[position])


def loosest_pair(
    scores: Float64Array, wrong_low: Float64Array, wrong_high: Float64Array, budget: int
) -> tuple[float, float]:
    """Place the two thresholds, splitting the `budget` between the sides such that most of the `scores` leave."""
    ranked = np.sort(scores)
    n_high = np.arange(budget + 1)  # mistakes allowed on the high side; the low side has the rest
    high = _loosest_by_budget(wrong_high, budget)
    low = -_loosest_by_budget(-wrong_low, budget)[::-1]
    leave = len(ranked) - np.searchsorted(ranked, high, side="right") + np.searchsorted(ranked, low, side="left")
    best = n_high[np.argmax(np.minimum(leave, len(ranked)))]
    return float(low[best]), float(high[best])


def _loosest_by_budget(wrong: Float64Array, budget: int) -> Float64Array:
    """`loosest` for the budgets 0 to `budget`, of shape (budget + 1,)."""
    thresholds = np.full(budget + 1, -np.inf)
    worst = np.sort(wrong)[::-1][: budget + 1]
    thresholds[: len(worst)] = worst
    return thresholds


def reconciled(low: float, high: float, theta: float) -> tuple[float, float]:
    """Reconcile a pair of thresholds that were placed independently.

    A side without rows that limit it (`high` = -inf, `low` = +inf) opens from the decision threshold `theta` on. Where
    the two overlap, every row may leave: both move to one point, the nearest to `theta` in the overlap.

    Examples
    --------
    >>> reconciled(-2.0, 3.0, 0.0), reconciled(4.0, 1.0, 0.0), reconciled(-np.inf, -np.inf, 0.5)
    ((-2.0, 3.0), (1.0, 1.0), (-inf, 0.5))
    """
    if high < low:
        middle = min(max(theta, high), low)
        return middle, middle
    return (theta if low == np.inf else low), (theta if high == -np.inf else high)
