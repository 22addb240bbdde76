"""Exact statements about paired errors: how much more often early answers are wrong than the full model's.

A row is *worse* where the early answer is wrong and the full model's is right, and *better* where it is the other way
round. All other rows lose nothing: both are right, or both are wrong.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from .betting import bisect_for_risk
from .binomial import rows_needed, upper_bound
from .validation import require_fraction

#: Part of the level that may be spent on not knowing how many rows are worse or better at all.
_NUISANCE = 0.1
#: Standard deviations, and rows, beyond which the probability of a number of better rows is left out.
_FAR, _FARTHER = 12.0, 30
#: Below this risk, the number of rows that are needed is in proportion to that at this risk.
_LEAST = 1e-6


def paired_p_value(n_worse: int, n_better: int, n: int, risk: float, *, level: float = 0.05) -> float:
    """P-value against "P(worse) - P(better) is `risk` or more", from counts of independent rows.

    Valid for every `n`, without approximation. Of rows that are worse or better with probability d, the more there are
    the less the counts say. With all but a tenth of the `level`, the probability of so small a difference is taken at
    the upper confidence limit of d, and a tenth is the probability that d is larger than this limit.

    Parameters
    ----------
    n_worse, n_better : int
        Numbers of rows that are worse and better.
    n : int
        Number of all rows.
    risk : float
        Strictly between -1 and 1.
    level : float, default=0.05
        The level that the p-value will be compared with.

    Returns
    -------
    float
        1 where the difference is about the risk or larger.

    Raises
    ------
    ValueError
        If `risk` or `level` is out of range, or the counts are not those of `n` rows.

    Notes
    -----
    Given d, the probability falls as P(worse) grows, so that it is largest where the difference is the risk. It then
    rises with d: up to d = 1/2, one minus the loss of a row is a sum of two independent numbers that are 0 or 1, so
    that the sum T over all rows has one mode, next to its mean, and the derivative of P(T <= t) by d is n / 2 times
    P(T' = t + 1) - P(T' = t), for T' of n - 1 rows. Beyond d = 1/2, Hoeffding's bound takes its place, for every d.

    References
    ----------
    R. L. Berger and D. D. Boos, "P values maximized over a confidence set for the nuisance parameter", Journal of the
    American Statistical Association 89(427), 1994. J. N. Darroch, "On the distribution of the number of successes in
    independent trials", Annals of Mathematical Statistics 35(3), 1964.

    Examples
    --------
    >>> round(paired_p_value(30, 10, 10_000, 0.005), 4)
    0.005
    >>> round(paired_p_value(120, 100, 10_000, 0.005), 4), paired_p_value(60, 0, 10_000, 0.005)
    (0.0384, 1.0)
    """
    if not -1.0 < risk < 1.0:
        raise ValueError(f"The 'risk' parameter of paired_p_value must lie strictly between -1 and 1. Got {risk!r}.")
    require_fraction("paired_p_value", "level", level)
    if min(n_worse, n_better) < 0 or n_worse + n_better > n:
        raise ValueError(f"paired_p_value: {n_worse} worse and {n_better} better rows are not of {n} rows.")
    if n == 0:
        return 1.0
    nuisance, total = _NUISANCE * level, n_worse - n_better
    either = max(abs(risk), upper_bound(n_worse + n_better, n, 1.0 - nuisance))
    if either > 0.5:
        return min(1.0, nuisance + math.exp(-0.5 * n * max(0.0, risk - total / n) ** 2))
    if total + 1 > (n - 1) * risk:
        return 1.0
    return min(1.0, nuisance + _at_most(total, n, (either + risk) / 2, (either - risk) / 2))


def _at_most(total: int, n: int, worse: float, better: float) -> float:
    """Probability that the worse of `n` rows are at most `total` more than the better; rounded up."""
    mean, deviation = n * better, math.sqrt(n * better * (1.0 - better))
    low = max(0, -total, math.floor(mean - _FAR * deviation) - _FARTHER)
    high = min(n, math.ceil(mean + _FAR * deviation) + _FARTHER)
    j = np.arange(low, high + 1)  # better rows
    if len(j) == 0:
        return 0.0
    log_ways = float(special.gammaln(n + 1)) - special.gammaln(j + 1) - special.gammaln(n - j + 1)
    chance = np.exp(log_ways + special.xlogy(j, better) + special.xlog1py(n - j, -better))
    most_worse = np.minimum(total + j, n - j)
    found = float(chance @ special.bdtr(most_worse, n - j, worse / (1.0 - better)))
    rest = [special.bdtr(low - 1, n, better)] * (low > max(0, -total)) + [special.bdtrc(high, n, better)] * (high < n)
    return found + float(sum(rest))


def paired_rows_needed(risk: float, confidence: float) -> int:
    """Rows without which no promise about paired errors is possible if none is worse or better.

    Parameters
    ----------
    risk, confidence : float
        Strictly between 0 and 1.

    Examples
    --------
    >>> paired_rows_needed(0.01, 0.95), paired_rows_needed(0.001, 0.95)
    (408, 4097)
    """
    if risk < _LEAST:  # a sum over so many rows takes more time than the number is worth
        return max(math.ceil(paired_rows_needed(_LEAST, confidence) * (_LEAST / risk)), rows_needed(risk, confidence))
    level = 1.0 - confidence
    low = rows_needed(risk, confidence) - 1
    high = 2 * low + 2
    while paired_p_value(0, 0, high, risk, level=level) > level:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if paired_p_value(0, 0, middle, risk, level=level) <= level:
            high = middle
        else:
            low = middle
    return high


def paired_smallest_risk(n: int, confidence: float) -> float:
    """Smallest risk that `n` rows can back if none is worse or better; 1 without rows, or with few."""
    return paired_upper_bound(0, 0, n, confidence)


def paired_upper_bound(n_worse: int, n_better: int, n: int, confidence: float) -> float:
    """Upper confidence limit of P(worse) - P(better): the risk at which `paired_p_value` is 1 - `confidence`.

    Examples
    --------
    >>> round(paired_upper_bound(30, 10, 10_000, 0.95), 4)
    0.0033
    """
    level = 1.0 - confidence

    def ruled_out(half: float) -> bool:
        risk = 2.0 * half - 1.0
        return abs(risk) < 1.0 and paired_p_value(n_worse, n_better, n, risk, level=level) <= level

    return 2.0 * bisect_for_risk(ruled_out, 1.0) - 1.0


def paired_interval(n_worse: int, n_better: int, n: int, confidence: float) -> tuple[float, float]:
    """Two-sided confidence interval of P(worse) - P(better).

    Examples
    --------
    >>> [round(limit, 4) for limit in paired_interval(30, 10, 10_000, 0.95)]
    [0.0004, 0.0036]
    """
    tail = (1.0 + confidence) / 2.0
    return -paired_upper_bound(n_better, n_worse, n, tail), paired_upper_bound(n_worse, n_better, n, tail)
