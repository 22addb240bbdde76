"""Rows on their way past a monitor, which counts them and audits some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...calls import CallError, PartialAnswer
from ...engine import Decisions, Status
from ...models import AdditiveModel
from ...monitoring import Monitor
from ...plan import Plan, shares_reached
from ...sources import Source
from ...stopping import Certificate, StageScores
from ...stopping.core.risks import Line
from ...utils.deadlines import checked_deadline
from .answers import Answers
from .bought import resumed
from .certification import Promise
from .in_time import final, in_time
from .predictor import Predictor

#: In place of a code that is not known.
UNKNOWN = -1


def monitor_of(
    predictor: Predictor,
    certificate: Certificate,
    promise: Promise,
    validation: StageScores,
    one_per_group: NDArray[np.intp] | None,
    audit_rate: float,
    on_broken: str,
) -> Monitor:
    """Make the monitor of a promise.

    Parameters
    ----------
    predictor : Predictor
    certificate : Certificate
    promise : Promise
    validation : StageScores
        Those of the validation rows, which show how many rows leave at which stage.
    one_per_group : ndarray or None
        Validation rows, one of each group; for a promise about groups.
    audit_rate : float
    on_broken : {"warn", "full"}
    """
    plan = predictor.plan
    # whether something is promised about a random row of a random group, and not by proof
    grouped = bool(certificate.grouped and promise.risk is not None and not plan.evaluate_all)
    about_truth = promise.reference == "labels"  # of which audits say nothing: only the stages are watched
    return Monitor(
        None if about_truth else promise.risk,
        plan.stage_costs,
        _left_at_stages(plan, validation, one_per_group, grouped),
        audit_rate=audit_rate,
        on_broken=on_broken,
        fingerprint=predictor.model.fingerprint(),
        strata=None if about_truth else _strata(promise, predictor.model),
        grouped=grouped,
        other=predictor.model.words.other,
        unwatched="true labels" if about_truth else "",
    )


def _left_at_stages(
    plan: Plan, validation: StageScores, one_per_group: NDArray[np.intp] | None, grouped: bool
) -> NDArray[np.int64]:
    """Validation rows by the stage at which they left, one of each group for a promise about groups."""
    reached, n_rows = plan.reached, validation.n_rows
    if grouped:
        n_rows = 0
        if one_per_group is not None and len(one_per_group):
            n_rows = len(one_per_group)
            reached = shares_reached(validation.take(one_per_group), plan.boundary, plan.q, plan.precision)
    left: NDArray[np.int64] = np.rint(-np.diff(reached, append=0.0) * n_rows).astype(np.int64)
    return left


def _strata(promise: Promise, model: AdditiveModel) -> list[Line]:
    """The strata of a promise, as its certificate has them, each with its bound."""
    about = promise.about(model)
    return [line._replace(risk=about.risk) if line.risk is None else line for line in about.lines]


@dataclass(frozen=True, eq=False)
class UnfinishedAudit:
    """Rows that are decided, with an audit of some of them that has failed: what `resume` needs to go on with it.

    Parameters
    ----------
    decided : Decisions
        About all rows.
    counted, chosen : ndarray of int
        Rows that the monitor counts, and those of them that are audited.
    own : int32 ndarray of shape (n_chosen,)
        The full model's codes of the audited rows; -1 where they are not known yet.
    monitor : Monitor
    """

    decided: Decisions
    counted: NDArray[np.intp]
    chosen: NDArray[np.intp]
    own: NDArray[Any]
    monitor: Monitor


def audited(
    predictor: Predictor,
    monitor: Monitor | None,
    source: Source,
    n_threads: int,
    budget: float | None,
    groups: ArrayLike | None,
    resume: PartialAnswer | Answers | None = None,
    deadline: float | None = None,
) -> Decisions:
    """Decide rows, or those that `resume` has left. All of them are counted, and some are audited, if without a limit.

    An error about a call of an audit carries the decisions about all rows; none of them is counted then.
    """
    if groups is not None:
        _require_groups(monitor)
    seconds = checked_deadline(deadline)
    limited = budget is not None or seconds < np.inf
    # the certificate speaks neither of rows with a limit, nor of rows outside of a ranking
    watched = monitor if not limited and monitor is not None and monitor.trials != "groups" else None
    full = watched is not None and watched.answers_in_full

    def answered(rows: Source) -> Decisions:
        if seconds < np.inf:
            return in_time(predictor, rows, n_threads, budget, seconds)
        return predictor.predict(rows, n_threads, budget, full=full)

    before = resume
    if isinstance(before, Answers):
        before = predictor.carried(before.decided, final(before.decided))
    begun = getattr(before, "state", None)
    if isinstance(begun, UnfinishedAudit):
        before = replace(before, state=begun.decided)  # type: ignore[type-var]  # it has a state
    decided = answered(source) if before is None else resumed(source, before, answered, predictor.carried)
    if watched is None or full:
        return decided
    stages, n_stages = decided.ledger.stages, predictor.plan.n_stages + 1
    if watched.grouped and groups is None:
        watched.record(np.bincount(stages, minlength=n_stages))
        return decided
    counted = np.arange(source.n_rows) if groups is None else watched.pick(groups, source.n_rows)
    if isinstance(begun, UnfinishedAudit) and begun.monitor is watched:
        if groups is not None:  # but for those of which another call has counted a row in between
            new = np.isin(np.asarray(groups), np.asarray(groups)[counted])
            counted, still = begun.counted[new[begun.counted]], new[begun.chosen]
            chosen, own = begun.chosen[still], begun.own[still]
        else:
            counted, chosen, own = begun.counted, begun.chosen, begun.own.copy()
    else:
        chosen = counted[watched.draw(len(counted))]
        own = _known(predictor, decided, chosen)
    n_answers = predictor.model.decision.n_answers
    audits: NDArray[Any] = np.zeros(n_answers, dtype=np.int64)
    lost: NDArray[Any] = np.zeros(n_answers)
    predicted = audits, lost
    if len(chosen):
        rest = np.flatnonzero(own == UNKNOWN) if predictor.asks else np.arange(len(chosen))
        try:
            found = predictor.predict(source.take(chosen[rest]), n_threads, None, full=True).codes
        except CallError as error:
            if not source.is_lazy:
                error.renumber(chosen[rest])
            if predictor.asks and error.partial is not None and isinstance(error.partial.state, Decisions):
                heard = error.partial.decided
                own[rest[heard]] = error.partial.state.codes[heard]
            carried = predictor.carried(decided, np.ones(source.n_rows, dtype=bool))
            error.partial = replace(carried, state=UnfinishedAudit(decided, counted, chosen, own, watched))
            if groups is not None:
                watched.put_back(np.asarray(groups)[counted])
            raise
        if predictor.asks:
            own[rest] = found
        else:
            own = found
        losses, own = _lost(predictor.model, decided.codes[chosen], own)
        early = own if predictor.model.decision.valued else decided.codes[chosen]
        (audits, lost), predicted = (
            (np.bincount(codes, minlength=n_answers), np.bincount(codes, weights=losses, minlength=n_answers))
            for codes in (own, early)
        )
    left, one_per_group = np.bincount(stages[counted], minlength=n_stages), watched.grouped and groups is not None
    watched.record(left, audits, lost, predicted=predicted, one_per_group=one_per_group)
    return decided


def _known(predictor: Predictor, decided: Decisions, chosen: NDArray[np.intp]) -> NDArray[Any]:
    """The full model's codes of some rows: of a model that is asked, those of the rows that it has answered already."""
    codes = np.full(len(chosen), UNKNOWN, dtype=np.int32)
    if predictor.asks:
        asked = decided.ledger.status[chosen] == Status.FULL
        codes[asked] = decided.codes[chosen[asked]]
    return codes


