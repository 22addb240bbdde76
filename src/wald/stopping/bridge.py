"""The Brownian bridge: how likely a walk of known end crosses a level on its way."""

from __future__ import annotations

import math

from wald.stopping.validation import require_fraction


def crossing_probability(level: float, end: float, sigma: float, start: float = 0.0) -> float:
    """Probability that a Brownian bridge from `start` to `end` reaches `level`.

    The bridge takes unit time with variance `sigma` ** 2; its drift does not matter. This is the reflection
    principle, exp(-2 (level - start)(level - end) / sigma^2), and 1 when the level is not above both ends.

    Examples
    --------
    >>> round(crossing_probability(bridge_boundary(0.5, 2.0, 0.05), end=0.5, sigma=2.0), 12)
    0.05
    """
    if level <= max(start, end):
        return 1.0
    if sigma == 0.0:
        return 0.0
    return math.exp(-2.0 * (level - start) * (level - end) / sigma**2)


def bridge_boundary(theta: float, sigma: float, delta: float, start: float = 0.0) -> float:
    """Find the constant level that a bridge ending on `theta` reaches with probability `delta`.

    Pelossof & Ying bound the stop error by that of a walk which ends exactly on the decision threshold.
    Setting that walk's crossing probability to `delta` gives a quadratic in the level; this is its upper
    root. A walk that ends below `theta` crosses less often, so the level bounds P(stop | full score < theta)
    by `delta` for Brownian motion of any drift.

    Parameters
    ----------
    theta : float
        Decision threshold on the full sum.
    sigma : float
        Standard deviation of the walk given its end; 0 or more.
    delta : float
        Stop error to allow, strictly between 0 and 1.
    start : float, default=0.0
        Where the walk starts: a model's intercept belongs here, or is taken off `theta`.

    Returns
    -------
    float
        The level. The lower boundary of the mirrored test is ``-bridge_boundary(-theta, sigma, delta,
        -start)``.

    Raises
    ------
    ValueError
        If `sigma` is negative or `delta` is out of range.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659.

    Examples
    --------
    >>> round(bridge_boundary(0.0, 1.0, 0.05), 6)
    1.223873
    """
    require_fraction("bridge_boundary", "delta", delta)
    if not sigma >= 0.0:
        raise ValueError(f"The 'sigma' parameter of bridge_boundary must not be negative. Got {sigma!r} instead.")
    half_way = 0.5 * (theta - start)
    product = -0.5 * sigma**2 * math.log(delta)
    root = math.sqrt(half_way**2 + product)
    # Below 0 the sum would cancel; the two roots of the quadratic multiply to -product.
    return start + (half_way + root if half_way >= 0.0 else product / (root - half_way))
