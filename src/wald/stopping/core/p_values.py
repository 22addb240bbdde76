"""P-values for a mean loss in [0, 1], where `binomial.p_value` is for losses of 0 or 1."""

from __future__ import annotations

import math

from .betting import bisect_for_risk
from .binomial import p_value
from .validation import require_fraction


def hoeffding_p_value(total: float, n: int, risk: float) -> float:
    """P-value of Hoeffding (and Chernoff) against "the mean loss is `risk` or more".

    Parameters
    ----------
    total : float
        Sum of `n` independent losses, each in [0, 1]. The sum, not the mean: a mean times n can round to the next
        whole number.
    n : int
        Number of losses.
    risk : float
        Strictly between 0 and 1.

    Returns
    -------
    float
        ``exp(-n KL(min(total / n, risk), risk))``; 1 without losses.

    Raises
    ------
    ValueError
        If `risk` is out of range or `total` does not lie between 0 and `n`.

    References
    ----------
    W. Hoeffding, "Probability inequalities for sums of bounded random variables", 1963, equation 2.1.

    Examples
    --------
    >>> round(hoeffding_p_value(2, 200, 0.05), 8)
    0.00710306
    """
    _check("hoeffding_p_value", total, n, risk)
    if n == 0:
        return 1.0
    mean = min(total / n, risk)
    divergence = mean * math.log(mean / risk) if mean > 0.0 else 0.0
    divergence += (1.0 - mean) * (math.log1p(-mean) - math.log1p(-risk))
    return math.exp(-n * max(0.0, divergence))


def hoeffding_interval(total: float, n: int, confidence: float) -> tuple[float, float]:
    """Two-sided confidence interval of a mean loss, by inversion of `hoeffding_p_value`.

    Examples
    --------
    >>> low, high = hoeffding_interval(2.5, 200, 0.95)
    >>> round(low, 4), round(high, 4)
    (0.0012, 0.0468)
    """
    level = 0.5 * (1.0 - confidence)

    def upper(lost: float) -> float:
        if n == 0 or lost >= n:
            return 1.0
        return bisect_for_risk(lambda risk: hoeffding_p_value(lost, n, risk) <= level, 1.0)

    return 1.0 - upper(n - total), upper(total)


def bentkus_p_value(total: float, n: int, risk: float) -> float:
    """P-value of Bentkus against "the mean loss is `risk` or more": e times a binomial probability.

    Parameters are those of `hoeffding_p_value`.

    References
    ----------
    V. Bentkus, "On Hoeffding's inequalities", Annals of Probability 32(2), 2004.

    Examples
    --------
    >>> round(bentkus_p_value(2, 200, 0.05), 8)
    0.00635071
    """
    _check("bentkus_p_value", total, n, risk)
    return min(1.0, math.e * p_value(math.ceil(total), n, risk))


def hoeffding_bentkus_p_value(total: float, n: int, risk: float) -> float:
    """Return the smaller of the p-values of Hoeffding and of Bentkus, which is one too.

    Parameters are those of `hoeffding_p_value`. For losses of 0 or 1 the exact `p_value` is smaller.

    References
    ----------
    S. Bates, A. Angelopoulos, L. Lei, J. Malik and M. Jordan, "Distribution-free, risk-controlling prediction sets",
    Journal of the ACM 68(6), 2021: the Hoeffding-Bentkus bound, by inversion of one pooled tail probability.

    Examples
    --------
    >>> round(hoeffding_bentkus_p_value(5, 1000, 0.01), 6)
    0.179786
    """
    return min(hoeffding_p_value(total, n, risk), bentkus_p_value(total, n, risk))


def _check(owner: str, total: float, n: int, risk: float) -> None:
    require_fraction(owner, "risk", risk)
    if not 0 <= total <= n:
        raise ValueError(f"The 'total' parameter of {owner} must lie between 0 and n = {n}. Got {total!r} instead.")
