"""Measure a classifier on rows: every number of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..displays._source import model_of, name_of, require_fitted, require_rows, unit_of
from ..early_exit import EarlyExitClassifier
from ..engine.threads import effective_threads
from ..inspection.facts import certificate_facts, model_facts
from ..inspection.promises import broken_promise
from ..sources import source_of
from ..stopping import StageScores
from ..stopping.core.binomial import interval
from .curve import curve_of
from .facts import ClassCost, Difference, Facts, Stage, Walk
from .timing import REPEATS, Rival, times
from .values import RowValues, short

#: Most rows with another label, and most classes, that a report lists.
MOST_ROWS, MOST_CLASSES = 20, 40


def gather(
    estimator: Any, X: Any, *, source: str | None, timed: bool, caller: str, library: Rival | None = None
) -> Facts:
    """Answer rows early and in full, and count.

    Parameters
    ----------
    estimator : EarlyExitClassifier
        Fitted.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
    source : str or None
        What the rows are called.
    timed : bool
        Whether to time the classifier against the model that it wraps.
    caller : str
        For errors.
    library : Rival or None, default=None
        The wrapped model in its own library, to be timed in place of ``estimator_``.

    Returns
    -------
    Facts
    """
    fast = require_fitted(estimator, caller).unwatched()
    n_rows = require_rows(X, caller)
    plan, certificate = fast.plan_, fast.certificate_
    answers = fast.compiled_plan_.predict(X, n_threads=effective_threads(fast.n_jobs))
    labels, cost, stage = np.asarray(answers.labels), answers.costs, answers.stages
    scores = fast.looks(X) if plan.n_stages else None  # without stages, every row is evaluated in full
    full = labels if scores is None else fast.classes_.take(scores.full)
    differs = labels != full
    n_different = int(np.count_nonzero(differs))
    classes = _classes(fast, labels, cost, differs)
    timing, no_timing = times(fast, X, n_rows, library) if timed else ((), "Times were not asked for.")
    return Facts(
        name=name_of(fast),
        model=model_facts(fast),
        certificate=certificate_facts(certificate),
        source=source,
        unit=unit_of(fast),
        risk=fast.risk,
        evaluate_all=plan.evaluate_all,
        full_cost=plan.full_cost,
        n_rows=n_rows,
        mean_cost=float(cost.mean()),
        n_different=n_different,
        different_interval=interval(n_different, n_rows, fast.confidence),
        confidence=fast.confidence,
        broken=broken_promise(certificate, full, differs, fast.classes_),
        classes=classes[:MOST_CLASSES],
        n_classes_left_out=max(0, len(classes) - MOST_CLASSES),
        stages=_stages(fast, stage),
        curve=None if scores is None else curve_of(fast, scores, cost, differs),
        walks=_walks(fast, X, labels, full, stage, cost, scores),
        differences=_differences(fast, X, labels, full, cost, np.flatnonzero(differs)),
        timing=timing,
        no_timing=no_timing,
        rival="the wrapped model" if library is None else library.name,
        threads=effective_threads(fast.n_jobs),
        repeats=REPEATS,
    )


def _classes(
    fast: EarlyExitClassifier, labels: NDArray[Any], cost: NDArray[np.float64], differs: NDArray[np.bool_]
) -> tuple[ClassCost, ...]:
    """Costs by answer; with many classes, those with the most rows come first."""
    found = []
    for label in fast.classes_:
        member = labels == label
        if member.any():
            own = cost[member]
            found.append(
                ClassCost(short(label), len(own), float(own.mean()), float(np.median(own)), int(differs[member].sum()))
            )
        else:
            found.append(ClassCost(short(label), 0, float("nan"), float("nan"), 0))
    return tuple(found if len(found) <= MOST_CLASSES else sorted(found, key=lambda c: -c.n_rows))


def _stages(fast: EarlyExitClassifier, stage: NDArray[np.int32]) -> tuple[Stage, ...]:
    plan = fast.plan_
    left = np.bincount(stage, minlength=plan.n_stages + 1)
    reached = len(stage) - np.cumsum(left) + left
    low, high = _limits(fast)
    return tuple(
        Stage(
            units=int(plan.stages[t]),
            cost=float(plan.stage_costs[t]),
            below=float(low[t]) if t < plan.n_stages and np.isfinite(low[t]) else None,
            above=float(high[t]) if t < plan.n_stages and np.isfinite(high[t]) else None,
            n_reached=int(reached[t]),
            n_left=int(left[t]),
        )
        for t in range(plan.n_stages + 1)
    )


def _limits(fast: EarlyExitClassifier) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thresholds in use; a confidence has no lower side, and nothing leaves where everything is evaluated."""
    plan = fast.plan_
    low, high = (limits.astype(np.float64) for limits in plan.thresholds())
    if not model_of(fast).decision.two_sided or plan.evaluate_all:
        low = np.full_like(low, -np.inf)
    return low, np.full_like(high, np.inf) if plan.evaluate_all else high


def _walks(
    fast: EarlyExitClassifier,
    X: Any,
    labels: NDArray[Any],
    full: NDArray[Any],
    stage: NDArray[np.int32],
    cost: NDArray[np.float64],
    scores: StageScores | None,
) -> tuple[Walk, ...]:
    """Walks of a row that leaves first, of one with the median cost, and of one that stays longest."""
    if scores is None or fast.plan_.evaluate_all:
        return ()
    chosen: dict[int, str] = {}
    for title, wanted in (("easy", stage.min()), ("hard", stage.max()), ("typical", np.sort(stage)[len(stage) // 2])):
        rows = [int(row) for row in np.flatnonzero(stage == wanted)[: len(chosen) + 1] if int(row) not in chosen]
        if rows:
            chosen[rows[0]] = title
    order = ["easy", "typical", "hard"]
    rows = sorted(chosen, key=lambda row: order.index(chosen[row]))
    low, high = _limits(fast)
    binary = model_of(fast).decision.two_sided
    followed, _ = fast.stage_scores(source_of(X).take(np.array(rows)))
    return tuple(
        Walk(
            title=chosen[row],
            row=row,
            label=short(labels[row]),
            full_label=short(full[row]),
            scores=tuple(walk.tolist()),
            costs=tuple(fast.plan_.stage_costs.tolist()),
            cost=float(cost[row]),
            low=tuple(low.tolist()),
            high=tuple(high.tolist()),
            stage=int(stage[row]),
            binary=binary,
        )
        for row, walk in zip(rows, followed, strict=True)
    )


def _differences(
    fast: EarlyExitClassifier,
    X: Any,
    labels: NDArray[Any],
    full: NDArray[Any],
    cost: NDArray[np.float64],
    rows: NDArray[np.intp],
) -> tuple[Difference, ...]:
    """Rows with another label; those of which the full model is surest come first."""
    if not len(rows):
        return ()
    scores = fast.stage_scores(source_of(X).take(rows))[0][:, -1]
    sure = np.abs(scores - (model_of(fast).decision.centre or 0.0))
    values = RowValues(X, list(fast.schema_.names or ()) or None)
    found = []
    for i in np.argsort(-sure, kind="stable")[:MOST_ROWS].tolist():
        row = int(rows[i])
        shown, n_more = values.of(row)
        score = float(scores[i]) if np.isfinite(scores[i]) else None
        found.append(Difference(row, short(labels[row]), short(full[row]), float(cost[row]), score, shown, n_more))
    return tuple(found)
