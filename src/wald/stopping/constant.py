"""Constant boundaries of the papers: one level for the whole walk of the partial sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from wald.stopping.boundary import Boundary, Protect
from wald.stopping.bridge import bridge_boundary
from wald.stopping.rules import Readout
from wald.stopping.validation import require_fraction, require_option
from wald.stopping.walk import Float64Array, Moments, Walk

_KINDS = ("bridge",)

# Exits as negative alone are what protecting the positives leaves open, and the reverse.
_PROTECTED_BY: dict[str, Protect] = {"both": "all", "negative": "positive", "positive": "negative"}


@dataclass(frozen=True)
class ConstantBoundary:
    """Stop a partial sum at a constant level, which a protected row crosses with probability `delta`.

    An exit as positive puts the rows at risk that the full model calls negative, and the reverse: each side
    takes its moments from the class that it must protect. The promise of the formula is that of Brownian
    motion with `sigma` known; scale it with a certificate where a promise matters.

    Parameters
    ----------
    kind : {"bridge"}, default="bridge"
        "bridge": the level of `wald.stopping.bridge_boundary`. No other kind is available yet.
    delta : float, default=0.05
        Stop error P(early exit to the other side | protected class) that the formula allows.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early. The paper's experiments stop as negative only.
    centre : {"detrended", "none"}, default="detrended"
        "detrended" takes the non-linear part of the protected class's mean path, mean(S_t) - kappa_t
        mean(S_n) with kappa_t = cov(S_t, S_n) / var(S_n), off the walk, for which the bridge has no room;
        "none" compares the raw sums.
    variance : {"class", "bridge"}, default="class"
        The sigma^2 of the formula: "class" is var(S_n) of the protected class, as the paper writes; "bridge"
        is the variance of the walk given its end, which is smaller when terms are positively correlated.

    Raises
    ------
    ValueError
        For parameters out of range, and from `boundary` for multiclass walks.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659: the constant
    boundary from a Brownian bridge. Centring and the choices of variance are this library's reading.

    Examples
    --------
    >>> ConstantBoundary(delta=0.01, sides="negative")
    ConstantBoundary(kind='bridge', delta=0.01, sides='negative', centre='detrended', variance='class')
    """

    kind: Literal["bridge"] = "bridge"
    delta: float = 0.05
    sides: Literal["both", "negative", "positive"] = "both"
    centre: Literal["detrended", "none"] = "detrended"
    variance: Literal["class", "bridge"] = "class"
    readout: ClassVar[Readout] = "partial"
    lossless: ClassVar[bool] = False
    forced: ClassVar[bool] = False

    def __post_init__(self) -> None:
        require_option("ConstantBoundary", "kind", self.kind, _KINDS)
        require_fraction("ConstantBoundary", "delta", self.delta)
        require_option("ConstantBoundary", "sides", self.sides, tuple(_PROTECTED_BY))
        require_option("ConstantBoundary", "centre", self.centre, ("detrended", "none"))
        require_option("ConstantBoundary", "variance", self.variance, ("class", "bridge"))

    def boundary(self, walk: Walk) -> Boundary:
        """Centres on the protected classes' paths, scales of one level: the formula as printed at q = 1.

        A side whose protected class has no spread among the plan rows (fewer than two of them, say) is
        disabled.
        """
        if not walk.binary:
            raise ValueError("ConstantBoundary is for binary models; for several classes use Ladder().")
        high, up = self._side(walk, walk.full == 0, sign=1.0)
        low, down = self._side(walk, walk.full == 1, sign=-1.0)
        return Boundary(low, down, high, up).restricted(_PROTECTED_BY[self.sides])

    def _side(self, walk: Walk, protected: npt.NDArray[np.bool_], sign: float) -> tuple[Float64Array, Float64Array]:
        """Centre and scale one side: the upper (sign 1), or the lower by mirroring the walk (-1)."""
        nothing = np.zeros(walk.n_stages)
        disabled = nothing + sign * np.inf, nothing
        if np.count_nonzero(protected) < 2:
            return disabled
        moments = walk.moments(protected)
        variance = self._variance(moments)
        if variance == 0.0:
            return disabled
        detrended = self.centre == "detrended"
        path = moments.mean - moments.kappa * moments.full_mean if detrended else nothing
        # Sums start at 0, so the intercept belongs to the threshold; the table is for z, with its `offset`.
        level = bridge_boundary(sign * (walk.threshold - walk.intercept), math.sqrt(variance), self.delta)
        return path + walk.offset, nothing + level

    def _variance(self, moments: Moments) -> float:
        if self.variance == "class" or moments.full_variance == 0.0:
            return moments.full_variance
        # At clock kappa a bridge of variance V has variance V kappa (1 - kappa): fit V by least squares.
        clock = moments.kappa * (1.0 - moments.kappa)
        given_end = moments.variance - moments.covariance**2 / moments.full_variance
        weight = float(clock @ clock)
        return max(0.0, float(given_end @ clock) / weight) if weight > 0.0 else moments.full_variance
