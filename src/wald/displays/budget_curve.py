"""Accuracy or loss of answers against the cost of the features that were bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from ..stopping.core.validation import require_option
from ..structured.budget import BudgetedPredictor
from ..structured.policies.base import Policy
from ..utils.figures import percent
from ._budgets import Work, bootstrap, certified_bound, check_curve, policy_name, wrong_answers
from ._curves import CurveDisplay, draw_bound, legend_of_curves
from ._levels import draw_level, label_axes
from ._source import Floats

Against = Literal["share", "cost", "time"]
Measure = Literal["accuracy", "loss"]
Compared = Literal["truth", "all features"]


@dataclass(kw_only=True, eq=False, repr=False)
class BudgetCurveDisplay(CurveDisplay):
    """Accuracy or loss of a part against what was spent, for one policy or for several on one axes.

    It is recommended to create it with `from_estimator` or `from_predictions`.

    Lines across show the answers with all features and with the cheap group alone. The band is a bootstrap interval
    over examples; curves of the same examples move together, so that they differ by less than their bands suggest.

    Parameters
    ----------
    cost : array-like of shape (n_points,)
        Spending at every setting, in the quantity that ``against`` names.
    loss : array-like of shape (n_points,)
        Mean loss of a part.
    interval : array-like of shape (n_points, 2) or None, default=None
        Confidence intervals of ``loss``.
    loss_full, loss_cheap : float or None, default=None
        Mean loss of a part with all features, and with the cheap group alone.
    cost_in_use, loss_in_use : float or None, default=None
        The point of the threshold in use.
    interval_in_use : tuple of 2 float or None, default=None
        Confidence interval of ``loss_in_use``.
    risk : float or None, default=None
        Certified bound of what a part loses against all features, at the threshold in use.
    confidence : float, default=0.95
        Confidence of the intervals.
    against : {"share", "cost", "time"}, default="cost"
        What ``cost`` is: the share of the costly features that was bought, the mean cost of a part, or microseconds.
    measure : {"accuracy", "loss"}, default="accuracy"
        The quantity to draw; accuracy is 1 less the loss.
    compared_with : {"truth", "all features"}, default="truth"
        The reference that answers are compared with.
    part : str, default="part"
        Name of a part, on the axes.
    unit : str or None, default=None
        Unit of the costs, for ``against="cost"``.
    name : str or None, default=None
        Name of the policy, for the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
        The curve.
    band_ : matplotlib FillBetweenPolyCollection or None
    point_ : matplotlib ErrorbarContainer or None
        The threshold in use with its interval; a diamond if it is certified.
    levels_ : list of matplotlib Line2D
        All features and the cheap group alone; without those that the axes have already from another display.
    bound_ : matplotlib Line2D or None
        The certified bound; None where there is no certificate, or the axes have the same line already.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.displays import BudgetCurveDisplay
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import MyopicPolicy, UniformPolicy
    >>> X, y = make_chains(300, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:100], y[:100])
    >>> fast = BudgetedPredictor(model, MyopicPolicy().fit(model), budget=4).fit(X[100:200])
    >>> display = BudgetCurveDisplay.from_estimator(fast, X[200:], y[200:])
    >>> other = BudgetCurveDisplay.from_estimator(UniformPolicy().fit(model), X[200:], y[200:], ax=display.ax_)
    >>> [text.get_text() for text in other.ax_.get_legend().get_texts()]
    ['MyopicPolicy', 'UniformPolicy', 'in use (95 % CI)']
    """

    _gid = "wald-budget"

    cost: ArrayLike
    loss: ArrayLike
    interval: ArrayLike | None = None
    loss_full: float | None = None
    loss_cheap: float | None = None
    cost_in_use: float | None = None
    loss_in_use: float | None = None
    interval_in_use: tuple[float, float] | None = None
    risk: float | None = None
    confidence: float = 0.95
    against: Against = "cost"
    measure: Measure = "accuracy"
    compared_with: Compared = "truth"
    part: str = "part"
    unit: str | None = None
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        predictor: BudgetedPredictor | Policy,
        X: Any,
        y: Any = None,
        *,
        budgets: ArrayLike | None = None,
        against: Against = "cost",
        measure: Measure = "accuracy",
        confidence: float = 0.95,
        n_resamples: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        part: str = "part",
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Let a policy spend more and more on examples, and draw accuracy or loss.

        Every point is one threshold, for all examples; the predictor's own is drawn beside the curve, with the bound
        that its certificate promises.

        Parameters
        ----------
        predictor : BudgetedPredictor or Policy
            Fitted. A policy alone has no threshold in use, and its model's ``group_costs_``.
        X
            Examples as the model takes them, which neither model, policy nor predictor learned from.
        y
            True answers. When None, a part loses where its answer differs from the one with all features.
        budgets : array-like of float, default=None
            Mean costs of a part to draw; for each, the threshold that spends most, and not more, on these very
            examples. When None: thresholds at even quantiles of the priorities, which is faster; with
            ``spend="each"``, even budgets.
        against : {"share", "cost", "time"}, default="cost"
            The quantity to draw losses against: the share of the costly features that was bought; the mean cost of a
            part; or microseconds a part for extraction, policy and every inference, measured in this call (the median
            of three runs for every point, each of which opens the examples anew).
        measure : {"accuracy", "loss"}, default="accuracy"
        confidence : float, default=0.95
            Confidence of the intervals.
        n_resamples : int, default=1000
            Number of bootstrap resamples; 0: no intervals.
        random_state : int, RandomState instance or None, default=0
            Draws the resamples.
        part : str, default="part"
            Name of a part, such as "letter" or "word".
        unit : str, default=None
            Unit of the costs, for ``against="cost"``; if the predictor's costs are times, "µs" when None.
        name : str, default=None
            For the legend; the class of the policy when None.
        ax : matplotlib Axes, default=None
            A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``plot`` of the curve.

        Returns
        -------
        BudgetCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If ``predictor`` is neither a BudgetedPredictor nor a policy.
        ValueError
            If there are no examples, a budget lies below the cost of the cheap group or above that of all groups, or
            another parameter has an unknown value.
        """
        caller = cls._caller("from_estimator")
        check_curve(caller, against, measure, confidence, n_resamples)
        work = Work(predictor, X, y, against, caller)
        points, used = work.points(budgets), work.point_in_use()
        n_all = work.n_parts.sum()
        losses = np.stack([point.loss for point in (points if used is None else [*points, used])])
        about: dict[str, Any] = {}
        if n_resamples and len(work.n_parts) > 1:
            intervals = bootstrap(losses, work.n_parts, confidence, n_resamples, random_state)
            about["interval"] = intervals[: len(points)]
            about["interval_in_use"] = None if used is None else tuple(intervals[-1].tolist())
        if used is not None and work.in_use is not None:
            about |= {"cost_in_use": used.cost, "loss_in_use": float(used.loss.sum() / n_all)}
            about["risk"] = certified_bound(work.in_use, y is not None)
        if unit is None and against == "cost" and isinstance(work.serving.feature_costs, str):
            unit = "µs"
        return cls(
            cost=np.array([point.cost for point in points]),
            loss=losses[: len(points)].sum(axis=1) / n_all,
            loss_full=float(work.full_loss.sum() / n_all),
            loss_cheap=float(work.cheap_loss.sum() / n_all),
            confidence=confidence,
            against=against,
            measure=measure,
            compared_with="all features" if y is None else "truth",
            part=part,
            unit=unit,
            name=policy_name(predictor) if name is None else name,
            **about,
        ).plot(ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Sequence[ArrayLike],
        y_pred: Sequence[Sequence[ArrayLike]],
        cost: ArrayLike,
        *,
        y_full: Sequence[ArrayLike] | None = None,
        y_cheap: Sequence[ArrayLike] | None = None,
        against: Against = "cost",
        measure: Measure = "accuracy",
        compared_with: Compared = "truth",
        confidence: float = 0.95,
        n_resamples: int = 1000,
        random_state: int | np.random.RandomState | None = 0,
        part: str = "part",
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Count the wrong answers of any predictor, and draw them.

        Parameters
        ----------
        y_true : sequence of n_examples arrays of shape (length,)
            The reference that answers are compared with.
        y_pred : sequence of n_points such sequences
            Answers at every setting.
        cost : array-like of shape (n_points,) or (n_points, n_examples)
            Mean cost of a part at every setting; or the cost of all parts of each example together, as
            ``BudgetedPredictor.predict(X, return_cost=True)`` returns it.
        y_full, y_cheap : sequence of n_examples arrays, default=None
            Answers with all features, and with the cheap group alone.
        against, measure, compared_with, confidence
            As in the class.
        n_resamples, random_state
            As in `from_estimator`.
        part, unit
            As in the class.
        name : str, default=None
            "Policy" when None.
        ax : matplotlib Axes, default=None
        **kwargs : dict
            For matplotlib's ``plot`` of the curve.

        Returns
        -------
        BudgetCurveDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        ValueError
            If lengths or shapes do not fit, or there are no examples.
        """
        caller = cls._caller("from_predictions")
        check_curve(caller, against, measure, confidence, n_resamples)
        require_option(caller, "compared_with", compared_with, ("truth", "all features"))
        truth = [np.asarray(labels) for labels in y_true]
        n_parts = np.array([len(labels) for labels in truth], dtype=np.int64)
        if not len(truth) or not len(y_pred) or not n_parts.all():
            raise ValueError(f"{caller} needs at least one example, one part in each, and one setting.")
        losses = np.stack([wrong_answers(caller, "y_pred", truth, answers) for answers in y_pred])
        costs = np.asarray(cost, dtype=np.float64)
        if costs.shape == losses.shape:
            costs = costs.sum(axis=1) / n_parts.sum()
        if costs.shape != (len(losses),) or not np.isfinite(costs).all():
            raise ValueError(
                f"The 'cost' parameter of {caller} must be finite, of shape {(len(losses),)} or {losses.shape}, as "
                f"y_pred has. Got shape {np.shape(cost)}."
            )
        order, n_all = np.argsort(costs, kind="stable"), n_parts.sum()
        full = None if y_full is None else float(wrong_answers(caller, "y_full", truth, y_full).sum() / n_all)
        cheap = None if y_cheap is None else float(wrong_answers(caller, "y_cheap", truth, y_cheap).sum() / n_all)
        banded = n_resamples and len(n_parts) > 1
        return cls(
            cost=costs[order],
            loss=losses[order].sum(axis=1) / n_all,
            interval=bootstrap(losses[order], n_parts, confidence, n_resamples, random_state) if banded else None,
            loss_full=full,
            loss_cheap=cheap,
            confidence=confidence,
            against=against,
            measure=measure,
            compared_with=compared_with,
            part=part,
            unit=unit,
            name="Policy" if name is None else name,
        ).plot(ax=ax, **kwargs)

    def _draw(self, ax: Any, style: ModuleType, name: str | None, **kwargs: Any) -> None:
        promise = "" if self.risk is None else f"{percent(self.risk)} lost"
        colour = self._draw_curve(ax, style, self.loss, name, promise, **kwargs)
        self.band_ = self.bound_ = None
        if self.interval is not None:
            low, high = self._shown(self.interval).T
            cost = np.asarray(self.cost, dtype=np.float64)
            self.band_ = ax.fill_between(cost, low, high, color=colour, alpha=0.15, linewidth=0, zorder=1)
        self.levels_ = []
        for loss, text in ((self.loss_full, "all features"), (self.loss_cheap, "cheap features alone")):
            if loss is not None:  # names stand on the side of the line that no curve reaches
                beyond = (text == "all features") == (self.measure == "accuracy")
                self.levels_ += draw_level(ax, style, float(self._shown(loss)), text, colour, above=beyond)
        if self.risk is not None and self.loss_full is not None:
            self.bound_ = draw_bound(ax, style, float(self._shown(self.loss_full + self.risk)), colour)
        self._draw_point(ax, self.loss_in_use, certified=self.risk is not None)
        label_axes(ax, style, self)
        legend_of_curves(ax, style)

    def _shown(self, values: Any) -> Floats:
        losses = super()._shown(values)
        return 1.0 - losses if self.measure == "accuracy" else losses
