"""Bets against "the mean loss is too large": p-values for means of bounded variables that adapt to their variance."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .validation import require_fraction

#: Largest share of the capital in a bet; with all of it, one loss of 1 would end the game.
_STAKE = 0.99
#: Number of halvings; they shrink an interval of length at most 1 to less than 1e-9.
_BISECTIONS = 30


def betting_log_capital(losses: npt.ArrayLike, risk: float, *, level: float = 0.05) -> npt.NDArray[np.float64]:
    """Play against "the mean loss is `risk` or more", and return the logarithm of the capital after every loss.

    The capital starts at 1 and is multiplied by ``1 + bet * (risk - loss)`` at every loss, never below 0. Bets
    depend on earlier losses only. If the mean loss is `risk` or more, the capital is not expected to grow, and
    exceeds ``1 / level`` at any time with probability `level` at most (Ville's inequality).

    Parameters
    ----------
    losses : array-like of shape (..., n)
        Independent, or with the same conditional mean given the earlier ones. At most 1, and not bounded below.
        Every row is a game of its own.
    risk : float
        Strictly between 0 and 1.
    level : float, default=0.05
        The bets aim at a capital of ``1 / level`` after `n` losses.

    Returns
    -------
    float64 array of shape (..., n)

    Raises
    ------
    ValueError
        If `risk` or `level` is out of range, or a loss is above 1 or not finite.

    References
    ----------
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", Journal of the Royal
    Statistical Society B 86(1), 2024: theorem 3, one-sided, with the predictable plug-in bets
    ``sqrt(2 log(1 / level) / (n variance))`` for a fixed `n`. The running variance starts at ``risk * (1 - risk)``,
    the largest variance of losses in [0, 1] with this mean, and this start weighs as much as ``1 / risk`` losses
    (theirs is 1/4 and weighs as much as one loss), because fewer losses may not contain a rare large one.

    Examples
    --------
    >>> import numpy as np
    >>> capital = np.exp(betting_log_capital(np.zeros(300), 0.01))
    >>> capital[[0, 99, 299]].round(2).tolist()
    [1.01, 2.7, 19.79]
    """
    require_fraction("betting_log_capital", "risk", risk)
    require_fraction("betting_log_capital", "level", level)
    x = _checked("betting_log_capital", losses)
    n = x.shape[-1]
    weight = 1.0 / risk
    seen = weight + np.arange(1, n + 1)
    mean = (1.0 + np.cumsum(x, axis=-1)) / seen
    variance = np.empty((*x.shape[:-1], n + 1))
    variance[..., 0] = risk * (1.0 - risk)
    variance[..., 1:] = ((1.0 - risk) + np.cumsum((x - mean) ** 2, axis=-1)) / seen
    with np.errstate(divide="ignore"):  # n may be 0
        bet = np.sqrt(-2.0 * math.log(level) / (np.float64(n) * variance[..., :-1]))
    return np.cumsum(np.log1p(np.minimum(bet, _STAKE / (1.0 - risk)) * (risk - x)), axis=-1)


def betting_p_value(losses: npt.ArrayLike, risk: float, *, level: float = 0.05) -> npt.NDArray[np.float64] | np.float64:
    """P-value against "the mean loss is `risk` or more": one over the largest capital of a game against it.

    Valid for every `n` and every distribution of the losses, without approximation. For losses of 0 or 1 the exact
    `wald.stopping.core.binomial.p_value` is smaller; for others, the less they vary the better this one is.

    Parameters
    ----------
    losses : array-like of shape (..., n)
        In an order that does not depend on their size; if large losses come last, the p-value is too small. At most
        1, and not bounded below.
    risk : float
        Strictly between 0 and 1.
    level : float, default=0.05
        The level that the p-value will be compared with, for which bets are optimized. Other levels are valid, too.

    Returns
    -------
    float64, or float64 array of shape (...)
        1 without losses.

    Raises
    ------
    ValueError
        If `risk` or `level` is out of range, or a loss is above 1 or not finite.

    References
    ----------
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", 2024; see
    `betting_log_capital`.

    Examples
    --------
    >>> import numpy as np
    >>> losses = np.random.default_rng(0).uniform(0, 0.08, size=(2, 400))
    >>> betting_p_value(losses, 0.05).round(4).tolist()
    [0.0536, 0.0204]
    >>> float(betting_p_value(losses[0], 0.04).round(2))
    0.94
    """
    capital = betting_log_capital(losses, risk, level=level)
    found: npt.NDArray[np.float64] | np.float64 = np.exp(-capital.max(axis=-1, initial=0.0))
    return found


def betting_upper_bound(losses: npt.ArrayLike, confidence: float) -> float:
    """Upper confidence limit of the mean of losses in [0, 1]: the risk at which `betting_p_value` is 1 - `confidence`.

    Parameters
    ----------
    losses : array-like of shape (n,)
        In an order that does not depend on their size.
    confidence : float
        Strictly between 0 and 1.

    Returns
    -------
    float
        Found by bisection, to nine digits; 1 if no smaller risk can be ruled out.

    Raises
    ------
    ValueError
        If `confidence` is out of range, or a loss does not lie in [0, 1].

    References
    ----------
    I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting", 2024, theorem 3.

    Examples
    --------
    >>> import numpy as np
    >>> round(betting_upper_bound(np.zeros(1000), 0.95), 5)
    0.00302
    """
    require_fraction("betting_upper_bound", "confidence", confidence)
    x = _checked("betting_upper_bound", losses)
    if x.ndim != 1 or (x < 0.0).any():
        raise ValueError("The 'losses' of betting_upper_bound must be a 1-D array of numbers from 0 to 1.")
    level = 1.0 - confidence
    return bisect_for_risk(lambda risk: bool(betting_p_value(x, risk, level=level) <= level), 1.0)


def largest_log_growth(losses: npt.NDArray[np.float64], risk: float) -> npt.NDArray[np.float64]:
    """Logarithm of the factor by which the largest bet multiplies the capital at each loss."""
    return np.log1p(_STAKE / (1.0 - risk) * (risk - losses))


def bisect_for_risk(ruled_out: Callable[[float], bool], high: float) -> float:
    """Bisect for the smallest risk that is ruled out; 0 must not be ruled out, and `high` must be."""
    low = 0.0
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        if ruled_out(middle):
            high = middle
        else:
            low = middle
    return high


def _checked(owner: str, losses: npt.ArrayLike) -> npt.NDArray[np.float64]:
    x = np.asarray(losses, dtype=np.float64)
    if x.ndim == 0:
        raise ValueError(f"The 'losses' of {owner} must be an array. Got {losses!r}.")
    if not (np.isfinite(x) & (x <= 1.0)).all():
        raise ValueError(f"The 'losses' of {owner} must be finite and at most 1.")
    return x
