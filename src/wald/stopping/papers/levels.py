"""Levels of the papers' boundaries for a given stop error.

All functions refer to a walk that starts at 0 and whose full sum has mean `drift` and standard deviation `sigma`. They
share these parameters:

theta : float
    Decision threshold on the full sum.
sigma : float
    Standard deviation of the full sum.
delta : float
    Stop error to allow, strictly between 0 and 1.
drift : float, default=0.0
    Mean of the full sum.

They raise ValueError for a `delta` out of range and a `sigma` that is negative, or zero where a deviation must be
positive. The lower level of the mirrored test is minus the level for ``-theta`` and ``-drift``.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from ...utils.warn import warn_caller
from ..core.validation import require_fraction, require_not_negative, require_positive
from .brownian import log_joint_crossing


class DegenerateBoundaryWarning(UserWarning):
    """A formula was used outside its range: its level was moved to the range's end, or the side was closed."""


class OptimisticBoundaryWarning(UserWarning):
    """A formula was used as published where it errs more often than it says."""


def bridge_boundary(theta: float, sigma: float, delta: float, start: float = 0.0) -> float:
    """Find the constant level that a bridge ending on `theta` reaches with probability `delta`.

    Pelossof & Ying bound the stop error by that of a walk which ends exactly on the decision threshold.
    Setting that walk's crossing probability to `delta` gives a quadratic in the level; this is its upper
    root. A walk that ends below `theta` crosses less often, so the level bounds P(stop | full score < theta)
    by `delta` for Brownian motion of any drift.

    Parameters
    ----------
    theta, sigma, delta : float
        As at the top of this file; `sigma` is that of the walk given its end, and may be 0.
    start : float, default=0.0
        Start of the walk; a model's intercept is passed here, or subtracted from `theta`.

    Returns
    -------
    float

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659.

    Examples
    --------
    >>> round(bridge_boundary(0.0, 1.0, 0.05), 6)
    1.223873
    """
    require_fraction("bridge_boundary", "delta", delta)
    require_not_negative("bridge_boundary", "sigma", sigma)
    half_way = 0.5 * (theta - start)
    reach = sigma * math.sqrt(-0.5 * math.log(delta))
    root = math.hypot(half_way, reach)
    # Below 0 the sum would cancel; the two roots of the quadratic multiply to -reach^2.
    return start + (half_way + root if half_way >= 0.0 else reach * (reach / (root - half_way)))


def simple_bridge_boundary(theta: float, sigma: float, delta: float) -> float:
    """Add sigma sqrt(ln(1 / sqrt(delta))) to `theta`: a plain form of `bridge_boundary`, for ``theta >= 0``.

    For positive `theta` it lies above the exact root, which makes it more cautious; for negative `theta` it
    would lie below, so that a negative `theta` is an error.

    Parameters and other errors are those of `bridge_boundary`.

    Examples
    --------
    >>> round(simple_bridge_boundary(1.0, 2.0, 0.05), 6), round(bridge_boundary(1.0, 2.0, 0.05), 6)
    (3.447747, 2.998292)
    """
    require_fraction("simple_bridge_boundary", "delta", delta)
    require_not_negative("simple_bridge_boundary", "sigma", sigma)
    if not theta >= 0.0:
        raise ValueError(f"simple_bridge_boundary is no bound for negative theta ({theta!r}): use bridge_boundary.")
    return theta + sigma * math.sqrt(-0.5 * math.log(delta))


def reflection_boundary(theta: float, sigma: float, delta: float, drift: float = 0.0) -> float:
    """Level of the Attentive Perceptron, (theta - drift + sigma Phi^-1(1 - delta)) / 2, as published.

    For the centred walk, S_i - E S_i, it makes the joint error P(stop, full score < theta) exactly `delta`
    under Brownian motion, if ``delta <= P(full score < theta) <= 1 - delta``. Outside that range the level
    falls below 0 or below the threshold, and is not valid. If the raw walk is compared with it, as in the paper, the
    error is exp(2 drift level / sigma^2) `delta`: too large for a drift towards the boundary.

    The `theta` is compared with the raw full sum; `sigma` may be 0.

    References
    ----------
    R. Pelossof and Z. Ying, "The Attentive Perceptron", 2010: eq. (4).

    Examples
    --------
    >>> round(reflection_boundary(0.0, 1.0, 0.05), 6)
    0.822427
    """
    require_fraction("reflection_boundary", "delta", delta)
    require_not_negative("reflection_boundary", "sigma", sigma)
    return reflection_level(theta, sigma, math.log(delta), drift)


