"""Quit when you can: thresholds placed on the plan rows, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..core.boundary import SIDES, Boundary, Sides
from ..core.survivors import Survivors, allowed, loosest, loosest_pair, reconciled
from ..core.validation import require_option, require_share
from ..core.walk import Walk
from ..papers.published import open_sides, published_table
from .rules import READOUTS, Needs, Readout


@dataclass(frozen=True)
class Qwyc:
    """Open every stage as wide as the plan rows allow, with at most a share `alpha` of them answered otherwise.

    Each stage gets the pair of thresholds by which most of the active rows leave, with the disagreements of all stages
    so far within ``alpha`` times the rows. The pair is found exactly, by sorting. Stages that no plan row reaches
    repeat the last thresholds.

    The thresholds are fitted to the plan rows, so fresh rows disagree more often than `alpha`: ``risk=None`` measures
    how often, and a ``risk`` scales the thresholds until a promise holds. The greedy order of the same paper is
    ``order="qwyc"`` of `wald.Planner`.

    Parameters
    ----------
    alpha : float, default=0.005
        Share of the plan rows that may be answered otherwise than by the full model; at least 0, below 1.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early. "negative" is the paper's filter-and-score.
    readout : {"partial", "regressed"}, default="partial"
        "partial" is the running sum of the paper.

    Raises
    ------
    ValueError
        For parameters out of range.

    References
    ----------
    S. Wang, M. R. Gupta and S. You, "Quit When You Can: Efficient Evaluation of Ensembles with Ordering
    Optimization", 2018, arXiv 1806.11202. The paper bisects for the thresholds; sorting gives the exact ones.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_walk
    >>> walk = example_walk()
    >>> boundary = Qwyc(alpha=0.01).boundary(walk)
    >>> codes, stage = walk.leave(*boundary.thresholds(1.0, "float64"))
    >>> int((codes != walk.full).sum())
    3
    """

    alpha: float = 0.005
    sides: Sides = "both"
    readout: Readout = "partial"

    def __post_init__(self) -> None:
        require_share("Qwyc", "alpha", self.alpha)
        require_option("Qwyc", "sides", self.sides, SIDES)
        require_option("Qwyc", "readout", self.readout, READOUTS)

    @property
    def needs(self) -> Needs:
        """Its order of units may decide as many rows otherwise as its thresholds."""
        return Needs(order_share=self.alpha)

    def boundary(self, walk: Walk) -> Boundary:
        """Place the thresholds from the first stage to the last; q = 1 uses them as placed."""
        open_low, open_high = open_sides(self.sides, walk.sides)
        open_low &= walk.two_sided
        rows, budget = Survivors(walk), allowed(self.alpha, len(walk.full))
        low, high = np.full(walk.n_stages, -np.inf), np.full(walk.n_stages, np.inf)
        for t in range(walk.n_stages):
            if rows.n_rows == 0:  # at q = 1 no plan row gets here, but with a larger q some do
                low[t:], high[t:] = low[t - 1], high[t - 1]
                break
            wrong_low, wrong_high = rows.wrong(t)
            if open_low and open_high:
                pair = loosest_pair(rows.margins(t), wrong_low, wrong_high, budget)
            else:
                pair = (
                    -loosest(-wrong_low, budget) if open_low else -np.inf,
                    loosest(wrong_high, budget) if open_high else np.inf,
                )
            low[t], high[t] = reconciled(*pair, walk.threshold)
            budget -= sum(rows.leave(t, low[t], high[t]))
        return published_table(walk, low, high)
