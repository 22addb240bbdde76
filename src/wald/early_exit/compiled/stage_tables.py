"""Stage scores of rows: by outputs that leave by the margin of one score, from its estimates and their variances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine import LEAST_VARIANCE, NO_STAGES, Packed, Readout, Stages
from ...models import AdditiveModel
from ...outputs import Output, Values
from ...plan.moments import Floats
from ...stopping import StageScores
from ...utils.stage_table import FloatArray, StageTable
from .full_model import FullModel
from .request import without_exits
from .rows import Rows

#: What the engine says of some rows at the stages that it is given.
Trace = Callable[[Stages], StageTable]


def compared(
    model: AdditiveModel, packed: Packed, early: Stages, rows: Any, n_threads: int
) -> tuple[StageTable, FloatArray]:
    """What is compared with the thresholds at every stage, and the estimates of outputs that leave by a margin."""

    def trace(some: Stages) -> StageTable:
        return without_exits(model, packed, some).trace(rows, n_threads)

    if not model.decision.by_margin:
        table = trace(early)
        return table, table.margins
    estimates, variances = estimates_of(early, trace)
    return judged(model.decision, estimates, variances), estimates


def stage_scores(
    model: AdditiveModel, packed: Packed, early: Stages, rows: Rows, full: NDArray[Any], n_threads: int
) -> StageScores:
    """Scores of rows at every stage, with the full model's answers (`full`, from `full_answers`)."""
    table, estimates = compared(model, packed, early, rows.preprocessed, n_threads)
    if not model.decision.early_values:
        return StageScores.of(table, full, model.decision)
    codes = np.zeros(len(full), dtype=np.int32)
    return StageScores(full=codes, margins=table.margins, answers=table.answers, losses=_lost(model, estimates, full))


def full_answers(model: AdditiveModel, packed: Packed, rows: Rows, n_threads: int) -> NDArray[Any]:
    """The wrapped model's own answers: codes of its labels, or values where these are promised."""
    if model.decision.early_values:
        scores, _ = packed.scores(rows.preprocessed, model.working_precision, n_threads)
        return values_of(model, scores)
    full = FullModel(model, without_exits(model, packed, NO_STAGES))
    return full.evaluated(rows.preprocessed, rows.raw, n_threads)[0]


def estimates_of(early: Stages, trace: Trace) -> tuple[FloatArray, Floats | None]:
    """Estimates at every stage, and the variances of their errors, relative to the usual ones; None: these are 1."""
    if not early.has_spread:
        return trace(early).margins, None
    plain = [replace(r, spread=None) for r in early.readouts]
    variance = [
        Readout(np.zeros_like(r.weights) if r.spread is None else r.spread[None], np.array([r.spread_bias]))
        for r in early.readouts
    ]
    estimates, variances = (trace(replace(early, readouts=r)).margins for r in (plain, variance))
    least = variances.dtype.type(LEAST_VARIANCE)  # sums of huge values can be NaN, and then say nothing
    return estimates, np.where(np.isnan(variances), np.inf, np.maximum(variances, least)).astype(variances.dtype)


def judged(output: Output, estimates: FloatArray, variances: FloatArray | None) -> StageTable:
    """What is compared with the thresholds: margins, in the size of each row's error relative to the usual one."""
    n, n_stages = estimates.shape[:2]
    found = [output.judged(estimates[:, t]) for t in range(n_stages)]
    margins, answers = np.empty((n, n_stages), dtype=estimates.dtype), np.zeros((n, n_stages), dtype=np.int32)
    for t, (codes, margin) in enumerate(found):
        margins[:, t], answers[:, t] = margin, np.where(np.isnan(margin), 0, codes)
    return StageTable(margins=margins if variances is None else margins / np.sqrt(variances), answers=answers)


def values_of(model: AdditiveModel, scores: FloatArray) -> Floats:
    """Values of scores, (n,) from (n, 1), or several, as the model gives them; NaN where a score is not finite."""
    link = model.links.predict
    assert link is not None
    finite = np.isfinite(scores)
    with np.errstate(over="ignore"):
        values = np.array(link(np.where(finite, scores, 0.0).astype(np.float64)), dtype=np.float64)
    values[~finite.all(axis=1)] = np.nan
    return values


def _lost(model: AdditiveModel, estimates: FloatArray, full: Floats) -> Floats:
    """Loss of leaving at each stage, (n, T); 0 for estimates that are not finite, with which no row leaves."""
    n, n_stages = estimates.shape[:2]
    lost = np.zeros((n, n_stages))
    for t in range(n_stages):
        early = values_of(model, estimates[:, t, None] if estimates.ndim == 2 else estimates[:, t])
        left = ~np.isnan(early if early.ndim == 1 else early.sum(axis=1))
        lost[:, t] = np.where(left, model.decision.lost_values(early, full), 0.0)
    return lost


def errors_of(output: Output, estimates: FloatArray, variances: Floats | None, full: Floats) -> Floats:
    """Errors of estimates at every stage, (n, T), in the size of each row's error relative to the usual one.

    Of several scores: the largest error, in the unit of its tolerance.
    """
    if estimates.ndim == 2:
        return np.asarray((estimates - full[:, :1]) / np.sqrt(1.0 if variances is None else variances))
    assert isinstance(output, Values)
    off = estimates.astype(np.float64) - full[:, None]
    if output.margin == "softmax":  # it does not change where all scores move alike
        off -= off.mean(axis=2, keepdims=True)
    return np.asarray(np.abs(off / np.array(output.tolerances)).max(axis=2))
