"""A display of the cost of rows, by what they are answered."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..early_exit.base import EarlyExitEstimator
from ..early_exit.ranker import EarlyExitRanker
from ..models.protocols import Documents
from ..stopping.core.validation import require_integer
from ..utils.figures import percent
from ._display import AxesDisplay
from ._rankings import among_the_first, is_ranker, require_race
from ._source import Floats, model_of, unit_of

#: Up to this many different costs have a bar each; more are binned.
_MOST_VALUES = 40
#: Bins by default, if there are more.
_BINS = 30
#: Height of the highest bar, and how far below the bars the marks stand, as shares of the room of a class.
_HEIGHT, _BELOW = 0.7, 0.13


def _binned(cost: ArrayLike, n_bins: int) -> tuple[Floats, Floats | None]:
    """The different costs, and the edges of bins for them if there are many."""
    values = np.unique(np.asarray(cost, dtype=np.float64))
    if len(values) <= _MOST_VALUES or values[0] <= 0 or not np.isfinite(values[-1]):
        return values, None
    edges = np.geomspace(values[0], values[-1], n_bins + 1)
    edges[[0, -1]] = values[[0, -1]]  # exact ends, without rounding errors
    return values, edges


@dataclass(kw_only=True, eq=False, repr=False)
class CostHistogramDisplay(AxesDisplay):
    """Distribution of the cost of the rows of each class, with mean and median.

    It is recommended to create it with `from_estimator` or `from_predictions`.

    Classes stand above each other over one logarithmic axis of costs. All bars have one scale; the legend gives the
    share of the highest.

    Parameters
    ----------
    counts : array-like of shape (n_classes, n_bars)
        Rows of each class in each bar.
    bars : array-like of shape (n_bars, 2)
        The costs between which each bar lies.
    mean, median : array-like of shape (n_classes,)
        Mean and median cost of a row; NaN for a class without rows.
    classes : array-like of shape (n_classes,)
        Names of the classes.
    full_cost : float or None, default=None
        Cost of a row that is evaluated in full; its bar has another colour.
    unit : str, default="cost"
        Unit of the costs.
    kind : str, default="class"
        What the classes are called, for the axis.
    name : str or None, default=None
        For the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    bars_ : list of matplotlib BarContainer
        One for each class.
    means_, medians_ : matplotlib Line2D
        The marks.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.svm import SVC
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.displays import CostHistogramDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> svc = SVC().fit(X[:600], y[:600])
    >>> fast = EarlyExitClassifier(svc, risk=0.02, planner=Planner(cost="units"), random_state=0).fit(X[600:1400])
    >>> display = CostHistogramDisplay.from_estimator(fast, X[1400:], y[1400:])
    >>> display.counts.sum()
    np.int64(397)
    """

    counts: ArrayLike
    bars: ArrayLike
    mean: ArrayLike
    median: ArrayLike
    classes: ArrayLike
    full_cost: float | None = None
    unit: str = "cost"
    kind: str = "class"
    name: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EarlyExitEstimator,
        X: Any,
        y: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        budget: float | None = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Answer rows, and draw what they cost: a bar for every stage of the plan, or bins if rows differ in one.

        Parameters
        ----------
        estimator : EarlyExitClassifier, or another early-exit estimator
            Fitted.
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
        y : array-like of shape (n_rows,), default=None
            Classes of the rows; their answers when None, but for values: then all rows are one class. Of rankers, the
            first rows of their groups are one class, and the others another.
        groups : array-like of shape (n_rows,), default=None
            For rankers: the key of each row's group.
        budget : float, default=None
            As in ``predict``.
        unit : str, default=None
            Unit of the costs; "support vectors", "features" or "feature cost" when None.
        name : str, default=None
            For the legend.
        ax : matplotlib Axes, default=None
            A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``bar``.

        Returns
        -------
        CostHistogramDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If the estimator is another one.
        ValueError
            If there are no rows, or ``y`` has another length.
        """
        caller = cls._caller("from_estimator")
        if is_ranker(estimator, groups, caller):
            made = cls._of_groups(caller, require_race(estimator, X, caller), X, y, groups, budget)
        else:
            caller, fast, _ = cls._checked(estimator, X)
            made = cls._of_rows(caller, fast, X, y, budget)
        made.unit, made.name = made.unit if unit is None else unit, name
        return made.plot(ax=ax, **kwargs)

    @classmethod
    def _of_rows(cls, caller: str, fast: EarlyExitEstimator, X: Any, y: ArrayLike | None, budget: float | None) -> Self:
        """Count what rows cost; nothing is drawn."""
        answers, cost = fast.predict(X, budget=budget, return_cost=True)
        # rows with costs of their own: those of races cost less than their stages, and texts are of any length
        texts = Documents.of(model_of(fast).terms) is not None
        if texts:  # an empty one stands at one character: the axis is logarithmic
            cost = np.maximum(cost, 1.0)
        own = texts or fast.plan_.early.race is not None
        values, edges = _binned(cost, _BINS) if own else (fast.plan_.stage_costs, None)
        words, classes = model_of(fast).words, None
        if y is None and model_of(fast).decision.valued:  # nearly every row has a value of its own
            answers, classes = np.full(len(cost), "all rows"), np.array(["all rows"])
        elif y is None:
            classes = fast.classes_
        made = cls._counted(
            caller,
            answers if y is None else y,
            cost,
            values=values,
            edges=edges,
            classes=classes,
            full_cost=None if texts else fast.plan_.full_cost,
            unit=unit_of(fast),
            kind="class" if y is not None and not words.names else words.kind,
        )
        if words.names:
            made.classes = np.array(words.names_of(np.asarray(made.classes)))
        return made

    @classmethod
    def _of_groups(
        cls,
        caller: str,
        fast: EarlyExitRanker,
        X: Any,
        y: ArrayLike | None,
        groups: Any,
        budget: float | None,
    ) -> Self:
        """Count what rows of groups cost; nothing is drawn."""
        plan, costs = fast.ranking_plan_, fast.predict(X, groups=groups, budget=budget, details=True).costs
        assert plan is not None  # see `require_race`
        return cls._counted(
            caller,
            among_the_first(fast, X, groups) if y is None else y,
            costs,
            values=plan.stage_costs,
            full_cost=float(fast.certificate_.n_trees),
            unit="trees",
            kind="place" if y is None else "class",
        )

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        cost: ArrayLike,
        *,
        n_bins: int = _BINS,
        full_cost: float | None = None,
        unit: str = "cost",
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw costs that any predictor reported.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            Classes of the rows.
        cost : array-like of shape (n_rows,)
            Cost of each row.
        n_bins : int, default=30
            If more than 40 different costs occur, they are put into this many bins, evenly spaced in their logarithm.
        full_cost : float, default=None
            Cost of a row that is evaluated in full.
        unit : str, default="cost"
            Unit of the costs.
        name : str, default=None
            For the legend.
        ax : matplotlib Axes, default=None
            A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``bar``.

        Returns
        -------
        CostHistogramDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        ValueError
            If lengths differ, there are no rows, a cost is not finite and positive, or ``n_bins`` is below 1.
        """
        caller = cls._caller("from_predictions")
        require_integer(caller, "n_bins", n_bins, 1)
        values, edges = _binned(cost, n_bins)
        return cls._counted(
            caller, y, cost, values=values, edges=edges, full_cost=full_cost, unit=unit, name=name
        ).plot(ax=ax, **kwargs)

    @classmethod
    def _counted(
        cls,
        caller: str,
        y: ArrayLike,
        cost: ArrayLike,
        *,
        values: Floats,
        edges: Floats | None = None,
        classes: NDArray[Any] | None = None,
        **about: Any,
    ) -> Self:
        """Count rows by class, and by cost: at given values, or between given edges."""
        labels, costs = np.asarray(y), np.asarray(cost, dtype=np.float64)
        if costs.ndim != 1 or labels.shape != costs.shape or not costs.size:
            raise ValueError(
                f"{caller} needs one class and one cost for each of at least one row. "
                f"Got shapes {labels.shape} and {costs.shape}."
            )
        if not (np.isfinite(costs) & (costs > 0)).all():
            raise ValueError(f"{caller} needs costs that are finite and positive. Got {costs.min()!r} among them.")
        classes = np.unique(labels) if classes is None else classes
        of_class = [costs[labels == label] for label in classes]
        if edges is None:
            counts = np.array([[np.count_nonzero(some == value) for value in values] for some in of_class])
            bars = _around(values)
        else:
            counts = np.array([np.histogram(some, edges)[0] for some in of_class])
            bars = np.column_stack([edges[:-1], edges[1:]])
        mean = np.array([some.mean() if some.size else np.nan for some in of_class])
        median = np.array([np.median(some) if some.size else np.nan for some in of_class])
        return cls(counts=counts, bars=bars, mean=mean, median=median, classes=classes, **about)

    @property
    def _height(self) -> float:
        n_classes = len(np.asarray(self.counts))
        return 1.0 + max(0.27, 0.6 - 0.05 * n_classes) * n_classes

    def _draw(self, ax: Any, style: ModuleType, name: str | None, **kwargs: Any) -> None:
        counts, bars = np.asarray(self.counts, dtype=np.float64), np.asarray(self.bars, dtype=np.float64)
        n_classes = len(counts)
        shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        tallest = shares.max()
        left, right = bars.T
        is_full = np.zeros(len(bars), dtype=bool)
        if self.full_cost is not None:
            is_full = (left < self.full_cost) & (self.full_cost <= right)
        bar_style: dict[str, Any] = {
            "color": np.where(is_full, style.ORANGE, style.BLUE).tolist(),
            "linewidth": 0,
            "align": "edge",
            **kwargs,
        }
        floors = np.arange(n_classes)[::-1].astype(np.float64)  # the first class on top
        self.bars_ = []
        for floor, share in zip(floors, shares, strict=True):
            ax.axhline(floor, color=style.GREY, linewidth=0.4, zorder=0)
            self.bars_.append(
                ax.bar(left, _HEIGHT * share / max(tallest, 1e-12), right - left, bottom=floor, **bar_style)
            )
        mark: dict[str, Any] = {"color": style.BLACK, "linestyle": "none", "markersize": 3.6, "markeredgewidth": 0.7}
        (self.medians_,) = ax.plot(self.median, floors - _BELOW, marker="^", **mark)
        (self.means_,) = ax.plot(self.mean, floors - _BELOW, marker="D", markerfacecolor="white", **mark)
        style.cost_axis(ax, bars, self.full_cost, f"{self.unit} per row")
        ax.set_yticks(floors, [str(label) for label in np.asarray(self.classes).tolist()])
        ax.tick_params(axis="y", length=0)
        ax.set_ylim(-3 * _BELOW, n_classes - 1 + 1.05 * _HEIGHT)
        ax.set_ylabel(self.kind)
        style.open_frame(ax)
        ax.spines["left"].set_visible(False)
        self._draw_legend(ax, style, float(tallest), bool(is_full.any()), name)

    def _draw_legend(self, ax: Any, style: Any, tallest: float, has_full: bool, name: str | None) -> None:
        from matplotlib.patches import Patch

        handles: list[Any] = [Patch(facecolor=style.BLUE, linewidth=0), self.medians_, self.means_]
        names = [f"share (highest: {percent(tallest)})", "median", "mean"]
        if has_full:
            handles.insert(1, Patch(facecolor=style.ORANGE, linewidth=0))
            names.insert(1, "share that costs all")
        style.legend(ax, handles, names, name)


def _around(values: Floats) -> Floats:
    """Bars around values, of equal width on a logarithmic axis, with room between them."""
    gaps = values[1:] / values[:-1]
    half = float(np.clip(gaps.min(initial=2.0) ** 0.42, 1.015, 1.12))
    return np.column_stack([values / half, values * half])