def joint_boundary(
    theta: float, sigma: float, delta: float, drift: float = 0.0, *, bridge_sigma: float | None = None
) -> float:
    """Find the constant level for the raw walk whose joint error P(stop, full score < theta) is `delta`.

    `joint_crossing_probability` falls as the level rises from max(0, theta); its logarithm is solved for the
    level. If stopping at max(0, theta) errs no more than `delta`, the level is max(0, theta), with a warning: if full
    scores below `theta` are rarer than `delta`, the promise is empty.

    The error `delta` is a joint one; `bridge_sigma` is that of `joint_crossing_probability`.

    Warns
    -----
    DegenerateBoundaryWarning
        If the level is max(0, theta).

    Examples
    --------
    >>> round(joint_boundary(0.0, 1.0, 0.05, drift=1.0), 6)
    0.573861
    """
    require_fraction("joint_boundary", "delta", delta)
    return joint_level(theta, sigma, math.log(delta), drift, bridge_sigma)


def conditional_boundary(
    theta: float, sigma: float, delta: float, drift: float = 0.0, *, bridge_sigma: float | None = None
) -> float:
    """Find the constant level for the raw walk whose conditional error P(stop | full score < theta) is `delta`.

    The conditional error is the joint one over P(full score < theta), so this is `joint_boundary` with a
    budget of ``delta * P(full score < theta)``, which may be far smaller than the smallest float. The centred
    walk S_i - E S_i needs no search: its level is `reflection_boundary` with that budget, or this function for
    ``theta - drift`` and drift 0.

    The error `delta` is a conditional one; `bridge_sigma` is that of `joint_crossing_probability`.
    Warns as `joint_boundary` does.

    Examples
    --------
    >>> round(conditional_boundary(0.0, 1.0, 0.05, drift=1.0), 6)
    1.049172
    """
    require_fraction("conditional_boundary", "delta", delta)
    require_positive("conditional_boundary", "sigma", sigma)
    below = float(special.log_ndtr((theta - drift) / sigma))
    return joint_level(theta, sigma, math.log(delta) + below, drift, bridge_sigma)


def curved_boundary(
    theta: float, delta: float, remainder_mean: npt.ArrayLike, remainder_sd: npt.ArrayLike
) -> npt.NDArray[np.float64]:
    """Find the partial sum at which a Gaussian remainder leaves `theta` behind with probability 1 - `delta`.

    The first crossing has P(full score < theta | stop) <= `delta`, whatever the number of checks: the bound holds at
    each check by construction, and an average of such errors is no larger.

    Parameters
    ----------
    theta : float
        Decision threshold on the full sum.
    delta : float
        Posterior error to allow, strictly between 0 and 1.
    remainder_mean, remainder_sd : array-like
        Mean and standard deviation of the remaining sum at each check.

    Returns
    -------
    float64 array
        theta - remainder_mean + Phi^-1(1 - delta) remainder_sd.

    Raises
    ------
    ValueError
        If a deviation is negative or `delta` is out of range.

    References
    ----------
    R. Pelossof, M. Jones and Z. Ying, "Curtailed Online Boosting", 2009. K. Lan, R. Simon and M. Halperin,
    "Stochastically Curtailed Tests in Long-Term Clinical Trials", 1982.

    Examples
    --------
    >>> import numpy as np
    >>> curved_boundary(0.0, 0.05, 0.0, np.sqrt(1 - np.array([0, 0.25, 0.5, 0.75]))).round(6).tolist()
    [1.644854, 1.424485, 1.163087, 0.822427]
    """
    require_fraction("curved_boundary", "delta", delta)
    spread = np.asarray(remainder_sd, dtype=np.float64)
    if not (spread >= 0.0).all():
        raise ValueError("The 'remainder_sd' parameter of curved_boundary must not be negative or NaN.")
    return np.asarray(theta - np.asarray(remainder_mean, np.float64) - special.ndtri(delta) * spread)


def reflection_level(theta: float, sigma: float, log_budget: float, drift: float) -> float:
    """`reflection_boundary` for the logarithm of the joint error."""
    return 0.5 * (theta - drift - sigma * float(special.ndtri_exp(log_budget)))


def joint_level(
    theta: float, sigma: float, log_budget: float, drift: float = 0.0, bridge_sigma: float | None = None
) -> float:
    """`joint_boundary` for the logarithm of the joint error."""

    def excess(level: float) -> float:
        return log_joint_crossing(level, theta, sigma, drift, bridge_sigma) - log_budget

    least = max(0.0, theta)
    if excess(least) <= 0.0:
        return at_least(-math.inf, theta)
    high = least + sigma
    while excess(high) > 0.0:
        high = least + 2.0 * (high - least)
    return float(optimize.bisect(excess, least, high, xtol=1e-14 * sigma, maxiter=300))


def at_least(level: float, theta: float) -> float:
    """Move a level up to max(0, theta), below which the formulas do not hold, and warn if that was needed."""
    least = max(0.0, theta)
    if level > least:
        return level
    warn_caller(
        f"Stopping at {least:g} errs no more than allowed: rows to protect are rare (a conditional error protects"
        f" them), few walks turn back from there, or the error is large. The boundary stays there.",
        DegenerateBoundaryWarning,
    )
    return least
