"""Probability that Brownian motion crosses a level and then ends below the threshold.

Sums of many independent terms move like Brownian motion in unit time from 0 to a normal end with mean `drift` and
standard deviation `sigma`. Crossing a level is an early answer, which is wrong if the motion ends below `theta`. A walk
in n steps misses some of the crossings, so these probabilities are cautious for walks.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from ..core.validation import require_positive

# -zeta(1/2) / sqrt(2 pi): mean overshoot of a Gaussian walk beyond a level, in standard deviations of a step.
_OVERSHOOT = 0.5825971579390107


def crossing_probability(level: float, end: float, sigma: float, start: float = 0.0) -> float:
    """Probability that a Brownian bridge from `start` to `end` reaches `level`.

    The bridge takes unit time with variance `sigma` ** 2; its drift does not matter. By the reflection principle the
    probability is exp(-2 (level - start)(level - end) / sigma^2), and 1 when the level is not above both ends.

    Examples
    --------
    >>> from wald.stopping.papers.levels import bridge_boundary
    >>> round(crossing_probability(bridge_boundary(0.5, 2.0, 0.05), end=0.5, sigma=2.0), 12)
    0.05
    """
    if level <= max(start, end):
        return 1.0
    if sigma == 0.0:
        return 0.0
    return math.exp(-2.0 * (level - start) * (level - end) / sigma**2)


def joint_crossing_probability(
    level: float, theta: float, sigma: float, drift: float = 0.0, *, bridge_sigma: float | None = None
) -> float:
    """Probability that Brownian motion reaches `level` and ends below `theta`: the joint error of stopping there.

    For ``level >= max(0, theta)`` it is exp(2 drift level / sigma^2) Phi((theta - 2 level - drift) / sigma).
    Walks that end in ``[level, theta)`` have crossed the level for certain and are counted too.

    Parameters
    ----------
    level, theta : float
        Level of the boundary, and decision threshold on the end.
    sigma : float
        Standard deviation of the end; positive.
    drift : float, default=0.0
        Mean of the end.
    bridge_sigma : float, optional
        Standard deviation of the walk given its end, `sigma` for Brownian motion; positive. Terms that share a
        factor give a smaller one: the crossing probability of the bridge is then averaged over the ends.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If `sigma` or `bridge_sigma` is not positive.

    Examples
    --------
    >>> round(joint_crossing_probability(0.322427, theta=0.0, sigma=1.0, drift=1.0), 3)
    0.095
    """
    return math.exp(log_joint_crossing(level, theta, sigma, drift, bridge_sigma))


def conditional_crossing_probability(
    level: float, theta: float, sigma: float, drift: float = 0.0, *, bridge_sigma: float | None = None
) -> float:
    """Probability that Brownian motion which ends below `theta` reaches `level`: the conditional error.

    This is the joint error divided by P(end < theta), computed with logarithms to be exact for rare ends.
    Parameters and errors are those of `joint_crossing_probability`.

    Examples
    --------
    >>> round(conditional_crossing_probability(1.049172, theta=0.0, sigma=1.0, drift=1.0), 6)
    0.05
    """
    joint = log_joint_crossing(level, theta, sigma, drift, bridge_sigma)
    return math.exp(joint - float(special.log_ndtr((theta - drift) / sigma)))


def discrete_boundary(level: float, sigma: float, n_steps: int) -> float:
    """Tighten a level of Brownian motion for a Gaussian walk in `n_steps` equal steps.

    A walk jumps beyond a level by 0.5826 of a step's deviation on average, and crosses it about as often as
    Brownian motion crosses the level moved up by that much. No rule of this package uses the correction, which would
    make rules less cautious.

    Parameters
    ----------
    level : float
    sigma : float
        Standard deviation of the whole walk; positive.
    n_steps : int
        At least 1.

    Raises
    ------
    ValueError
        If `sigma` or `n_steps` is out of range.

    References
    ----------
    D. Siegmund, "Sequential Analysis: Tests and Confidence Intervals", Springer 1985, chapter X.

    Examples
    --------
    >>> round(discrete_boundary(1.049172, sigma=1.0, n_steps=200), 3)
    1.008
    """
    require_positive("discrete_boundary", "sigma", sigma)
    if n_steps < 1:
        raise ValueError(f"The 'n_steps' parameter of discrete_boundary must be at least 1. Got {n_steps!r} instead.")
    return level - _OVERSHOOT * sigma / math.sqrt(n_steps)


def log_joint_crossing(
    level: float, theta: float, sigma: float, drift: float = 0.0, bridge_sigma: float | None = None
) -> float:
    """Logarithm of `joint_crossing_probability`, in which factors cannot overflow or underflow."""
    require_positive("crossing probabilities", "sigma", sigma)
    bridge = sigma if bridge_sigma is None else bridge_sigma
    require_positive("crossing probabilities", "bridge_sigma", bridge)
    below = float(special.log_ndtr((theta - drift) / sigma))
    if level <= 0.0:
        return below
    ratio = (sigma / bridge) ** 2
    tilt = 2.0 * level * (drift + level * (ratio - 1.0)) / bridge**2
    crossed = tilt + float(special.log_ndtr((min(theta, level) - drift - 2.0 * level * ratio) / sigma))
    if theta <= level:
        return crossed
    gap = float(special.log_ndtr((level - drift) / sigma)) - below  # P(end < level | end < theta)
    between = below + math.log1p(-math.exp(gap)) if gap < 0.0 else -math.inf
    return float(np.logaddexp(crossed, between))
