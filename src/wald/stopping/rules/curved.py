"""The curved boundary: stop when the remaining terms are unlikely to change the answer."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar, Literal

import numpy as np
from scipy import special

from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require_option
from ..core.walk import Walk
from ..papers.levels import curved_boundary
from .rules import Needs, Readout
from .sides import Columns, Side, table

Error = Literal["posterior", "conditional", "joint", "disagreement"]
Remainder = Literal["independent", "regression"]
_ERRORS: tuple[Error, ...] = ("posterior", "conditional", "joint", "disagreement")
_REMAINDERS: tuple[Remainder, ...] = ("independent", "regression")


@dataclass(frozen=True)
class CurvedBoundary:
    """Stop where the full sum, given the partial one, lies beyond the threshold with probability 1 - `delta`.

    The full sum is taken to be normal around its prediction from the partial sum. Then the posterior error is
    at most `delta`, whatever the number of stages. The boundary falls as the remainder shrinks; a constant one
    stops more early and less late.

    Parameters
    ----------
    delta : float, default=0.05
        Error to allow; above 0 and below 1/2.
    error : {"posterior", "conditional", "joint", "disagreement"}, default="posterior"
        Which error `delta` is: P(protected row | early exit), or one of those of `ConstantBoundary`. A posterior
        error of `delta` bounds the joint error of either side and the disagreement by `delta` as well; for the
        conditional error the bound is divided by the share of the protected rows. These three bounds are very cautious
        where few rows leave early.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early.
    remainder : {"regression", "independent"}, default="regression"
        "regression": the full sum is predicted by least squares from each partial sum, over all rows. Where the
        two are not positively correlated, no row leaves. "independent", as published: the remaining terms are assumed
        to be independent of those seen, with mean mean(S_n) - mean(S_t) and variance var(S_n) - var(S_t). Where this
        variance is negative, no row leaves; where terms are positively correlated it is too large.

    Raises
    ------
    ValueError
        For parameters out of range, and from `boundary` for multiclass walks.

    Warns
    -----
    DegenerateBoundaryWarning
        From `boundary`: the full sums have no spread, or there is no row to protect, and a side had to be closed.

    References
    ----------
    R. Pelossof, M. Jones and Z. Ying, "Curtailed Online Boosting", 2009. The regression is this library's.

    Examples
    --------
    >>> CurvedBoundary(delta=0.01)
    CurvedBoundary(delta=0.01, error='posterior', sides='both', remainder='regression')
    """

    delta: float = 0.05
    error: Error = "posterior"
    sides: Sides = "both"
    remainder: Remainder = "regression"
    readout: ClassVar[Readout] = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        if not (isinstance(self.delta, Real) and 0.0 < self.delta < 0.5):
            raise ValueError(
                f"The 'delta' parameter of CurvedBoundary must lie strictly between 0 and 0.5: beyond, the odds are"
                f" against the answer. Got {self.delta!r} instead."
            )
        require_option("CurvedBoundary", "error", self.error, _ERRORS)
        require_option("CurvedBoundary", "sides", self.sides, SIDES)
        require_option("CurvedBoundary", "remainder", self.remainder, _REMAINDERS)

    def boundary(self, walk: Walk) -> Boundary:
        """Centres where the prediction is the threshold, scales of the level above: as published at q = 1."""
        return table(walk, self.sides, "CurvedBoundary", self._upper)

    def _upper(self, side: Side) -> Columns | None:
        moments = side.moments()
        share = float(side.protected.mean()) if self.error == "conditional" else 1.0
        if moments is None or share == 0.0:
            return None
        z = -float(special.ndtri(self.delta * share))
        if self.remainder == "independent":
            left = moments.full_variance - moments.variance
            sd = np.sqrt(np.maximum(left, 0.0))
            center = curved_boundary(side.theta, 0.5, moments.full_mean - moments.mean, sd)
            return center, np.where(left >= 0.0, z * sd, np.inf)
        slope, sd, useful = moments.prediction()
        center = moments.mean + (side.theta - moments.full_mean) / slope
        return center, np.where(useful, z * sd / slope, np.inf)
