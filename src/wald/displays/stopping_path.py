"""The walks of some rows, and the boundary at which they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..early_exit.base import EarlyExitEstimator
from ..early_exit.compiled.parts import columns_by_stage
from ..early_exit.ranked_estimator import RankedEstimator
from ..sources import source_of
from ._display import AxesDisplay
from ._rankings import require_race, walks_of_places
from ._source import Floats, model_of, name_of, require_chosen, row_costs, thresholds_of, unit_of

#: The boundary is drawn up to this many times the reach of the walks.
_ROOM = 1.25


@dataclass(kw_only=True, eq=False, repr=False)
class StoppingPathDisplay(AxesDisplay):
    """Walks of chosen rows against the boundary: the estimate at each stage, until the row leaves.

    It is recommended to create it with `from_estimator`.

    Within the filled region a row goes on. A dot marks where it leaves; a faint line shows the estimates that it would
    have had later. A row that never leaves early ends at the full score. With more than two classes the walk is that of
    the confidence, which has an upper threshold only. The walk of a text that is read in parts ends with the text.
    Where a plan reads columns that have names, the cost axis names them.

    Parameters
    ----------
    scores : array-like of shape (n_walks, T + 1)
        The estimate at each of T early stages, and the full score.
    costs : array-like of shape (T + 1,)
        Cost of a row up to each stage.
    low, high : array-like of shape (T,)
        A row leaves below ``low`` or above ``high``; infinite where that side is closed.
    stages : array-like of shape (n_walks,)
        The stage at which each row leaves; T is everything.
    labels : array-like of shape (n_walks,) or None, default=None
        Answers.
    threshold : float or None, default=None
        The full model's threshold between its two classes; None for a confidence.
    unit : str, default="cost"
        Unit of the costs.
    name : str or None, default=None
        Name of the predictor, for the legend.
    row_costs : array-like of shape (n_walks, T + 1) or None, default=None
        Cost of each row up to each stage, where rows have costs of their own; `costs` then belong to the boundary.
    reads : sequence of T + 1 sequences of str or None, default=None
        Names of the columns that each stage is the first to read.
    answers : str, default="answer"
        What stands before the labels in the legend.
    axis : str or None, default=None
        What the walks show; the estimate, or its confidence, when None.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
        The walks up to where they leave.
    later_lines_ : list of matplotlib Line2D
        The estimates that rows which left would have had later.
    exits_ : list of matplotlib Line2D
        The dots.
    region_ : matplotlib FillBetweenPolyCollection or None
        Where rows go on; None without early stages.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald import EarlyExitClassifier, Planner
    >>> from wald.displays import StoppingPathDisplay
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LogisticRegression(max_iter=5000).fit(X[:600] / 16, y[:600] > 4)
    >>> fast = EarlyExitClassifier(model, risk=0.02, planner=Planner(cost="units"), random_state=0)
    >>> display = StoppingPathDisplay.from_estimator(fast.fit(X[600:1400] / 16), X[1400:] / 16, rows=[0, 1, 2])
    >>> len(display.lines_)
    3
    """

    scores: ArrayLike
    costs: ArrayLike
    low: ArrayLike
    high: ArrayLike
    stages: ArrayLike
    labels: ArrayLike | None = None
    threshold: float | None = None
    unit: str = "cost"
    name: str | None = None
    row_costs: ArrayLike | None = None
    reads: Sequence[Sequence[str]] | None = None
    answers: str = "answer"
    axis: str | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: EarlyExitEstimator,
        X: Any,
        *,
        rows: ArrayLike | None = None,
        unit: str | None = None,
        name: str | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Follow rows through the plan, and draw their walks.

        Parameters
        ----------
        estimator : EarlyExitClassifier, or another early-exit estimator
            Fitted.
        X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
            For an `EarlyExitRanker`, the rows of one group. Walks are then leads over the border of the first places,
            in parts of what makes a row leave (-1) or gives it its place for certain (1).
        rows : array-like of int, default=None
            Which rows to draw. When None: of every answer (more than two classes: of all) the first row to leave, the
            median and the last among those that leave early, and one row that goes through everything. Of a ranker:
            rows on and beside the last of the first places, the first and the last row.
        unit : str, default=None
            Unit of the costs; "support vectors", "features" or "feature cost" when None.
        name : str, default=None
            For the legend; the class of the wrapped estimator when None.
        ax : matplotlib Axes, default=None
            A new figure of column width when None.
        **kwargs : dict
            For matplotlib's ``plot`` of the walks.

        Returns
        -------
        StoppingPathDisplay

        Raises
        ------
        ImportError
            If matplotlib is missing.
        TypeError
            If the estimator is another one.
        ValueError
            If ``rows`` are no rows of ``X``.
        """
        if isinstance(estimator, RankedEstimator):
            caller = cls._caller("from_estimator")
            made = cls(**walks_of_places(require_race(estimator, X, caller), X, rows, caller))
        else:
            made = cls._of_rows(*cls._checked(estimator, X), X, rows)
        made.unit = made.unit if unit is None else unit
        made.name = name_of(estimator) if name is None else name
        return made.plot(ax=ax, **kwargs)

    @classmethod
    def _of_rows(cls, caller: str, fast: EarlyExitEstimator, n_rows: int, X: Any, rows: ArrayLike | None) -> Self:
        """Follow the chosen rows, or typical ones; nothing is drawn."""
        output, words = model_of(fast).decision, model_of(fast).words
        chosen = None if rows is None else require_chosen(rows, n_rows, caller)
        scores, stages = fast.stage_scores(X)
        labels = None if output.valued else np.asarray(fast.predict(X))
        if chosen is None:
            alike = np.zeros(n_rows) if labels is None or not output.two_sided else labels
            chosen = _typical(stages, alike, fast.plan_.n_stages)
        names = None if labels is None else np.array(words.names_of(labels[chosen]))
        return cls(**walk_fields(fast, source_of(X).take(chosen), scores[chosen], stages[chosen]), labels=names)

    def _draw(self, ax: Any, style: ModuleType, name: str | None, **kwargs: Any) -> None:
        scores, costs = np.atleast_2d(np.asarray(self.scores, dtype=np.float64)), np.asarray(self.costs)
        stages = np.asarray(self.stages, dtype=np.intp)
        bottom, top = self._limits(scores)
        self.region_ = self._draw_region(ax, style.PALE, bottom, top)
        if self.threshold is not None and np.isfinite(self.threshold):
            ax.axhline(self.threshold, color=style.GREY, linewidth=0.6, zorder=1)
        self.lines_, self.later_lines_, self.exits_ = [], [], []
        labels = np.full(len(scores), "") if self.labels is None else np.asarray(self.labels)
        known = np.unique(labels).tolist()
        own_costs = np.broadcast_to(costs, scores.shape) if self.row_costs is None else np.asarray(self.row_costs)
        for walk, paid, stage, label in zip(scores, own_costs, stages, labels.tolist(), strict=True):
            which = known.index(label)
            walk_style: dict[str, Any] = {
                "color": style.OKABE_ITO[which % len(style.OKABE_ITO)],
                "linestyle": style.DASHES[which // len(style.OKABE_ITO) % len(style.DASHES)],
                "linewidth": 1.1,
                **kwargs,
            }
            (line,) = ax.plot(paid[: stage + 1], walk[: stage + 1], zorder=3, **walk_style)
            faint = {**walk_style, "linewidth": 0.6, "alpha": 0.35}
            (later,) = ax.plot(paid[stage:], walk[stage:], zorder=2, **faint)
            marker = "o" if paid[stage] < paid[-1] else "s"
            (end,) = ax.plot(
                paid[stage],
                walk[stage],
                marker,
                color=line.get_color(),
                markersize=4,
                markeredgecolor="white",
                markeredgewidth=0.5,
                zorder=4,
                clip_on=False,
            )
            self.lines_.append(line)
            self.later_lines_.append(later)
            self.exits_.append(end)
        ax.set_ylim(bottom, top)
        self._draw_costs(ax, style, costs, own_costs)
        shown = "confidence of the estimate" if self.threshold is None else "estimate of the score"
        ax.set_ylabel(shown if self.axis is None else self.axis)
        style.open_frame(ax)
        self._draw_legend(ax, style, known, labels, name)

    def _draw_costs(self, ax: Any, style: ModuleType, costs: Floats, own_costs: Floats) -> None:
        """Set up the axis of costs: characters of texts end where each ends, and columns have names."""
        if self.row_costs is not None:
            style.cost_axis(ax, np.append(costs[:-1], own_costs[:, -1]), None, f"{self.unit} read")
        elif self.reads is None:
            style.cost_axis(ax, costs, float(costs[-1]), f"{self.unit} seen")
        else:
            style.cost_axis(ax, costs, float(costs[-1]), f"{self.unit} read, in this order")
            style.name_costs(ax, costs, self.reads)

    def _limits(self, scores: Floats) -> tuple[float, float]:
        """Lowest and highest value to show: all walks, and the boundary where it is near them."""
        finite = scores[np.isfinite(scores)]
        bottom, top = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
        centre = 0.0 if self.threshold is None or not np.isfinite(self.threshold) else self.threshold
        reach = max(top - centre, centre - bottom, 1e-12)
        low, high = np.asarray(self.low, dtype=np.float64), np.asarray(self.high, dtype=np.float64)
        near = [v for v in (*low, *high) if abs(v - centre) <= _ROOM * reach]
        bottom, top = min([bottom, centre, *near]), max([top, centre, *near])
        margin = 0.06 * (top - bottom)
        return bottom - margin, top + margin

    def _draw_region(self, ax: Any, colour: str, bottom: float, top: float) -> Any:
        """Fill where rows go on. A closed side reaches to the edge, and so does what lies beyond it."""
        costs, low = np.asarray(self.costs, dtype=np.float64), np.asarray(self.low, dtype=np.float64)
        high = np.asarray(self.high, dtype=np.float64)
        if not len(low):
            return None
        beyond = 10 * (top - bottom)  # not visible, but small enough for matplotlib to draw
        low, high = np.clip(low, bottom - beyond, None), np.clip(high, None, top + beyond)
        region = ax.fill_between(costs[:-1], low, high, color=colour, linewidth=0, zorder=0)
        for side, closed in ((low, np.isinf(self.low)), (high, np.isinf(self.high))):
            if not closed.all():
                edge = np.where(closed, np.nan, side)
                ax.plot(costs[:-1], edge, color="#999999", linewidth=0.8, marker=".", markersize=2.5, zorder=1)
        return region

    def _draw_legend(self, ax: Any, style: Any, known: list[Any], labels: NDArray[Any], name: str | None) -> None:
        from matplotlib.patches import Patch

        handles = []
        if self.labels is not None:
            for label in known:
                handles.append(self.lines_[int(np.flatnonzero(labels == label)[0])])
        names = [f"{self.answers} {label}".strip() for label in known][: len(handles)]
        if self.region_ is not None:
            handles.append(Patch(facecolor=style.PALE, linewidth=0))
            names.append("not yet clear")
        if handles:
            style.legend(ax, handles, names, name)


def walk_fields(fast: EarlyExitEstimator, X: Any, scores: Floats, stages: NDArray[np.int32]) -> dict[str, Any]:
    """What a `StoppingPathDisplay` shows of rows, by their stage scores and the stages at which they leave."""
    plan, own, (low, high) = fast.plan_, row_costs(fast, X), thresholds_of(fast)
    if own is not None:  # at the end of a text, its full score counts
        scores = np.where(np.isfinite(scores), scores, scores[:, -1:])
    return {
        "scores": scores,
        "costs": plan.stage_costs,
        "low": low,
        "high": high,
        "stages": stages,
        "threshold": model_of(fast).decision.centre,
        "unit": unit_of(fast),
        "row_costs": own,
        "reads": columns_by_stage(model_of(fast), plan),
    }


def _typical(stages: NDArray[np.int32], answers: NDArray[Any], n_stages: int) -> NDArray[np.intp]:
    """Row numbers: for each answer the first, the median and the last row to leave early; and one that does not."""
    chosen: list[int] = []
    for answer in np.unique(answers):
        early = np.flatnonzero((answers == answer) & (stages < n_stages))
        early = early[np.argsort(stages[early], kind="stable")]
        if len(early):
            chosen += [int(early[0]), int(early[len(early) // 2]), int(early[-1])]
    chosen += np.flatnonzero(stages == n_stages)[:1].tolist()
    return np.array(list(dict.fromkeys(chosen)), dtype=np.intp)
