"""The greedy order of "Quit When You Can": the unit that decides most rows per cost comes first."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..stopping.core.survivors import allowed, loosest_pair
from ..stopping.core.validation import require_share
from ..utils.exits import exits
from .moments import Floats
from .order import Ints

#: Largest number of units that are searched: those whose contributions vary most per cost.
MAX_SEARCHED = 500


def qwyc_order(values: ArrayLike, scores: ArrayLike, threshold: float, costs: ArrayLike, alpha: float) -> Ints:
    """Order units greedily by the number of plan rows that they decide.

    Every step tries each unit left: its values are added to the running sums of the undecided rows, and the loosest
    pair of thresholds is placed that keeps the wrong decisions of all steps within `alpha` times the rows. The unit
    with the smallest ``cost * undecided / newly decided`` is taken. If no unit decides any row, or all rows are
    decided, the unit whose value varies most per cost is taken.

    Parameters
    ----------
    values : array-like of shape (n_rows, n_units)
        Contribution of each unit to the score of each row.
    scores : array-like of shape (n_rows,)
        Full scores.
    threshold : float
        The full model answers positive above it.
    costs : array-like of shape (n_units,)
        Positive.
    alpha : float
        Share of the rows that may be decided otherwise than by the full score; at least 0, below 1.

    Returns
    -------
    int64 array of shape (n_units,)
        Every unit once. Among more than 500, those whose values vary most per cost are searched; the others follow.

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, a cost is not positive, or `alpha` is out of range.

    Notes
    -----
    The time is O(n_units ** 2 * n_rows) at worst, and far less where rows are decided soon.

    References
    ----------
    S. Wang, M. R. Gupta and S. You, "Quit When You Can: Efficient Evaluation of Ensembles with Ordering
    Optimization", 2018, arXiv 1806.11202, algorithm 1. The thresholds are the exact ones, without bisection.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> values = rng.normal(size=(500, 4)) * [0.1, 3.0, 0.1, 1.0]
    >>> qwyc_order(values, values.sum(axis=1), 0.0, np.ones(4), alpha=0.01)[:2].tolist()
    [1, 3]
    """
    values, full, price = (np.asarray(a, dtype=np.float64) for a in (values, scores, costs))
    _check(values, full, price, threshold, alpha)
    by_spread = np.argsort(-values.std(axis=0) / price, kind="stable").astype(np.int64)
    searched = by_spread[:MAX_SEARCHED]
    order = _search(values[:, searched].T, full > threshold, price[searched], alpha)
    return np.concatenate([searched[order], by_spread[MAX_SEARCHED:]])


def unit_sums(values: Floats, pool: Ints, coef: Floats, members: Sequence[Ints]) -> tuple[Ints, Floats]:
    """Contribution of each unit to the score of each row, for the units whose terms are all in the pool.

    Parameters
    ----------
    values : ndarray of shape (n_rows, n_pool)
        Values of the terms in the pool.
    pool : int array of shape (n_pool,)
    coef : ndarray of shape (n_terms,)
    members : sequence of int arrays
        The terms of each unit.

    Returns
    -------
    units : int64 array of shape (n_known,)
    sums : ndarray of shape (n_rows, n_known)
    """
    position = np.full(len(coef), -1)
    position[pool] = np.arange(len(pool))
    units = np.array([u for u, terms in enumerate(members) if (position[terms] >= 0).all()], dtype=np.int64)
    sums = np.empty((len(values), len(units)))
    for column, u in enumerate(units):
        sums[:, column] = values[:, position[members[u]]] @ coef[members[u]]
    return units, sums


def _search(values: Floats, positive: NDArray[np.bool_], costs: Floats, alpha: float) -> Ints:
    """Order units by their values (n_units, n_rows); the first of equal units is taken."""
    budget = allowed(alpha, positive.size)
    plus, minus = _Undecided(values[:, positive]), _Undecided(values[:, ~positive])
    left = list(range(len(costs)))
    order: list[int] = []
    while left and plus.n + minus.n:
        best, least, pair = left[0], np.inf, (-np.inf, np.inf)
        for unit in left:
            up, down = plus.sums + plus.values[unit], minus.sums + minus.values[unit]
            low, high = _thresholds(up, down, budget)
            n_decided = sum(np.count_nonzero(exits(s, low, high)[0]) for s in (up, down))
            ratio = costs[unit] * (plus.n + minus.n) / n_decided if n_decided else np.inf
            if ratio < least:
                best, least, pair = unit, ratio, (low, high)
        order.append(best)
        left.remove(best)
        budget -= plus.advance(best, *pair)[0] + minus.advance(best, *pair)[1]
    return np.array(order + left, dtype=np.int64)


class _Undecided:
    """The rows of one class that are not decided yet, with the sums of the units taken."""

    def __init__(self, values: Floats) -> None:
        self.values = np.ascontiguousarray(values)
        self.sums = np.zeros(values.shape[1])

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.sums.size

    def advance(self, unit: int, low: float, high: float) -> tuple[int, int]:
        """Add a unit and remove decided rows; returns how many left on the low and on the high side."""
        self.sums = self.sums + self.values[unit]
        leaves, up = exits(self.sums, low, high)
        stay = np.flatnonzero(~leaves)
        if stay.size < self.n:
            self.values, self.sums = np.take(self.values, stay, axis=1), self.sums[stay]
        n_up = int(np.count_nonzero(up))
        return int(np.count_nonzero(leaves)) - n_up, n_up


def _thresholds(up: Floats, down: Floats, budget: int) -> tuple[float, float]:
    """Loosest thresholds for sums of rows that are positive (`up`) and negative (`down`)."""
    if budget > 0:
        low, high = loosest_pair(np.concatenate([up, down]), up, down, budget)
    else:
        low, high = up.min(initial=np.inf), down.max(initial=-np.inf)
    if high < low:  # the classes do not overlap, so one point between them decides every row
        if np.isfinite(low) and np.isfinite(high):
            middle = 0.5 * (low + high)
        else:
            middle = np.nextafter(high, np.inf) if np.isfinite(high) else np.nextafter(low, -np.inf)
        return middle, middle
    return float(low), float(high)


def _check(values: Floats, scores: Floats, costs: Floats, threshold: float, alpha: float) -> None:
    if values.ndim != 2 or scores.shape != values.shape[:1] or costs.shape != values.shape[1:]:
        raise ValueError(
            f"qwyc_order needs values (N, U), scores (N,) and costs (U,). "
            f"Got {values.shape}, {scores.shape} and {costs.shape}."
        )
    if not (np.isfinite(values).all() and np.isfinite(scores).all() and np.isfinite(threshold)):
        raise ValueError("qwyc_order needs finite values, scores and threshold.")
    if not (np.isfinite(costs) & (costs > 0.0)).all():
        raise ValueError("The costs of qwyc_order must be finite and positive.")
    require_share("qwyc_order", "alpha", alpha)
