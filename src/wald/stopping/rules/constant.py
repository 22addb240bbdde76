"""Constant boundaries of the papers: one level for the whole walk of the partial sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np
from scipy import special

from ...utils.warn import warn_caller
from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require_fraction, require_option
from ..core.walk import Float64Array, Moments, Walk
from ..papers.levels import (
    DegenerateBoundaryWarning,
    OptimisticBoundaryWarning,
    at_least,
    bridge_boundary,
    joint_level,
    reflection_level,
    simple_bridge_boundary,
)
from .rules import Needs, Readout
from .sides import Columns, Side, table

Kind = Literal["bridge", "bridge_simple", "reflection", "reflection_raw", "reflection_exact", "conditional"]
Error = Literal["conditional", "joint", "posterior", "disagreement"]
Centre = Literal["detrended", "mean", "none"]
Variance = Literal["bridge", "class", "all"]


class _Formula(NamedTuple):
    """Options that a kind can be combined with; the first of each is its default."""

    errors: tuple[Error, ...]
    centres: tuple[Centre, ...]
    variances: tuple[Variance, ...]


_EVERY: tuple[Error, ...] = ("conditional", "joint", "disagreement")
_FORMULAS: dict[Kind, _Formula] = {
    "bridge": _Formula(_EVERY, ("detrended", "mean", "none"), ("bridge", "class", "all")),
    "bridge_simple": _Formula(_EVERY, ("detrended", "mean", "none"), ("bridge", "class", "all")),
    "reflection": _Formula(_EVERY, ("mean",), ("all",)),
    "reflection_raw": _Formula(_EVERY, ("none", "detrended"), ("all",)),
    "reflection_exact": _Formula(_EVERY, ("none", "detrended", "mean"), ("bridge", "all")),
    "conditional": _Formula(("conditional", "disagreement"), ("detrended", "none", "mean"), ("bridge", "all")),
}
_ERRORS: tuple[Error, ...] = ("conditional", "joint", "posterior", "disagreement")
_CENTRES: tuple[Centre, ...] = ("detrended", "mean", "none")
_VARIANCES: tuple[Variance, ...] = ("bridge", "class", "all")

# Ratios up to these are attributed to the noise of the plan rows, and cause no warning.
_NOTABLE_FACTOR = 1.05
_NOTABLE_VARIANCE = 1.25


@dataclass(frozen=True)
class ConstantBoundary:
    """Stop a partial sum at a constant level, which a protected row crosses with probability `delta`.

    For exits as positive, the protected rows are those that the full model calls negative, and the reverse. Every
    formula assumes Brownian motion with known moments; where a promise matters, scale the boundary with a
    certificate.

    Parameters
    ----------
    kind : {"bridge", "bridge_simple", "reflection", "reflection_raw", "reflection_exact", "conditional"}
        The formula of the level. With moments of the protected rows:

        * "bridge" (default): `bridge_boundary`, a bound for every drift, 2 to 5 times too cautious;
        * "bridge_simple": `simple_bridge_boundary`. A side with a negative threshold is closed, with a warning.

        With moments of all rows, whose full sums are taken to be normal:

        * "reflection": `reflection_boundary` for the centred sums, a slanted boundary for the raw ones; exact;
        * "reflection_raw": the same level for the raw sums, as published. For a drift towards the boundary it
          errs too often, with a warning;
        * "reflection_exact": `joint_boundary`, exact for the raw sums;
        * "conditional": `conditional_boundary`, exact for the detrended sums, for conditional errors only.

    delta : float, default=0.05
        Stop error that the formula allows.
    error : {"conditional", "joint", "posterior", "disagreement"}, default="conditional"
        Which error `delta` is:

        * "conditional": P(early exit to the other side | protected row), on either side;
        * "joint": P(early exit to the other side, protected row), on either side. The two sides add up. This
          is the published error of the reflection formulas;
        * "disagreement": P(early answer is not the full model's), of the whole rule. With both sides open,
          conditional errors of `delta` on each side give a disagreement of `delta`; with one side open, the
          disagreement is the joint error;
        * "posterior": P(protected row | early exit). No constant boundary has a formula for it: see
          `CurvedBoundary`.

        Errors are converted by joint = p * conditional with the share p of protected rows, which is counted for the
        bridge, and taken from the normal distribution for the others.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early. The paper's experiments stop as negative only.
    centre : {"detrended", "mean", "none"}, optional
        The path that is subtracted from the partial sums. "detrended": the non-linear part of the mean path,
        mean(S_t) - kappa_t mean(S_n) with kappa_t = cov(S_t, S_n) / var(S_n), which Brownian motion does not have;
        "mean": the mean path, drift included, so that the threshold moves by mean(S_n); "none": nothing.
        Default: "mean" for "reflection", which takes no other; "none" for "reflection_raw", which also takes
        "detrended", and for "reflection_exact"; "detrended" for the others.
    variance : {"bridge", "class", "all"}, optional
        The sigma^2 of the walk. "bridge": its variance given the full sum, `Moments.bridge_variance`, smaller
        than var(S_n) where terms are positively correlated; "class": var(S_n) of the protected rows, as the
        paper writes, for the bridge formulas only; "all": var(S_n) of all rows. Default: "bridge", but "all"
        for "reflection" and "reflection_raw", which take no other.

    Raises
    ------
    ValueError
        For parameters out of range, combinations without a formula, and from `boundary` for multiclass walks.

    Warns
    -----
    DegenerateBoundaryWarning
        From `boundary`: a level had to be moved up to max(0, theta), where the formulas begin, or a side
        had to be closed.
    OptimisticBoundaryWarning
        From `boundary`: the drift makes the level of "reflection_raw" too small, or terms that cancel each other make
        the chosen variance too small.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659: the bridge.
    R. Pelossof and Z. Ying, "The Attentive Perceptron", 2010, eq. (4): reflection. The exact kinds, centring and
    the variance of the bridge are this library's reading.

    Examples
    --------
    >>> ConstantBoundary(delta=0.01, sides="negative").kind
    'bridge'
    >>> ConstantBoundary(kind="reflection", error="posterior")
    Traceback (most recent call last):
        ...
    ValueError: ConstantBoundary(kind='reflection') has no formula for error='posterior'; it has 'conditional',
    'joint', 'disagreement'. CurvedBoundary has one.
    """

    kind: Kind = "bridge"
    delta: float = 0.05
    error: Error = "conditional"
    sides: Sides = "both"
    centre: Centre | None = None
    variance: Variance | None = None
    readout: ClassVar[Readout] = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_option("ConstantBoundary", "kind", self.kind, tuple(_FORMULAS))
        require_fraction("ConstantBoundary", "delta", self.delta)
        require_option("ConstantBoundary", "sides", self.sides, SIDES)
        formula = _FORMULAS[self.kind]
        self._require("error", self.error, _ERRORS, formula.errors)
        if self.centre is not None:
            self._require("centre", self.centre, _CENTRES, formula.centres)
        if self.variance is not None:
            self._require("variance", self.variance, _VARIANCES, formula.variances)

    def boundary(self, walk: Walk) -> Boundary:
        """Centres on the mean path, scales of one level: the formula as published at q = 1.

        A side whose rows have no spread (fewer than two of them, say) is disabled, with a warning.
        """
        return table(walk, self.sides, "ConstantBoundary", self._upper)

    def _require(self, name: str, value: str, known: tuple[str, ...], possible: tuple[str, ...]) -> None:
        require_option("ConstantBoundary", name, value, known)
        if value not in possible:
            elsewhere = {"posterior": " CurvedBoundary has one.", "joint": " kind='reflection_exact' has one."}
            raise ValueError(
                f"ConstantBoundary(kind={self.kind!r}) has no formula for {name}={value!r}; it has"
                f" {', '.join(map(repr, possible))}.{elsewhere.get(value, '')}"
            )

    def _upper(self, side: Side) -> Columns | None:
        conditional = self.kind in ("bridge", "bridge_simple")  # conditional on the full sum, so protected rows suffice
        moments = side.moments(side.protected if conditional else None)
        if moments is None:
            return None
        path, theta, drift = self._centred(moments, side.theta)
        if self.kind == "bridge_simple" and theta < 0.0:
            warn_caller(
                f"kind='bridge_simple' is no bound for the negative threshold {theta:g}, so its side is closed:"
                f" kind='bridge' has the exact root.",
                DegenerateBoundaryWarning,
            )
            return path, np.full(path.shape, np.inf)
        variance = self._variance(side, moments)
        level = self._bridge(side, theta, variance) if conditional else self._normal(moments, theta, drift, variance)
        return path, np.full(path.shape, level)

    def _centred(self, moments: Moments, theta: float) -> tuple[Float64Array, float, float]:
        """Path to subtract from the sums, and threshold and drift of the result."""
        centre = self.centre or _FORMULAS[self.kind].centres[0]
        if centre == "mean":
            return moments.mean, theta - moments.full_mean, 0.0
        if centre == "detrended":
            return moments.mean - moments.kappa * moments.full_mean, theta, moments.full_mean
        return np.zeros_like(moments.mean), theta, moments.full_mean

    def _variance(self, side: Side, moments: Moments) -> float:
        bridge = moments.bridge_variance()
        name = self.variance or _FORMULAS[self.kind].variances[0]
        if name == "bridge":
            return bridge
        variance = float(side.walk.goal.var()) if name == "all" else moments.full_variance
        if bridge > _NOTABLE_VARIANCE * variance:
            warn_caller(
                f"Given their end, the walks vary {bridge / variance:.3g} times as much as variance={name!r} assumes,"
                f" so that they err more often than allowed: variance='bridge' measures it.",
                OptimisticBoundaryWarning,
            )
        return variance

    @property
    def _per_protected_row(self) -> bool:
        """Whether `delta` is a conditional error; of both sides together it is a disagreement as well."""
        return self.error == "conditional" or (self.error == "disagreement" and self.sides == "both")

    def _bridge(self, side: Side, theta: float, variance: float) -> float:
        delta = self.delta if self._per_protected_row else self.delta / float(side.protected.mean())
        if delta >= 1.0:
            return at_least(-math.inf, theta)
        formula = bridge_boundary if self.kind == "bridge" else simple_bridge_boundary
        return formula(theta, math.sqrt(variance), delta)

    def _normal(self, moments: Moments, theta: float, drift: float, variance: float) -> float:
        sigma = math.sqrt(moments.full_variance)
        log_budget = math.log(self.delta)
        if self._per_protected_row:
            log_budget += float(special.log_ndtr((theta - drift) / sigma))
        if self.kind in ("reflection_exact", "conditional"):
            # If the end determines the walk, the formula is used in the limit of a small variance.
            return joint_level(theta, sigma, log_budget, drift, math.sqrt(max(variance, 1e-12 * sigma**2)))
        level = at_least(reflection_level(theta, sigma, log_budget, drift), theta)
        factor = math.exp(min(700.0, 2.0 * drift * level / sigma**2))
        if factor > _NOTABLE_FACTOR:
            warn_caller(
                f"The sums drift towards the boundary, which makes the error of kind='reflection_raw'"
                f" {factor:.3g} times as large as allowed. kind='reflection_exact' is exact.",
                OptimisticBoundaryWarning,
            )
        return level