def audited_one(
    predictor: Predictor,
    monitor: Monitor | None,
    x: NDArray[Any],
    budget: float | None,
    group: Any = None,
    source: Source | None = None,
) -> tuple[int, int, float, int]:
    """Code, stage, cost and status of one row, which is counted and perhaps audited; `source` as for `predict_one`."""
    if group is not None:
        _require_groups(monitor)
    if monitor is None or budget is not None:
        return predictor.predict_one(x, budget, source=source)

    def in_full() -> tuple[int, int, float, int]:
        return predictor.predict_one(x, None, full=True, source=source)

    if monitor.answers_in_full:
        return in_full()
    return counted_one(predictor, monitor, predictor.predict_one(x, None, source=source), in_full, group)


def counted_one(
    predictor: Predictor,
    monitor: Monitor | None,
    answer: tuple[int, int, float, int],
    in_full: Callable[[], tuple[int, int, float, int]],
    group: Any = None,
) -> tuple[int, int, float, int]:
    """Count one row that has its answer, and audit it perhaps: `in_full` then answers it without early exits."""
    if monitor is None:
        return answer
    code, stage, _, status = answer
    if group is not None and len(monitor.pick([group], 1)) == 0:  # another row of this group was counted
        return answer
    if monitor.record_one(stage, one_per_group=group is not None):
        asked = predictor.asks and status == Status.FULL  # who has answered is not asked again
        losses, own = _lost(predictor.model, np.array([code]), np.array([code if asked else in_full()[0]]))
        early = 0 if predictor.model.decision.valued else code
        monitor.record_audit(float(losses[0]), int(own[0]), early)
    return answer


def _lost(model: AdditiveModel, early: NDArray[Any], own: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Losses of early answers, and the full model's codes; of values these are all 0."""
    if not model.decision.valued:
        return model.decision.losses(early, own), own
    losses = model.decision.lost_values(early.astype(np.float64), own.astype(np.float64))
    return losses, np.zeros(len(own), dtype=np.int32)


def _require_groups(monitor: Monitor | None) -> None:
    """Refuse groups where nothing is watched that is about groups."""
    if monitor is None or not monitor.grouped:
        why = "is not watched" if monitor is None else "is watched, but its promise is not about groups"
        raise ValueError(
            f"groups are for a watched promise about groups, and this one {why}: leave them out, or call "
            "fit(X, groups=...).watched(...)."
        )
