"""LightGBM's early stopping of predictions: one margin at all depths."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ..core.boundary import SIDES, Boundary, Sides
from ..core.validation import require, require_option, require_positive
from ..core.walk import Walk
from ..papers.published import open_sides
from .rules import Needs, Readout


@dataclass(frozen=True)
class Margin:
    """Leave when the margin of the partial score exceeds `value`: the rule of LightGBM's ``pred_early_stop``.

    For two classes the margin is ``2 |s|``, where s is the raw partial score (intercept and terms seen, without an
    estimate of the unseen ones) less the decision threshold; otherwise it is the gap between the best two classes.
    `value` is the same at all depths, and promises nothing. With a ``risk``, ``q * value`` is the margin that the
    certificate allows, and the setting for LightGBM.

    Parameters
    ----------
    value : float, default=10.0
        ``pred_early_stop_margin``; positive.
    every : int, default=10
        ``pred_early_stop_freq``: units between two checks. Stages of the plan that are nearer to the last open stage
        stay closed.
    sides : {"both", "negative", "positive"}, default="both"
        The answers that may be given early. LightGBM gives both.

    Raises
    ------
    ValueError
        For parameters out of range.

    Notes
    -----
    For several classes the gap is the walk's confidence, with the unseen terms at their mean; for one-vs-one models it
    is the winner's smallest pairwise decision.

    References
    ----------
    LightGBM, ``src/boosting/prediction_early_stop.cpp``.

    Examples
    --------
    >>> from wald.stopping.rules.checks import example_walk
    >>> walk = example_walk()
    >>> low, high = Margin(value=3.0, every=8).boundary(walk).thresholds(1.0, "float64")
    >>> walk.stages.tolist(), (high - walk.imputed).tolist()
    ([2, 6, 12, 18, 24], [inf, inf, 1.5, inf])
    """

    value: float = 10.0
    every: int = 10
    sides: Sides = "both"
    readout: ClassVar[Readout] = "partial"
    needs: ClassVar[Needs] = Needs()

    def __post_init__(self) -> None:
        require_positive("Margin", "value", self.value)
        if not isinstance(self.every, Integral) or isinstance(self.every, bool) or self.every < 1:
            raise ValueError(
                f"The 'every' parameter of Margin must be a whole number of at least 1. Got {self.every!r} instead."
            )
        require_option("Margin", "sides", self.sides, SIDES)

    def boundary(self, walk: Walk) -> Boundary:
        """Centre on the raw score's threshold, with the margin as scale."""
        is_open = self._open_stages(walk)
        if not walk.two_sided:
            return Boundary.upper(np.where(is_open, 0.0, np.inf), np.where(is_open, self.value, 0.0))
        center = walk.threshold + require(walk.imputed, "imputed", "Margin")
        open_low, open_high = open_sides(self.sides, walk.sides)
        scale = np.where(is_open, 0.5 * self.value, 0.0)
        low = np.where(is_open & open_low, center, -np.inf)
        high = np.where(is_open & open_high, center, np.inf)
        return Boundary(low, scale, high, scale)

    def _open_stages(self, walk: Walk) -> npt.NDArray[np.bool_]:
        """Whether each early stage is at least `every` units after the last open one."""
        last, is_open = 0, []
        for seen in walk.stages[:-1].tolist():
            is_open.append(seen - last >= self.every)
            last = seen if is_open[-1] else last
        return np.array(is_open, dtype=bool)
