"""Disagreement against cost, for the thresholds in use and for others."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..early_exit.base import EarlyExitEstimator
from ..early_exit.group_answers import measured
from ..stopping import StageScores, q_grid
from ..stopping.core.binomial import interval
from ..stopping.core.risks import Line
from ..stopping.core.validation import require_fraction
from ._curves import CurveDisplay, draw_bound, legend_of_curves
from ._rankings import is_ranker, require_race, tradeoff_fields
from ._source import Floats, model_of, name_of, row_costs, unit_of

#: How many scales of the thresholds a curve goes through.
_N_SCALES = 200
#: The same for groups, each of which is ranked anew.
_N_GROUP_SCALES = 40


@dataclass(kw_only=True, eq=False, repr=False)
class TradeoffDisplay(CurveDisplay):
    """Disagreement with the full model against cost per row, for one predictor or for several on one axes.

    It is recommended to create it with `from_estimator` or `from_predictions`.

    Both axes are logarithmic. A share of 0 lies below that of one row; its tick gives the upper confidence limit of
    Clopper and Pearson.

    Parameters
    ----------
    cost : array-like of shape (n_points,)
        Mean cost of a row at every setting of the predictor.
    disagreement : array-like of shape (n_points,)
        Share of the counted rows whose answer differs from the full model's; of values, by more than the tolerance. Of
        rankings, the share of the first rows that is missing, on average over groups.
    n_rows : int
        Rows, or groups, that were counted.
    cost_in_use, disagreement_in_use : float or None, default=None
        The point of the setting in use.
    interval_in_use : tuple of 2 float or None, default=None
        Confidence interval of ``disagreement_in_use``.
    risk : float or None, default=None
        Promised bound of the disagreement in use, with the certificate's confidence.
    confidence : float, default=0.95
        Confidence of the interval, and of the upper limit that the tick of a share of 0 gives.
    full_cost : float or None, default=None
        Cost of a row that is evaluated in full.
    unit : str, default="cost"
        Unit of the costs.
    event : str, default="disagreement with full model"
        Name of the counted event, for the axis.
    name : str or None, default=None
        Name of the predictor, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve.
    point_ : matplotlib ErrorbarContainer or None
        The setting in use with its interval.
    risk_line_ : matplotlib Line2D or None
        The certified bound; None where there is none, or the axes have the same one from another display.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.displays import TradeoffDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC().fit(X[:600], y[:600] > 4)
    >>> fast = EarlyExitClassifier(svc, risk=0.02, planner=Planner(cost="units"), random_state=0).fit(X[600:1400])
    >>> display = TradeoffDisplay.from_estimator(fast, X[1400:], name="early exit")
    >>> other = TradeoffDisplay.from_estimator(fast, X[1400:], budgeted=True, name="budgeted", ax=display.ax_)
    >>> [text.get_text() for text in other.ax_.get_legend().get_texts()]
    ['early exit (certified ≤ 2 %)', 'budgeted', 'in use (95 % CI)']
    """

    _gid = "wald-tradeoff"

    cost: ArrayLike
    disagreement: ArrayLike
    n_rows: int
    cost_in_use: float | None = None
    disagreement_in_use: float | None = None
    interval_in_use: tuple[float, float] | None = None
    risk: float | None = None
    confidence: float = 0.95
    full_cost: float | None = None
    unit: str = "cost"
    event: str = "disagreement with full model"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EarlyExitEstimator,
        X: Any,
        *,
        groups: ArrayLike | None = None,
        budgeted: bool = False,
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Measure an early-exit estimator on rows, and draw it.

        The rows go through the engine once. Every scale of the plan's thresholds, from the cheapest on, is one point.

        Parameters
        ----------
        estimator : EarlyExitClassifier, or another early-exit estimator
            Fitted. Of an `EarlyExitRanker`, the share of the first rows that is missing, on average over groups, stands
            in place of disagreement.
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            Rows that neither trained nor planned nor certified it: rows by which thresholds were chosen give no
            valid interval. Where the promise is about one of two classes, disagreement is counted among the rows that
            the full model puts there, and cost is the mean over all rows.
        groups : array-like of shape (n_rows,), default=None
            For rankers: the key of each row's group.
        budgeted : bool, default=False
            Instead let every row leave at the same stage of the plan. The difference shows what early exit adds to the
            plan.
        unit : str, default=None
            Unit of the costs; "support vectors", "features" or "feature cost" when None.
        name : str, default=None
            For the legend; the class of the wrapped estimator, and whether it is ``budgeted``, when None.
        ax : matplotlib Axes, default=None
            A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``plot`` of the curve.

        Returns
        -------
        TradeoffDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If the estimator is another one.
        ValueError
            If there are no rows to count.
        """
        caller = cls._caller("from_estimator")
        if is_ranker(estimator, groups, caller):
            ranker = require_race(estimator, X, caller)
            assert groups is not None  # a ranker whose rows race needs them
            found = measured(ranker, X, groups, _N_GROUP_SCALES, one_stage=budgeted)
            made = cls(**tradeoff_fields(ranker, found, in_use=not budgeted))
        else:
            caller, fast, _ = cls._checked(estimator, X)
            stage_scores, costs = fast.looks(X), row_costs(fast, X)
            if not counted_rows(fast, stage_scores).any():
                line = _one_class(fast)
                named = "" if line is None else line.name
                raise ValueError(f"{caller}: by the full model, none of the {stage_scores.n_rows} rows are {named}.")
            made = cls(**measured_fields(fast, stage_scores, costs, budgeted=budgeted))
        made.unit = made.unit if unit is None else unit
        made.name = name_of(estimator) + ", budgeted" * budgeted if name is None else name
        return made.plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_full: ArrayLike,
        y_pred: ArrayLike,
        cost: ArrayLike,
        *,
        confidence: float = 0.95,
        full_cost: float | None = None,
        unit: str = "cost",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Count the disagreements of any predictor, and draw them.

        Parameters
        ----------
        y_full : array-like of shape (n_rows,)
            The full model's labels.
        y_pred : array-like of shape (n_rows,) or (n_points, n_rows)
            The predictor's labels, at one setting or at several in the order of the curve.
        cost : array-like of shape (n_rows,), (n_points, 1) or (n_points, n_rows)
            Costs of the rows.
        confidence, full_cost, unit
            As in the class.
        name : str, default=None
            "Classifier" when None.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For matplotlib's ``plot`` of the curve.

        Returns
        -------
        TradeoffDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        ValueError
            If shapes do not fit, or there are no rows.
        """
        caller = cls._caller("from_predictions")
        require_fraction(caller, "confidence", confidence)
        full, answers = np.asarray(y_full), np.atleast_2d(np.asarray(y_pred))
        costs = np.atleast_2d(np.asarray(cost, dtype=np.float64))
        if full.ndim != 1 or full.size == 0 or answers.ndim != 2 or answers.shape[1] != len(full):
            raise ValueError(
                f"{caller} needs y_full of shape (n_rows,) and y_pred of shape (n_points, n_rows), n_rows at least 1. "
                f"Got {full.shape} and {np.shape(y_pred)}."
            )
        if costs.shape not in (answers.shape, (len(answers), 1)):
            raise ValueError(
                f"The 'cost' parameter of {caller} must have shape {answers.shape} or {(len(answers), 1)}, as y_pred "
                f"has. Got {np.shape(cost)}."
            )
        return cls(
            cost=costs.mean(axis=1),
            disagreement=(answers != full).mean(axis=1),
            n_rows=len(full),
            confidence=confidence,
            full_cost=full_cost,
            unit=unit,
            name="Classifier" if name is None else name,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax: Any, style: ModuleType, name: str | None, **kwargs: Any) -> None:
        promise = "" if self.risk is None else f"{100 * self.risk:g} %"
        colour = self._draw_curve(ax, style, self.disagreement, name, promise, **kwargs)
        self._draw_point(ax, self.disagreement_in_use)
        self.risk_line_ = None
        if self.risk is not None:
            self.risk_line_ = draw_bound(ax, style, self.risk, colour)
        highest = max([*self._shown(self.disagreement), self.risk or 0.0, *(self.interval_in_use or (0.0,))])
        style.share_axis(ax, self.n_rows, self.confidence, highest)
        style.cost_axis(ax, self.cost, self.full_cost, f"{self.unit} per row, mean")
        ax.set_ylabel(self.event)
        style.open_frame(ax)
        legend_of_curves(ax, style)


def counted_rows(fast: EarlyExitEstimator, stage_scores: StageScores) -> NDArray[np.bool_]:
    """Which rows the promise is about."""
    line = _one_class(fast)
    return np.ones(stage_scores.n_rows, dtype=bool) if line is None else line.members(stage_scores.full)


def measured_fields(
    fast: EarlyExitEstimator,
    stage_scores: StageScores,
    costs: Floats | None,
    *,
    budgeted: bool = False,
    n_scales: int = _N_SCALES,
) -> dict[str, Any]:
    """Measure rows of which some are counted, with `row_costs`; what a `TradeoffDisplay` shows of them."""
    plan, certificate = fast.plan_, fast.certificate_
    rows = np.arange(stage_scores.n_rows)
    of_stages = plan.stage_costs if costs is None else costs.mean(axis=0)
    counted = counted_rows(fast, stage_scores)

    def share(lost: Any) -> float:
        return float(np.mean(lost[counted]))

    def early(q: float) -> tuple[float, float]:
        codes, stage = stage_scores.leave(*plan.boundary.thresholds(q, plan.precision))
        paid = plan.stage_costs[stage] if costs is None else costs[rows, stage]
        return float(paid.mean()), share(stage_scores.lost(codes, stage))

    n_counted = int(np.count_nonzero(counted))
    about: dict[str, Any] = {
        "n_rows": n_counted,
        "confidence": fast.confidence,
        "full_cost": plan.full_cost if costs is None else float(of_stages[-1]),
        "unit": unit_of(fast),
        "event": _event(fast),
    }
    if budgeted:
        shares = [share(lost) for lost in _lost_at(fast, stage_scores)]
        points = list(zip(of_stages.tolist(), [*shares, 0.0], strict=True))
    else:
        q_in_use = np.inf if plan.evaluate_all else plan.q
        scales = q_grid(stage_scores, plan.boundary, n_scales).tolist()
        points = [early(q) for q in sorted({np.inf, q_in_use, *scales, 0.0})]
        # at small scales, thresholds with different centres cross, and cost rises again
        points = points[min(range(len(points)), key=lambda i: points[i][0]) :]
        about["cost_in_use"], differing = early(q_in_use)
        about["disagreement_in_use"] = differing
        about["interval_in_use"] = interval(round(differing * n_counted), n_counted, fast.confidence)
        certified = certificate.status == "certified" and certificate.void is None
        # what bounds no share of all rows that differ is not drawn
        if certified and certificate.about != "predicted" and certificate.reference == "model":
            about["risk"] = certificate.risk
    cost, disagreement = np.array(list(dict.fromkeys(points))).T
    return {"cost": cost, "disagreement": disagreement, **about}


def _one_class(fast: EarlyExitEstimator) -> Line | None:
    """The rows of one answer, where the promise is about these alone."""
    compiled = fast.compiled_plan_
    promised = compiled.promise.about(compiled.model)
    return promised.lines[0] if promised.about in ("positive", "negative") else None


def _event(fast: EarlyExitEstimator) -> str:
    """Name of what is counted."""
    line = _one_class(fast)
    return model_of(fast).words.event if line is None else f"disagreement on {line.name}"


def _lost_at(fast: EarlyExitEstimator, stage_scores: StageScores) -> list[Any]:
    """What each row loses, (n_rows,), if all of them leave at a stage; for every early stage."""
    if stage_scores.answers is not None:
        return [stage_scores.lost_at(t) for t in range(stage_scores.n_stages)]
    output = model_of(fast).decision
    return [output.answers(margins) != stage_scores.full for margins in stage_scores.margins.T]
