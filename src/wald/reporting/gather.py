"""Measure an early-exit estimator on rows: every number of a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..displays import StoppingPathDisplay, TradeoffDisplay
from ..displays._source import model_of, name_of, require_fitted, require_rows, row_costs, thresholds_of, unit_of
from ..displays.stopping_path import walk_fields
from ..displays.tradeoff import counted_rows, measured_fields
from ..early_exit import Answers, Trace
from ..early_exit.base import EarlyExitEstimator
from ..early_exit.compiled.parameters import SHELLS
from ..early_exit.compiled.parts import columns_by_stage
from ..engine.threads import effective_threads
from ..inspection.facts import certificate_facts, model_facts
from ..inspection.promises import broken_promise
from ..sources import source_of
from ..stopping import StageScores
from ..stopping.core.binomial import interval
from .examples import examples_of
from .facts import ClassCost, Difference, Facts, Stage, Walk
from .timing import Rival, times
from .values import RowValues, named

#: Most rows with another answer, and most classes, that a report lists.
MOST_ROWS, MOST_CLASSES = 20, 40
#: Most examples of rows where none leaves early.
MOST_EXAMPLES = 3
#: Parameters that say what is asked of the model.
ASKED = ("bands", "tolerance", "relative")
#: How many scales of the thresholds a curve goes through.
SCALES = 40


def gather(
    estimator: Any, X: Any, *, source: str | None, timed: bool, caller: str, library: Rival | None = None
) -> Facts:
    """Answer rows early and in full, and count.

    Parameters
    ----------
    estimator : EarlyExitEstimator
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
    scores = fast.looks(X) if plan.n_stages else None  # without stages, every row is evaluated in full
    costs = row_costs(fast, X) if plan.n_stages else None
    full, differs = _compared(fast, X, answers, scores)
    n_different = int(np.count_nonzero(differs))
    timing, no_timing = times(fast, X, n_rows, library) if timed else ([], "Times were not asked for.")
    exits = plan.n_stages > 0 and not plan.evaluate_all
    chosen = _chosen(answers) if exits else {}
    shown = {f"that is {title}": row for title, row in chosen.items()} if exits else _of_each_answer(fast, answers)
    model = model_of(fast)
    return Facts(
        name=name_of(fast),
        shell=SHELLS[model.kind],
        asked=tuple(f"{name}={given!r}" for name in ASKED if (given := getattr(fast, name, None)) not in (None, False)),
        words=model.words,
        model=model_facts(fast),
        certificate=certificate_facts(certificate),
        plan=plan,
        source=source,
        unit=unit_of(fast),
        risk=fast.compiled_plan_.promise.risk,
        confidence=fast.confidence,
        n_rows=n_rows,
        mean_cost=float(answers.costs.mean()),
        n_different=n_different,
        different_interval=interval(n_different, n_rows, fast.confidence),
        broken=broken_promise(certificate, full, differs, _labels(fast), model.words, answers.labels),
        classes=_classes(fast, answers, differs),
        stages=_stages(fast, answers.stages),
        curve=None if scores is None else _curve(fast, scores, costs, answers.costs, differs),
        reads=columns_by_stage(model, plan),
        walks=_walks(fast, X, chosen, answers, full) if exits else [],
        examples=examples_of(fast, X, shown, answers, full),
        differences=_differences(fast, X, answers, full, np.flatnonzero(differs)),
        timing=timing,
        no_timing=no_timing,
        rival="the wrapped model" if library is None else library.name,
        threads=effective_threads(fast.n_jobs),
    )


def _labels(fast: EarlyExitEstimator) -> NDArray[Any]:
    """The different answers; none of values."""
    return np.empty(0) if model_of(fast).decision.valued else model_of(fast).classes


