"""The boundary that costs least for the stop error allowed, by dynamic programming."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import special

from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require_fraction, require_option
from ..core.walk import Moments, Walk
from ..papers.induction import Policy, Problem
from .rules import Needs, Readout
from .sides import Columns, Side, table


@dataclass(frozen=True)
class OptimalBoundary:
    """Stop where the expected cost is smallest, among all boundaries with a conditional error of `delta`.

    The prediction of the full sum from the partial one, by least squares over all rows, is taken to be a
    Gaussian martingale in the clock corr(S_t, S_n)^2, which is exact for independent Gaussian terms and close where the
    partial sum is sufficient for the terms seen. Costs are the walk's `stage_costs`, and errors have prices. Backward
    induction over the stages gives the best policy for given prices; bisection finds the prices whose policy makes the
    allowed errors. Constant boundaries cost a few percent more.

    Parameters
    ----------
    delta : float, default=0.05
        Conditional error P(early exit to the other side | protected row) of each open side.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early.

    Raises
    ------
    ValueError
        For parameters out of range, and from `boundary` for multiclass walks.

    Warns
    -----
    DegenerateBoundaryWarning
        From `boundary`: the full sums have no spread, or their threshold is so extreme that no row needs protection,
        and a side had to be closed.

    Notes
    -----
    The boundary is optimal at q = 1, but not when scaled to a risk far below `delta`: choose `delta` near the risk.

    The computation evaluates about 20 policies for one side, and some 40 for both, on a grid of some 600 nodes. Where
    the errors jump over `delta` as their price falls (when nearly all rows are of one class, and only those may be
    answered wrongly), the errors are below `delta`.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_walk
    >>> boundary = OptimalBoundary(delta=0.01).boundary(example_walk())
    >>> boundary.n_stages
    4
    """

    delta: float = 0.05
    sides: Sides = "both"
    readout: ClassVar[Readout] = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_fraction("OptimalBoundary", "delta", self.delta)
        require_option("OptimalBoundary", "sides", self.sides, SIDES)

    def boundary(self, walk: Walk) -> Boundary:
        """Centres where the prediction is the threshold, scales of the optimal level above it.

        A scale below one standard deviation of the prediction error is raised to it, and its centre is moved to match.
        """
        policy: Policy | None = None

        def upper(side: Side) -> Columns | None:
            nonlocal policy
            moments = side.moments()
            if moments is None or _share_below(moments, side.theta) == 0.0:
                return None
            upwards = side if side.positive else Side(walk, positive=True)
            if policy is None:
                policy = self._policy(upwards)
            slope, sd, useful = moments.prediction()
            level = policy.levels[0] if side.positive else -policy.levels[1]
            center = moments.mean + (side.theta - moments.full_mean) / slope
            with np.errstate(invalid="ignore"):
                height = math.sqrt(moments.full_variance) * level / slope
            # Towards the end, levels approach the threshold, where q would hardly move them.
            raised = np.where(np.isfinite(height), np.maximum(sd / slope - height, 0.0), 0.0)
            return center - raised, np.where(useful, height + raised, np.inf)

        return table(walk, self.sides, "OptimalBoundary", upper)

    def _policy(self, side: Side) -> Policy:
        moments = side.moments()
        assert moments is not None
        _, sd, useful = moments.prediction()
        sigma = math.sqrt(moments.full_variance)
        clock = np.clip(1.0 - (sd / sigma) ** 2, 0.0, 1.0)
        below = _share_below(moments, side.theta)
        problem = Problem(
            start=(moments.full_mean - side.theta) / sigma,
            clock=np.maximum.accumulate(clock),
            costs=side.walk.stage_costs / side.walk.stage_costs[-1],
            usable=useful,
        )
        upper, lower = self.sides != "negative", self.sides != "positive"
        return problem.best(self.delta * np.array([below * upper, (1.0 - below) * lower]))


def _share_below(moments: Moments, theta: float) -> float:
    """Share of a normal distribution with these moments that lies below `theta`."""
    return float(special.ndtr((theta - moments.full_mean) / math.sqrt(moments.full_variance)))
