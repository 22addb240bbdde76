"""The protocol of stopping rules, and three rules without a model of the walk: `Ladder`, `Lossless`, `Budget`."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ..core.boundary import Boundary
from ..core.validation import require, require_option, require_positive
from ..core.walk import Walk

Readout = Literal["regressed", "partial"]
READOUTS: tuple[Readout, ...] = ("regressed", "partial")


Range = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Needs:
    """What a stopping rule is, what it must be given, and what a plan may do with its thresholds.

    The defaults are those of a rule that compares estimates with thresholds of its own.

    Parameters
    ----------
    lossless : bool, default=False
        Whether the rule is certified by proof: no early answer can differ from the full model's.
    forced : bool, default=False
        Whether the rule makes rows leave whatever their scores, so that no risk can be promised.
    bounds : bool, default=False
        Whether the rule reads `Walk.remainder_low`, `remainder_high` and `slack`.
    low, high : float, tuple of float or None, default=None
        Known range of the features, from which these bounds of linear models follow.
    stages : tuple of int, default=()
        Numbers of units after which a plan must be able to stop.
    order_share : float or None, default=None
        Share of the plan rows that ``order="qwyc"`` may decide otherwise than the full model; None: the risk.
    error_scales : bool, default=False
        Whether thresholds lie `Walk.residual_size` around the decision threshold, times a constant. A plan may then
        divide estimates by what each row's leaves say of their error, make late stages bolder, and drop classes that
        are far behind.
    """

    lossless: bool = False
    forced: bool = False
    bounds: bool = False
    low: Range = None
    high: Range = None
    stages: tuple[int, ...] = ()
    order_share: float | None = None
    error_scales: bool = False

    def __post_init__(self) -> None:
        for name in ("lossless", "forced", "bounds", "error_scales"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"Needs.{name} must be True or False. Got {getattr(self, name)!r}.")
        stages: Any = self.stages
        if not (isinstance(stages, tuple) and all(isinstance(k, int) and k >= 0 for k in stages)):
            raise TypeError(f"Needs.stages must be a tuple of whole numbers. Got {self.stages!r}.")
        share: Any = self.order_share
        if share is not None and not (isinstance(share, float | int) and 0 <= share < 1):
            raise ValueError(f"Needs.order_share must be None or a number at least 0 and below 1. Got {share!r}.")
        if self.lossless and (self.forced or self.error_scales):
            raise ValueError("Needs(lossless=True) goes with neither forced nor error_scales: a proof has no scales.")


@runtime_checkable
class Rule(Protocol):
    """A stopping rule: a small value object that turns a `Walk` into a `Boundary`.

    `check_stopping_rule` states and checks its contract.
    """

    @property
    def readout(self) -> Readout:
        """The readout whose scores are compared with the thresholds."""

    @property
    def needs(self) -> Needs:
        """What the rule needs, and what a plan may do with it."""

    def boundary(self, walk: Walk) -> Boundary:
        """Turn `walk` into the rule's table for its stages; q = 1 uses it as published."""


@dataclass(frozen=True)
class Ladder:
    """Leave when the estimate is `q` times the stage's usual error away from the threshold (the default rule).

    The scale of each stage is the fourth-power mean of its error on plan rows that its readout was not fitted on. The
    certificate chooses `q`. Where rows are stored by columns, a plan makes late stages bolder (see
    `wald.plan.CostModel`).

    Parameters
    ----------
    readout : {"regressed", "partial"}, default="regressed"

    Examples
    --------
    >>> Ladder()
    Ladder(readout='regressed')
    """

    readout: Readout = "regressed"
    needs: ClassVar[Needs] = Needs(error_scales=True)

    def __post_init__(self) -> None:
        require_option("Ladder", "readout", self.readout, READOUTS)

    def boundary(self, walk: Walk) -> Boundary:
        """Centres at the threshold (multiclass: at 0), scales of one residual size."""
        scale = np.maximum(walk.residual_size(), walk.least_scale)
        return Boundary.symmetric(walk.threshold, scale) if walk.two_sided else Boundary.upper(0.0, scale)


