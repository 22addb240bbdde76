"""Wald's sequential test on the running score, with likelihoods estimated from the plan rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy import ndimage, optimize

from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require_option, require_share
from ..core.walk import Float64Array, Walk
from ..papers.published import open_sides, published_table
from .rules import READOUTS, Needs, Readout

Density = Literal["kernel", "gaussian", "isotonic"]

# Kernel densities are estimated on this many points between the smallest and the largest score.
_N_POINTS = 512
# Log ratios are clipped to this magnitude; where a density is 0 they are infinite.
_CERTAIN = 50.0


@dataclass(frozen=True)
class LikelihoodRatio:
    """Leave when one class explains the running score so much better than the other: WaldBoost's rule.

    With ``R_t(z) = p(z | negative) / p(z | positive)`` for the score z at stage t, a row leaves as negative when
    ``R_t >= (1 - beta) / alpha`` and as positive when ``R_t <= beta / (1 - alpha)``. The densities are those of all
    plan rows that the full model calls negative or positive; the ratio is projected onto falling functions of z, so
    that it amounts to two thresholds per stage.

    Wald's theorem bounds the two errors by about `alpha` and `beta` for the true ratio of the whole walk. A ratio
    estimated from the score at one stage promises nothing: ``risk=None`` measures the disagreement, and a ``risk``
    scales the thresholds until a promise holds.

    Parameters
    ----------
    alpha : float, default=0.01
        Share of the positives that may leave as negative. 0 closes that side.
    beta : float, default=0.01
        Share of the negatives that may leave as positive. 0 closes that side: WaldBoost's detector, which only
        rejects. Both are at least 0, and their sum is below 1.
    density : {"kernel", "gaussian", "isotonic"}, default="kernel"
        "kernel": Parzen's estimate, as in the paper, with Silverman's bandwidth. "gaussian": one mean per class and
        one common variance. "isotonic": the share of negatives as a falling function of the score, by isotonic
        regression, which is certain beyond the range in which both classes occur.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early.
    readout : {"partial", "regressed"}, default="partial"
        "partial" is the running sum of the paper.

    Raises
    ------
    ValueError
        For parameters out of range, and from `boundary` for multiclass walks.

    Notes
    -----
    The paper's errors refer to the labels. Here they refer to the answers of the full model, as in a certificate, and
    no labels are needed.

    References
    ----------
    J. Sochman and J. Matas, "WaldBoost: learning for time constrained sequential detection", CVPR 2005.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_walk
    >>> walk = example_walk()
    >>> low, high = LikelihoodRatio(alpha=0.05, beta=0).boundary(walk).thresholds(1.0, "float64")
    >>> low.round(2).tolist(), high.tolist()
    ([-inf, -inf, -0.27, -0.15], [inf, inf, inf, inf])
    """

    alpha: float = 0.01
    beta: float = 0.01
    density: Density = "kernel"
    sides: Sides = "both"
    readout: Readout = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_share("LikelihoodRatio", "alpha", self.alpha)
        require_share("LikelihoodRatio", "beta", self.beta)
        if self.alpha + self.beta >= 1.0:
            raise ValueError(f"alpha + beta of LikelihoodRatio must be below 1. Got {self.alpha!r} and {self.beta!r}.")
        require_option("LikelihoodRatio", "density", self.density, tuple(_ESTIMATES))
        require_option("LikelihoodRatio", "sides", self.sides, SIDES)
        require_option("LikelihoodRatio", "readout", self.readout, READOUTS)

    def boundary(self, walk: Walk) -> Boundary:
        """Turn the ratio of each stage into thresholds; q = 1 uses them as estimated.

        A stage at which a class has fewer than two plan rows, or no spread, stays closed.
        """
        if not walk.two_sided:
            raise ValueError("LikelihoodRatio is for binary models; for several classes use Ladder().")
        open_low, open_high = open_sides(self.sides, walk.sides)
        low, high = np.full(walk.n_stages, -np.inf), np.full(walk.n_stages, np.inf)
        reject = math.log1p(-self.beta) - math.log(self.alpha) if self.alpha > 0.0 else math.inf
        accept = math.log(self.beta) - math.log1p(-self.alpha) if self.beta > 0.0 else -math.inf
        for t in range(walk.n_stages):
            seen = walk.margins[:, t]
            usable = np.isfinite(seen)
            negative, positive = seen[usable & (walk.full == 0)], seen[usable & (walk.full == 1)]
            if min(negative.size, positive.size) < 2 or negative.std() == 0.0 or positive.std() == 0.0:
                continue
            points, ratio = _ESTIMATES[self.density](negative, positive)  # log R, falling
            # The ratio falls: the first points are rejected, the last accepted, and thresholds lie half-way between.
            between = np.concatenate([points[:1], 0.5 * (points[:-1] + points[1:]), points[-1:]])
            n_rejected, n_accepted = np.count_nonzero(ratio >= reject), np.count_nonzero(ratio <= accept)
            if open_low and n_rejected:
                low[t] = between[n_rejected]
            if open_high and n_accepted:
                high[t] = between[points.size - n_accepted]
        return published_table(walk, low, high)


def _gaussian(negative: Float64Array, positive: Float64Array) -> tuple[Float64Array, Float64Array]:
    start, end = _range(negative, positive)
    points: Float64Array = np.linspace(start, end, _N_POINTS)
    n = negative.size + positive.size
    variance = (negative.size * negative.var() + positive.size * positive.var()) / n
    gap = max(0.0, positive.mean() - negative.mean())
    middle = 0.5 * (positive.mean() + negative.mean())
    return points, np.asarray((middle - points) * gap / variance, dtype=np.float64)


def _kernel(negative: Float64Array, positive: Float64Array) -> tuple[Float64Array, Float64Array]:
    """Log ratio of Parzen's densities, binned, projected onto falling functions with the rows as weights."""
    start, end = _range(negative, positive)
    width = (end - start) / _N_POINTS
    density, mass = [], np.zeros(_N_POINTS)
    for rows in (negative, positive):
        counts = np.histogram(rows, bins=_N_POINTS, range=(start, end))[0].astype(np.float64)
        quartiles = np.subtract(*np.percentile(rows, [75.0, 25.0])) / 1.349
        bandwidth = 0.9 * (min(rows.std(), quartiles) or rows.std()) * rows.size**-0.2
        density.append(ndimage.gaussian_filter1d(counts / rows.size, max(0.5, bandwidth / width), mode="constant"))
        mass += counts
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(density[0]) - np.log(density[1])
    ratio = np.clip(np.nan_to_num(ratio, nan=0.0), -_CERTAIN, _CERTAIN)  # nan: both densities are 0
    points = np.asarray(start + width * (np.arange(_N_POINTS) + 0.5), dtype=np.float64)
    return points, _falling(ratio, mass + 1e-9 * mass.sum())


def _isotonic(negative: Float64Array, positive: Float64Array) -> tuple[Float64Array, Float64Array]:
    points = np.concatenate([negative, positive])
    is_negative = np.repeat([1.0, 0.0], [negative.size, positive.size])
    points, where = np.unique(points, return_inverse=True)
    weights = np.bincount(where).astype(np.float64)
    share = _falling(np.bincount(where, is_negative) / weights, weights)
    with np.errstate(divide="ignore"):
        odds = np.log(share) - np.log1p(-share)
    return points, odds - math.log(negative.size / positive.size)


def _falling(values: Float64Array, weights: Float64Array) -> Float64Array:
    fitted = optimize.isotonic_regression(values, weights=weights, increasing=False).x
    return np.asarray(fitted, dtype=np.float64)


def _range(negative: Float64Array, positive: Float64Array) -> tuple[float, float]:
    return float(min(negative.min(), positive.min())), float(max(negative.max(), positive.max()))


_ESTIMATES: dict[Density, Callable[[Float64Array, Float64Array], tuple[Float64Array, Float64Array]]] = {
    "kernel": _kernel,
    "gaussian": _gaussian,
    "isotonic": _isotonic,
}
