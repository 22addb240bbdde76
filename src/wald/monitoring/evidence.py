"""Evidence against a hypothesis that may be read after every row, from counts alone.

Every function returns the logarithm of the capital of a gambler who bets against the hypothesis. If it is true, the
capital exceeds ``1 / level`` at any time with probability `level` at most (Ville's inequality). The bets are mixtures
over a conjugate prior (Robbins), so that the capital depends on counts alone: counts of several streams of independent
rows add up.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Counts = Sequence[float] | npt.NDArray[np.int64]

#: Weight of the prior of a rate, in events. It has this share of the capital; the rest is for rates far from it.
_RATE_EVENTS, _AIMED = 6.0, 0.75
#: Weight of the prior of each share.
_SHARE_ROWS = 0.5
_BISECTIONS = 60


def log_rate_evidence(events: float, n: float, rate: float, aimed_at: float) -> float:
    """Evidence that the rate of an event is not ``rate``.

    Losses between 0 and 1 count as parts of events: the likelihood of a trial is then convex in its loss, so that the
    capital grows no faster than with events of the same rate.

    Parameters
    ----------
    events, n : number
        Events among `n` independent trials, or the sum of their losses.
    rate : float
        Between 0 and 1, both included.
    aimed_at : float
        The rate at which the evidence shall grow fastest, strictly between 0 and 1.

    Returns
    -------
    float
        Logarithm of the capital; infinite if the events are impossible.
    """
    if (rate <= 0.0 and events > 0) or (rate >= 1.0 and events < n):
        return math.inf
    aimed = (_RATE_EVENTS, _RATE_EVENTS * (1.0 - aimed_at) / aimed_at)
    each = [_log_beta(a + events, b + n - events) - _log_beta(a, b) for a, b in (aimed, (0.5, 0.5))]
    mixture = np.logaddexp(math.log(_AIMED) + each[0], math.log1p(-_AIMED) + each[1])
    likelihood = (events * math.log(rate) if events else 0.0) + ((n - events) * math.log1p(-rate) if n > events else 0)
    return float(mixture - likelihood)


def rate_interval(events: float, n: float, level: float, aimed_at: float) -> tuple[float, float]:
    """Rates that the trials do not refute: they hold at all times together, but for the probability ``level``."""
    if n == 0:
        return 0.0, 1.0
    limit, best = math.log(1.0 / level), events / n

    def refuted(rate: float) -> bool:
        return log_rate_evidence(events, n, rate, aimed_at) >= limit

    low = _border(refuted, 0.0, best) if refuted(0.0) else 0.0
    high = _border(refuted, 1.0, best) if refuted(1.0) else 1.0
    return low, high


def log_shift_evidence(counts: Counts, reference: Counts) -> float:
    """Evidence that rows fall into categories with other probabilities than earlier rows did.

    Parameters
    ----------
    counts, reference : sequence of int of equal length
        Rows in each category, now and earlier.

    Returns
    -------
    float
        Logarithm of a lower bound of the capital, whatever the common probabilities are.
    """
    both = [new + old for new, old in zip(counts, reference, strict=True)]
    return _log_mixture(counts) + _log_mixture(reference) - _log_most(both)


def mean_interval(counts: Counts, values: Sequence[float], level: float) -> tuple[float, float]:
    """Means of a variable with known values that the rows do not refute, at all times but for ``level``.

    Parameters
    ----------
    counts : sequence of int
        Rows with each value.
    values : sequence of float
    level : float
    """
    n, c = np.asarray(counts, dtype=np.float64), np.asarray(values, dtype=np.float64)
    if n.sum() == 0:
        return float(c.min()), float(c.max())
    least = _log_mixture(counts) - math.log(1.0 / level)  # of the log-likelihood of probabilities that are kept
    return -_largest_mean(n, -c, least), _largest_mean(n, c, least)


def _largest_mean(n: npt.NDArray[np.float64], c: npt.NDArray[np.float64], least: float) -> float:
    """Largest mean of `c` over probabilities under which the counts have a log-likelihood of at least `least`.

    They are proportional to n / (limit - c) for some limit above all values; a value without rows takes what is left.
    """
    seen, top = n > 0, float(c.max())
    ns, cs = n[seen], c[seen]
    spread = top - float(c.min())
    if spread == 0.0:
        return top

    def at(limit: float) -> tuple[float, float]:
        p = ns / (limit - cs)
        p /= p.sum()
        return float(ns @ np.log(p)), float(p @ cs)

    if cs.max() < top:
        likelihood, mean = at(top)
        if likelihood >= least:
            rest = -math.expm1((least - likelihood) / ns.sum())
            return (1.0 - rest) * mean + rest * top
    low, high = math.log(1e-12 * spread), math.log(1e12 * spread)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if at(top + math.exp(middle))[0] >= least else (middle, high)
    return at(top + math.exp(high))[1]


def _log_mixture(counts: Counts) -> float:
    """Log-probability of a sequence of categories under a Dirichlet prior."""
    weight, total = _SHARE_ROWS, int(sum(counts))
    start = len(counts) * weight
    each = sum(math.lgamma(weight + count) - math.lgamma(weight) for count in counts if count)
    return each + math.lgamma(start) - math.lgamma(start + total)


def _log_most(counts: Counts) -> float:
    """Log-probability of a sequence of categories under the probabilities that fit it best."""
    total = sum(counts)
    return sum(count * math.log(count / total) for count in counts if count)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _border(refuted: object, outside: float, inside: float) -> float:
    assert callable(refuted)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (outside + inside)
        outside, inside = (middle, inside) if refuted(middle) else (outside, middle)
    return outside
