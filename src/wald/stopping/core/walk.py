"""The input of a stopping rule: plan rows on their way through the stages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...utils.stage_table import FloatArray
from .boundary import Sides
from .stage_scores import StageScores
from .validation import require

Float64Array = npt.NDArray[np.float64]

# A stage whose estimate was nearly perfect on the plan rows still gets this share of the goal's spread as its
# scale: rows to come may differ, and a scale of 0 could not be widened by q.
_LEAST_RELATIVE_SCALE = 0.005


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of partial sums and of the full sum, over a set of rows.

    Attributes
    ----------
    mean, variance, covariance : float64 arrays of shape (T,)
        Mean and variance of the partial sum S_t at every early stage, and its covariance with the full sum
        S_n.
    full_mean, full_variance : float
        Mean and variance of S_n.
    n_rows : int
        Number of rows.
    """

    mean: Float64Array
    variance: Float64Array
    covariance: Float64Array
    full_mean: float
    full_variance: float
    n_rows: int

    @property
    def kappa(self) -> Float64Array:
        """The clock cov(S_t, S_n) / var(S_n), of shape (T,): t / n for equal independent terms."""
        return self.covariance / self.full_variance

    def mirrored(self) -> Moments:
        """Moments of the sums with their signs changed."""
        return replace(self, mean=-self.mean, full_mean=-self.full_mean)

    def prediction(self) -> tuple[Float64Array, Float64Array, npt.NDArray[np.bool_]]:
        """Predict the full sum from each partial sum, by least squares.

        Returns
        -------
        slope, sd : float64 arrays of shape (T,)
            Slope of S_n on S_t, and standard deviation of the residual.
        useful : bool array of shape (T,)
            Whether the two are positively correlated. Where they are not, the slope is 1.
        """
        useful = (self.covariance > 0.0) & (self.variance > 0.0)
        spread = np.where(useful, self.variance, 1.0)
        explained = np.where(useful, self.covariance**2 / spread, 0.0)
        slope = np.where(useful, self.covariance / spread, 1.0)
        return slope, np.sqrt(np.maximum(self.full_variance - explained, 0.0)), useful

    def bridge_variance(self) -> float:
        """Fit the variance of a bridge to the partial sums given the full sum.

        At clock kappa a bridge of variance V has variance V kappa (1 - kappa); V is fitted by least squares
        to var(S_t) - cov(S_t, S_n)^2 / var(S_n). For independent terms it is the variance of the walk, over
        any set of rows that was chosen by the full sum alone. Without a stage between start and end it is the full
        variance.
        """
        clock = self.kappa * (1.0 - self.kappa)
        given_end = self.variance - self.covariance**2 / self.full_variance
        weight = float(clock @ clock)
        return max(0.0, float(given_end @ clock) / weight) if weight > 0.0 else self.full_variance


