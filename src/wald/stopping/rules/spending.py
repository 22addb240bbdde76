"""Error spending: each stage gets a share of the errors that a rule may make, fixed in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.boundary import SIDES, Boundary, Sides
from ..core.survivors import Survivors, allowed, loosest, reconciled
from ..core.validation import require_option, require_share
from ..core.walk import Float64Array, Walk
from ..papers.published import open_sides, published_table
from .rules import READOUTS, Needs, Readout

Spend = Literal["linear", "front", "pocock", "obrien-fleming"]
SPENDS: tuple[Spend, ...] = ("linear", "front", "pocock", "obrien-fleming")


@dataclass(frozen=True)
class ErrorSpending:
    """Place thresholds so that wrong exits on the plan rows keep to a schedule.

    By stage t, at most ``delta * spend(t)`` of the plan rows of a class may have left to the other side, where
    `spend` rises from 0 to 1 with the share of the units seen. Each side protects its own class, and its errors are
    counted separately. ``delta=0`` places each threshold on the outermost protected row that is still active, which is
    the rejection trace of a soft cascade.

    The thresholds are fitted to the plan rows, so fresh rows disagree more often (with ``delta=0`` about once in N rows
    per side and stage). ``risk=None`` measures how often, and a ``risk`` scales the thresholds until a promise holds.

    Parameters
    ----------
    delta : float, default=0.01
        Share of the protected rows that may leave to the other side; at least 0, below 1. Multiclass: share of all
        rows that may leave with another label.
    spend : {"linear", "front", "pocock", "obrien-fleming"}, default="linear"
        With s the share of units seen: s; sqrt(s), which spends early, where most rows can be saved; or one of the
        schedules of Lan & DeMets, ``log(1 + (e - 1) s)`` and ``2 - 2 Phi(z / sqrt(s))`` with ``z`` the upper
        ``delta / 2`` point of the normal distribution, which spends late.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early.
    readout : {"partial", "regressed"}, default="partial"

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    K. K. G. Lan and D. L. DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70, 1983: the
    schedules. L. Bourdev and J. Brandt, "Robust object detection via soft cascade", CVPR 2005, and C. Zhang and P.
    Viola, "Multiple-instance pruning for learning efficient cascade detectors", NIPS 2007: rejection traces.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_walk
    >>> walk = example_walk()
    >>> boundary = ErrorSpending(delta=0, sides="negative").boundary(walk)
    >>> low, _ = boundary.thresholds(1.0, "float64")
    >>> bool(np.isclose(low[0], walk.margins[walk.full == 1, 0].min()))
    True
    """

    delta: float = 0.01
    spend: Spend = "linear"
    sides: Sides = "both"
    readout: Readout = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_share("ErrorSpending", "delta", self.delta)
        require_option("ErrorSpending", "spend", self.spend, SPENDS)
        require_option("ErrorSpending", "sides", self.sides, SIDES)
        require_option("ErrorSpending", "readout", self.readout, READOUTS)

    def boundary(self, walk: Walk) -> Boundary:
        """Place the thresholds from the first stage to the last; q = 1 uses them as placed.

        A side without protected plan rows stays closed. Stages that no plan row reaches repeat the last thresholds.
        """
        open_low, open_high = open_sides(self.sides, walk.sides)
        n_low, n_high = 0, len(walk.full)
        if walk.two_sided:
            n_low, n_high = int(np.count_nonzero(walk.full == 1)), int(np.count_nonzero(walk.full == 0))
        open_low, open_high = open_low and n_low > 0, open_high and n_high > 0
        shares = self.delta * self.spent(walk.stages[:-1] / walk.stages[-1])
        rows, spent_low, spent_high = Survivors(walk), 0, 0
        low, high = np.full(walk.n_stages, -np.inf), np.full(walk.n_stages, np.inf)
        for t, share in enumerate(shares):
            if rows.n_rows == 0:  # at q = 1 no plan row gets here, but with a larger q some do
                low[t:], high[t:] = low[t - 1], high[t - 1]
                break
            wrong_low, wrong_high = rows.wrong(t)
            if open_low:
                low[t] = -loosest(-wrong_low, allowed(share, n_low) - spent_low)
            if open_high:
                high[t] = loosest(wrong_high, allowed(share, n_high) - spent_high)
            low[t], high[t] = reconciled(low[t], high[t], walk.threshold)
            more_low, more_high = rows.leave(t, low[t], high[t])
            spent_low, spent_high = spent_low + more_low, spent_high + more_high
        return published_table(walk, low, high)

    def spent(self, seen: npt.ArrayLike) -> Float64Array:
        """Share of `delta` that may be spent when a share `seen` of the units has been seen.

        Examples
        --------
        >>> ErrorSpending(spend="front").spent([0.0, 0.25, 1.0]).tolist()
        [0.0, 0.5, 1.0]
        """
        s = np.asarray(seen, dtype=np.float64)
        match self.spend:
            case "linear":
                return s
            case "front":
                return np.sqrt(s)
            case "pocock":
                return np.asarray(np.log1p((math.e - 1.0) * s), dtype=np.float64)
            case "obrien-fleming":
                if self.delta == 0.0:
                    return np.where(s < 1.0, 0.0, 1.0)
                with np.errstate(divide="ignore"):
                    z = special.ndtri(self.delta / 2.0) / np.sqrt(
                        s
                    )  # the lower quantile, because small tails keep their digits
                return np.asarray(2.0 * special.ndtr(z) / self.delta, dtype=np.float64)