@dataclass(frozen=True, repr=False)
class Lossless:
    """Leave when the unseen terms cannot change the answer any more, rounding errors included.

    The rule uses no statistics: the walk has bounds of the unseen terms that hold for every row, the thresholds do not
    move with `q`, and no certificate rows are needed. Without finite bounds, no row leaves.

    Parameters
    ----------
    low, high : float or array-like of shape (n_features,), optional
        Known range of the features, for linear models; 0 and 255 for grey levels, say. Kernels have bounds of their
        own. Rows given to ``fit`` must lie within the range. Before a row leaves, all of its values are compared with
        it, also those of features that were not read; a row with a value outside is evaluated in full.

    Raises
    ------
    ValueError
        If a bound is NaN, or `low` exceeds `high`.

    Examples
    --------
    >>> Lossless(low=0, high=255)
    Lossless(low=0.0, high=255.0)
    """

    low: Range = None
    high: Range = None
    readout: ClassVar[Readout] = "partial"

    def __post_init__(self) -> None:
        # Plain numbers and tuples compare and hash, which arrays do not.
        for name in ("low", "high"):
            object.__setattr__(self, name, _plain(name, getattr(self, name)))
        if self.low is not None and self.high is not None and np.any(np.greater(self.low, self.high)):
            raise ValueError("The 'low' parameter of Lossless must not exceed 'high'.")

    def __repr__(self) -> str:
        return f"Lossless(low={reprlib.repr(self.low)}, high={reprlib.repr(self.high)})"

    @property
    def needs(self) -> Needs:
        """Bounds of the unseen terms, by the ranges."""
        return Needs(lossless=True, bounds=True, low=self.low, high=self.high)

    def boundary(self, walk: Walk) -> Boundary:
        """Thresholds that the remainder cannot cross, as centres with scale 0.

        With full score F in ``z + [remainder_low, remainder_high]`` up to `slack`, ``z > threshold -
        remainder_low + slack`` proves F > threshold, strictly: the model's own rule for ties is never needed.
        Multiclass: the winner's margin cannot fall by more than ``-remainder_low``, so above it every rival
        stays strictly beaten.
        """
        fixed = np.zeros(walk.n_stages)
        if walk.two_sided and np.isinf(walk.threshold):  # the answer is the same for all rows
            always = np.full(walk.n_stages, walk.threshold)
            return Boundary(always, fixed, always, fixed)
        below = require(walk.remainder_low, "remainder_low", "Lossless")
        slack = require(walk.slack, "slack", "Lossless")
        high = _outwards(walk.threshold, -below, slack)
        if not walk.two_sided:
            return Boundary.upper(high, 0.0)
        above = require(walk.remainder_high, "remainder_high", "Lossless")
        low = -_outwards(-walk.threshold, above, slack)
        return Boundary(low, fixed, high, fixed)


@dataclass(frozen=True)
class Budget:
    """Evaluate as much as a budget pays for, then answer: the papers' budgeted predictor.

    Every row leaves at the deepest stage that costs at most `k`, whatever its score, so nothing can be
    promised; the measured disagreement is reported instead. A row with a score exactly on the threshold goes on to
    the next stage.

    Parameters
    ----------
    k : float
        Budget per row, in the unit of the walk's `stage_costs`.
    readout : {"regressed", "partial"}, default="partial"
        "partial" is the papers' predictor, with unseen terms imputed by their mean.

    References
    ----------
    R. Pelossof and Z. Ying, "Focus of Attention for Linear Predictors", arXiv 1212.6659: the budgeted
    baseline.

    Examples
    --------
    >>> Budget(50)
    Budget(k=50, readout='partial')
    """

    k: float
    readout: Readout = "partial"

    def __post_init__(self) -> None:
        require_positive("Budget", "k", self.k)
        require_option("Budget", "readout", self.readout, READOUTS)

    @property
    def needs(self) -> Needs:
        """A stage after `k` units."""
        return Needs(forced=True, stages=(int(self.k),))

    def boundary(self, walk: Walk) -> Boundary:
        """Put both thresholds on the decision threshold, from the deepest affordable stage on.

        A budget that pays for the full model disables everything. One below the first stage raises ValueError.
        """
        if walk.stage_costs[0] > self.k:
            raise ValueError(f"Budget({self.k:g}) is below the first stage, which costs {walk.stage_costs[0]:g}.")
        deepest = np.flatnonzero(walk.stage_costs <= self.k).max()
        closed = np.arange(walk.n_stages) < deepest
        fixed = np.zeros(walk.n_stages)
        if not walk.two_sided:
            return Boundary.upper(np.where(closed, np.inf, -np.inf), fixed)  # any confidence will do
        low, high = np.where(closed, -np.inf, walk.threshold), np.where(closed, np.inf, walk.threshold)
        return Boundary(low, fixed, high, fixed)


def check_rule(rule: Rule, risk: float | None) -> None:
    """Raise ValueError if `rule` cannot keep a promise of `risk`.

    ``risk=0`` takes a rule certified by proof, a risk between 0 and 1 takes any rule that does not force
    exits, and ``risk=None`` promises nothing and takes every rule.

    Examples
    --------
    >>> check_rule(Ladder(), risk=0)
    Traceback (most recent call last):
        ...
    ValueError: risk=0 takes a rule certified by proof, such as Lossless(); Ladder(...) is not.
    """
    if risk is None:
        return
    if not 0.0 <= risk < 1.0:
        raise ValueError(f"risk must be None, or at least 0 and below 1. Got {risk!r} instead.")
    if rule.needs.forced:
        raise ValueError(f"{rule!r} forces exits, so no risk can be promised: measure it with risk=None.")
    if risk == 0.0 and not rule.needs.lossless:
        raise ValueError(f"risk=0 takes a rule certified by proof, such as Lossless(); {rule!r} is not.")


def _outwards(*terms: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Sum of three terms, moved up by more than the rounding errors of the sum."""
    stacked = np.stack(np.broadcast_arrays(*(np.asarray(term, dtype=np.float64) for term in terms)))
    unit = np.finfo(np.float64).eps
    return np.asarray(stacked.sum(axis=0) + 2.0 * unit * np.abs(stacked).sum(axis=0), dtype=np.float64)


def _plain(name: str, bound: npt.ArrayLike | None) -> Range:
    if bound is None:
        return None
    values = np.asarray(bound, dtype=np.float64)
    if values.ndim > 1 or np.isnan(values).any():
        raise ValueError(f"The {name!r} parameter of Lossless must be a number or one number per feature, without NaN.")
    return float(values) if values.ndim == 0 else tuple(values.tolist())
