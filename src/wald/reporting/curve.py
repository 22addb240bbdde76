"""Disagreement against cost, at the thresholds in use and at others."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit import EarlyExitClassifier
from ..stopping import StageScores, q_grid
from ..stopping.core.binomial import interval
from .facts import Curve

#: How many scales of the thresholds a curve goes through.
_SCALES = 40
_COUNTED = {
    "positive": "rows that the model calls positive",
    "negative": "rows that the model calls negative",
}


def curve_of(
    fast: EarlyExitClassifier, scores: StageScores, cost: NDArray[np.float64], differs: NDArray[np.bool_]
) -> Curve | None:
    """Share of differing labels and mean cost for scales of the thresholds.

    Parameters
    ----------
    fast : EarlyExitClassifier
    scores : StageScores
        Of the rows, from ``fast.looks``.
    cost : ndarray of shape (n_rows,)
        Costs in use.
    differs : bool ndarray of shape (n_rows,)
        Whether labels in use differ.

    Returns
    -------
    Curve or None
        None if no row is counted, or if the rule's thresholds cannot be scaled.
    """
    plan = fast.plan_
    counted = np.ones(scores.n_rows, dtype=bool)
    if fast.protect in ("positive", "negative"):
        counted = scores.full == (fast.protect == "positive")
    n_counted = int(np.count_nonzero(counted))
    if plan.boundary.fixed or not n_counted:
        return None

    def at(q: float) -> tuple[float, float]:
        codes, stage = scores.leave(*plan.boundary.thresholds(q, plan.precision))
        return float(plan.stage_costs[stage].mean()), float(np.mean(scores.lost(codes, stage)[counted]))

    points = [at(q) for q in (np.inf, *q_grid(scores, plan.boundary, _SCALES).tolist(), 0.0)]
    points = points[min(range(len(points)), key=lambda i: points[i][0]) :: -1]  # at small scales, cost rises again
    n_different = int(np.count_nonzero(differs & counted))
    protect: Any = fast.protect
    return Curve(
        points=tuple(dict.fromkeys(points)),
        chosen=(float(cost.mean()), n_different / n_counted),
        interval=interval(n_different, n_counted, fast.confidence),
        n_rows=n_counted,
        counted=_COUNTED.get(protect, "rows") if isinstance(protect, str) else "rows",
    )