def _compared(
    fast: EarlyExitEstimator, X: Any, answers: Answers, scores: StageScores | None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The full model's answers, and whether the early ones differ; of values, by more than the tolerance."""
    output, threads = model_of(fast).decision, effective_threads(fast.n_jobs)
    if scores is None:
        return answers.labels, np.zeros(len(answers.labels), dtype=bool)
    if not output.valued:
        full = _labels(fast).take(scores.full)
        return full, answers.labels != full
    values = fast.compiled_plan_.predict_in_full(X, threads).labels
    lost = output.lost_values(answers.labels.astype(np.float64), values.astype(np.float64))
    return values, lost > 0


def _named(fast: EarlyExitEstimator, answer: Any) -> str:
    """An answer as text: what people call it."""
    return named(model_of(fast).words, answer)


def _classes(fast: EarlyExitEstimator, answers: Answers, differs: NDArray[np.bool_]) -> list[ClassCost]:
    """Costs by answer; with many classes, those with the most rows come first."""
    labels, costs, words, found = answers.labels, answers.costs, model_of(fast).words, []
    for label in _labels(fast).tolist():
        member = labels == label
        own = costs[member]
        mean, median = (float(own.mean()), float(np.median(own))) if len(own) else (0.0, 0.0)
        n_different = int(differs[member].sum())
        found.append(ClassCost(words.name(label), named(words, label), len(own), mean, median, n_different))
    return found if len(found) <= MOST_CLASSES else sorted(found, key=lambda c: -c.n_rows)


def _limits(fast: EarlyExitEstimator) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Thresholds in use, infinite at the full model."""
    low, high = (np.append(limits.astype(np.float64), np.inf) for limits in thresholds_of(fast))
    return low, high


def _stages(fast: EarlyExitEstimator, stage: NDArray[np.int32]) -> list[Stage]:
    plan = fast.plan_
    left = np.bincount(stage, minlength=plan.n_stages + 1)
    reached = len(stage) - np.cumsum(left) + left
    columns = (plan.stages, plan.stage_costs, *_limits(fast), reached, left)
    return [Stage(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]


def _curve(
    fast: EarlyExitEstimator,
    scores: StageScores,
    costs: NDArray[np.float64] | None,
    paid: NDArray[np.float64],
    differs: NDArray[np.bool_],
) -> TradeoffDisplay | None:
    """Disagreement against cost; None if no row is counted, or if the rule's thresholds cannot be scaled."""
    counted = counted_rows(fast, scores)
    n, k = int(np.count_nonzero(counted)), int(np.count_nonzero(differs & counted))
    if fast.plan_.boundary.fixed or not n:
        return None
    fields = measured_fields(fast, scores, costs, n_scales=SCALES) | {
        "cost_in_use": float(paid.mean()),
        "disagreement_in_use": k / n,
        "interval_in_use": interval(k, n, fast.confidence),
    }
    return TradeoffDisplay(**fields, name="early exit")


def _chosen(answers: Answers) -> dict[str, int]:
    """A row that leaves first, one with the median cost, and one that stays longest."""
    stage = answers.stages
    chosen: dict[str, int] = {}
    for title, wanted in (("easy", stage.min()), ("hard", stage.max()), ("typical", np.sort(stage)[len(stage) // 2])):
        rows = [row for row in np.flatnonzero(stage == wanted)[:3].tolist() if row not in chosen.values()]
        chosen |= {title: rows[0]} if rows else {}
    return {title: chosen[title] for title in ("easy", "typical", "hard") if title in chosen}


def _of_each_answer(fast: EarlyExitEstimator, answers: Answers) -> dict[str, int]:
    """The first row of each of the most frequent answers; of values, the rows of the least, middle and largest."""
    if model_of(fast).decision.valued:
        values = answers.labels if answers.labels.ndim == 1 else answers.labels[:, -1]
        rows = np.argsort(values, kind="stable")
        places = {"smallest": rows[0], "middle": rows[len(rows) // 2], "largest": rows[-1]}
        word = model_of(fast).words.answer + " of the last column" * (answers.labels.ndim > 1)
        return {f"with the {place} {word}": int(row) for place, row in places.items()}
    labels, first, counts = np.unique(answers.labels, return_index=True, return_counts=True)
    some = np.sort(np.argsort(-counts, kind="stable")[:MOST_EXAMPLES])
    return {f"with the answer {_named(fast, labels[i])}": int(first[i]) for i in some}


def _walks(
    fast: EarlyExitEstimator, X: Any, chosen: Mapping[str, int], answers: Answers, full: NDArray[Any]
) -> list[Walk]:
    """The ways of some rows through the stages."""
    (low, high), rows = _limits(fast), np.array([*chosen.values()])
    some, stages = source_of(X).take(rows), answers.stages[rows]
    together = StoppingPathDisplay(**walk_fields(fast, some, fast.stage_scores(some)[0], stages))
    scores, own, walks = np.asarray(together.scores), row_costs(fast, some), []
    for i, (title, row) in enumerate(chosen.items()):
        label, paid = _named(fast, answers.labels[row]), fast.plan_.stage_costs if own is None else own[i]
        trace = Trace(scores[i], low[:-1], high[:-1], paid, int(stages[i]), label, float(answers.costs[row]))
        one = slice(i, i + 1)
        display = replace(together, scores=scores[one], stages=stages[one], row_costs=None if own is None else own[one])
        walks.append(Walk(title, row, label, _named(fast, full[row]), trace, display))
    return walks


def _differences(
    fast: EarlyExitEstimator, X: Any, answers: Answers, full: NDArray[Any], rows: NDArray[np.intp]
) -> list[Difference]:
    """Rows with another answer; those come first of which the full model is surest, or whose value is farthest off."""
    if not len(rows):
        return []
    scores = fast.stage_scores(source_of(X).take(rows))[0][:, -1]
    output = model_of(fast).decision
    sure = np.abs(scores - (output.centre or 0.0))
    if output.valued:
        sure = np.abs(answers.labels[rows].astype(np.float64) - full[rows]).reshape(len(rows), -1).max(axis=1)
    values = RowValues(X, list(fast.schema_.names or ()) or None)
    found = []
    for i in np.argsort(-sure, kind="stable")[:MOST_ROWS].tolist():
        row = int(rows[i])
        score = float(scores[i]) if np.isfinite(scores[i]) else None
        label, cost = _named(fast, answers.labels[row]), float(answers.costs[row])
        found.append(Difference(row, label, _named(fast, full[row]), cost, score, *values.of(row)))
    return found
