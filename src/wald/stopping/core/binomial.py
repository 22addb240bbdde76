"""Exact binomial statements about k disagreements among n rows."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy import special

from .validation import require_fraction


def p_value(k: int, n: int, risk: float) -> float:
    """Probability of at most `k` disagreements among `n` rows if each disagrees with probability `risk`.

    A small value speaks against a disagreement of `risk` or more (an exact p-value in the sense of
    Angelopoulos et al., "Learn then Test"). Pass integer counts: a rate times n can round to the next integer.

    Examples
    --------
    >>> round(p_value(2, 200, 0.05), 8)
    0.00233629
    """
    return float(special.bdtr(k, n, risk)) if n > 0 else 1.0


def most_disagreements(n: int, risk: float, confidence: float) -> int:
    """Most disagreements among `n` rows that still prove `risk` with `confidence`; -1 if none would do.

    Examples
    --------
    >>> [most_disagreements(n, risk=0.001, confidence=0.95) for n in (2994, 2995, 4742)]
    [-1, 0, 1]
    """
    low, high = -1, max(n, 0)  # n disagreements among n rows prove nothing
    while high - low > 1:
        k = (low + high) // 2
        if p_value(k, n, risk) <= 1.0 - confidence:
            low = k
        else:
            high = k
    return low


def shared_confidence(confidence: float, n_splits: int) -> float:
    """Confidence of each of `n_splits` promises, so that all of them hold with `confidence` (union bound)."""
    if n_splits == 1:
        return confidence
    return min(1.0 - (1.0 - confidence) / n_splits, math.nextafter(1.0, 0.0))


def upper_bound(k: int, n: int, confidence: float) -> float:
    """Upper confidence limit of Clopper and Pearson: the risk at which `p_value` is 1 - `confidence`."""
    return float(special.betaincinv(k + 1, n - k, confidence)) if k < n else 1.0


def interval(k: int, n: int, confidence: float) -> tuple[float, float]:
    """Two-sided confidence interval of Clopper and Pearson."""
    tail = (1.0 + confidence) / 2.0
    return (1.0 - upper_bound(n - k, n, tail) if n > 0 else 0.0), upper_bound(k, n, tail)


def smallest_risk(n: int, confidence: float) -> float:
    """Smallest risk that `n` rows can back, if none of them disagrees; 1 without rows.

    It is rounded up until `p_value` rules it out.

    Examples
    --------
    >>> round(smallest_risk(2995, 0.95), 6), smallest_risk(0, 0.95)
    (0.001, 1.0)
    """
    if n <= 0:
        return 1.0
    risk, roundings = -math.expm1(math.log1p(-confidence) / n), 1
    while risk < 1.0 and p_value(0, n, risk) > 1.0 - confidence:  # p_value rounds 1 - risk
        risk, roundings = min(1.0, risk + roundings * math.ulp(risk)), 2 * roundings
    return risk


def rows_needed(risk: float, confidence: float) -> int:
    """Certificate rows without which no promise is possible, even if none of them disagrees.

    Parameters
    ----------
    risk, confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    int
        ceil(ln(1 - confidence) / ln(1 - risk)).

    Examples
    --------
    >>> rows_needed(0.01, 0.95), rows_needed(0.001, 0.95)
    (299, 2995)
    """
    require_fraction("rows_needed", "risk", risk)
    require_fraction("rows_needed", "confidence", confidence)
    # With a subnormal risk the quotient overflows, so that it is computed as a fraction.
    miss, hit = math.log1p(-confidence), math.log1p(-risk)
    return max(1, math.ceil(miss / hit if -hit > 1e-300 else Fraction(miss) / Fraction(hit)))