@dataclass(frozen=True, eq=False, kw_only=True)
class Walk(StageScores):
    """The input of a stopping rule: stage scores of N plan rows in float64, with costs, bounds and the full scores.

    Parameters
    ----------
    full, margins, answers, losses
        See `StageScores`; here in float64.
    full_scores : float64 array of shape (N, K)
        The full model's scores, K of them per row.
    stages : int array of shape (T + 1,)
        Units seen at each stage; the last one is the full model.
    stage_costs : float64 array of shape (T + 1,)
        Cost of a row that leaves at each stage, in the unit in which budgets are given.
    full_margins : float64 array of shape (N,), optional
        One-sided: the margins of the full scores.
    threshold : float, default=0.0
        Two-sided: the full model answers 1 above it. One-sided margins open from 0 on.
    intercept : float, default=0.0
        Partial readout: the model's intercept, which is not a term.
    imputed : float64 array of shape (T,), optional
        Partial readout: the mean of the unseen terms, which z contains in their place, so that
        ``z = intercept + (sum of the terms seen) + imputed``.
    remainder_low, remainder_high : float64 arrays of shape (T,), optional
        Bounds of (full score - z) that hold for every row. One-sided: bounds of (margin of the full model - margin at
        the stage) for any two answers. Infinite where no bound is known.
    slack : float64 array of shape (T,), optional
        Bound of the rounding errors of z and of the full score together.
    errors : float64 array of shape (N, T), optional
        Errors of the estimates, where these are no plain differences of the margins and those of the full scores.
    n_classes : int, default=2
    sides : {"both", "negative", "positive"}, default="both"
        Answers as which the promise lets rows leave early.

    Raises
    ------
    ValueError
        If the shapes do not fit.
    """

    full_scores: Float64Array
    stages: npt.NDArray[np.integer]
    stage_costs: Float64Array
    full_margins: Float64Array | None = None
    threshold: float = 0.0
    intercept: float = 0.0
    imputed: Float64Array | None = None
    remainder_low: Float64Array | None = None
    remainder_high: Float64Array | None = None
    slack: Float64Array | None = None
    errors: Float64Array | None = None
    n_classes: int = 2
    sides: Sides = "both"

    def __post_init__(self) -> None:
        super().__post_init__()
        n_stages = self.n_stages
        if self.full_scores.ndim != 2 or len(self.full_scores) != self.n_rows:
            raise ValueError(f"full_scores must have shape ({self.n_rows}, K). Got {self.full_scores.shape}.")
        if self.stages.shape != (n_stages + 1,) or self.stage_costs.shape != (n_stages + 1,):
            raise ValueError(f"stages and stage_costs must have shape ({n_stages + 1},): the full model is a stage.")
        for name in ("imputed", "remainder_low", "remainder_high", "slack"):
            column = getattr(self, name)
            if column is not None and column.shape != (n_stages,):
                raise ValueError(f"{name} must have shape ({n_stages},). Got {column.shape}.")

    @property
    def stage_scores(self) -> StageScores:
        """The walk itself, which is a table of stage scores."""
        return self

    def subset(self, keep: Sequence[int]) -> Walk:
        """Keep some of the early stages, given by their indices, and the full model."""
        chosen = list(keep)

        def kept(column: Any) -> Any:
            return None if column is None else column[..., chosen]

        by_stage = ("margins", "answers", "losses", "imputed", "remainder_low", "remainder_high", "slack", "errors")
        return replace(
            self,
            stages=self.stages[[*chosen, -1]],
            stage_costs=self.stage_costs[[*chosen, -1]],
            **{name: kept(getattr(self, name)) for name in by_stage},
        )

    @property
    def goal(self) -> Float64Array:
        """The quantity that every stage estimates, of shape (N,): the full score, or the margin of the full scores."""
        if self.two_sided:
            return self.full_scores[:, 0]
        return np.asarray(require(self.full_margins, "full_margins", "A rule on margins"), dtype=np.float64)

    @property
    def least_scale(self) -> float:
        """Least scale that a threshold should have, for `q` to move it: a small share of the goal's spread."""
        spread = float(self.goal.std()) if self.goal.size else 0.0
        return _LEAST_RELATIVE_SCALE * (spread or 1.0)

    def residual_size(self) -> Float64Array:
        """Return the fourth-power mean of (estimate - goal) at every early stage, of shape (T,).

        The errors of late stages are rare and large, for example where a feature is non-zero in one row of a thousand.
        The fourth power weighs such errors more than the standard deviation does; for Gaussian errors it is 1.32
        standard deviations.
        """
        error = self.margins - self.goal[:, None] if self.errors is None else self.errors
        return np.asarray((error**4).mean(axis=0) ** 0.25, dtype=np.float64)

    @property
    def offset(self) -> Float64Array:
        """The part of z that is not the terms seen: intercept and mean of the unseen terms, of shape (T,)."""
        return np.asarray(self.intercept + require(self.imputed, "imputed", "A rule on partial sums"))

    def partial_sums(self) -> FloatArray:
        """Return S_t, the sums of the terms seen, of shape (N, T): z without its `offset`."""
        return self.margins - self.offset

    def moments(self, rows: npt.NDArray[np.bool_]) -> Moments:
        """Take the moments of partial and full sums over `rows`, a mask of shape (N,)."""
        partial = self.partial_sums()[rows]
        full = self.full_scores[rows, 0] - self.intercept
        centred = full - full.mean()
        return Moments(
            mean=partial.mean(axis=0),
            variance=partial.var(axis=0),
            covariance=centred @ partial / len(full),
            full_mean=float(full.mean()),
            full_variance=float(full.var()),
            n_rows=len(full),
        )
