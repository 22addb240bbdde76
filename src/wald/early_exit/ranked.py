"""Groups of rows on their way through a race, and past a monitor, which counts them and audits some."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Decisions, Ledger, Status
from ..monitoring import Monitor
from ..ranking import Limits, Race, RankingCertificate, RankingPlan, RowGroups
from ..ranking.measures import missing_shares
from ..sources import Source
from .compiled.compiled_plan import CompiledPlan
from .compiled.locating import located
from .compiled.rows import preprocessed


def compiled_race(compiled: CompiledPlan, plan: RankingPlan) -> Race:
    """Compile the race of a plan, which needs the trees of the compiled plan."""
    core = compiled._predictor.core
    if core is None:
        raise ValueError("rows race by trees alone.")
    return Race(core, plan, compiled.model.terms.accepts.conversion)


def ranked(
    compiled: CompiledPlan,
    race: Race | None,
    source: Source,
    groups: RowGroups,
    n_threads: int,
    limits: Limits | None = None,
) -> Decisions:
    """Scores of the rows of groups: by a race, or in full where there is none, or a row that stays cannot be scored."""
    with located(source, compiled.model):
        if race is not None:
            model, link = compiled.model, compiled.model.links.predict
            assert link is not None
            rows = source if model.preprocessing is None else preprocessed(model, source, n_threads)
            if limits is None:
                scores, stages = race.rank(rows, groups, n_threads)
                status = np.where(stages < len(race.plan.usual), Status.EARLY, Status.FULL)
            else:
                scores, stages, undecided = race.rank_within(rows, groups, limits, n_threads)
                early = np.where(undecided, Status.OUT_OF_BUDGET, Status.EARLY)
                status = np.where(stages < len(race.plan.usual), early, Status.FULL)
            if not np.isnan(scores).any():
                ledger = Ledger(stages, race.plan.stage_costs[stages], status.astype(np.uint8))
                return Decisions(np.asarray(link(scores[:, None])), ledger)
        return in_full(compiled, race, source, n_threads)


def in_full(compiled: CompiledPlan, race: Race | None, source: Source, n_threads: int) -> Decisions:
    """The wrapped model's own scores, as rows that stay in the race."""
    codes, ledger = compiled._predictor.predict(source, n_threads, None, full=True)
    n_stages = 0 if race is None else len(race.plan.usual)
    return Decisions(codes, ledger._replace(stages=np.full(len(codes), n_stages, dtype=np.int32)))


# ---- watching --------------------------------------------------------------------------------------------------------


def monitor_of(
    compiled: CompiledPlan, race: Race | None, certificate: RankingCertificate, audit_rate: float, on_broken: str
) -> Monitor:
    """Make the monitor of a promise about the first rows of groups.

    Parameters
    ----------
    compiled : CompiledPlan
    race : Race or None
        None where every row is evaluated in full.
    certificate : RankingCertificate
    audit_rate : float
        Probability with which a group is audited.
    on_broken : {"warn", "full"}
    """
    costs = np.array([float(certificate.n_trees)]) if race is None else race.plan.stage_costs
    return Monitor(
        certificate.risk,
        costs,
        certificate.left or [0] * len(costs),
        audit_rate=audit_rate,
        on_broken=on_broken,
        fingerprint=compiled.model.fingerprint(),
        other=f"of their first {certificate.k} rows",
        trials="groups",
    )


def counted(
    compiled: CompiledPlan,
    monitor: Monitor,
    source: Source,
    groups: RowGroups,
    decided: Decisions,
    k: int,
    n_threads: int,
) -> None:
    """Count groups that have their answers: a random row of each, by its stage; and audit some of them in full."""
    if not len(groups):
        return
    codes, (stages, _, _) = decided
    side_by_side: NDArray[np.int32] = stages if groups.rows is None else stages[groups.rows]
    some = side_by_side[monitor.one_of_each(groups.sizes)]
    chosen = monitor.draw(len(groups))
    lost = 0.0
    if len(chosen):
        rows, audited = groups.rows_of(chosen)
        with located(source, compiled.model):
            own = compiled._predictor.predict(source.take(rows), n_threads, None, full=True).codes
        lost = float(missing_shares(own.astype(np.float64), codes[rows].astype(np.float64), audited, k).sum())
    monitor.record(np.bincount(some, minlength=len(monitor.stage_costs)), len(chosen), min(lost, float(len(chosen))))


# ---- measuring -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class MeasuredGroups:
    """Groups that were ranked by a race, and by the full model.

    Attributes
    ----------
    groups : RowGroups
    own : float64 ndarray of shape (n_rows,)
        The full model's scores, rows in the order of the call.
    decided : Decisions
        Scores, stages and trees of the race in use.
    missing : float64 ndarray of shape (n_groups,)
        Share of each group's first k rows that is missing.
    points : list of (float, float)
        Trees of a row and mean share that is missing, on other scales of the exits, the cheapest first.
    """

    groups: RowGroups
    own: NDArray[np.float64]
    decided: Decisions
    missing: NDArray[np.float64]
    points: list[tuple[float, float]]


def measured_groups(
    compiled: CompiledPlan,
    race: Race,
    source: Source,
    groups: RowGroups,
    n_threads: int,
    n_scales: int,
    *,
    one_stage: bool = False,
) -> MeasuredGroups:
    """Rank groups by a race, by the same one with other exits, and in full.

    Parameters
    ----------
    n_scales : int
        Number of other scales of the exits.
    one_stage : bool, default=False
        Instead let all rows leave at the same stage, each stage in turn.
    """
    with located(source, compiled.model):
        own = in_full(compiled, race, source, n_threads).codes.astype(np.float64)
        decided = ranked(compiled, race, source, groups, n_threads)
        rows = source if compiled.model.preprocessing is None else preprocessed(compiled.model, source, n_threads)
        place = np.arange(groups.n_rows) if groups.rows is None else groups.rows
        sides, k = RowGroups(groups.ends), race.plan.k

        def missing(scores: NDArray[Any]) -> NDArray[np.float64]:
            return missing_shares(own[place], scores[place].astype(np.float64), sides, k)

        points = []
        if one_stage:
            estimates = race.trace(rows, n_threads)[0]
            points = [
                (float(cost), float(missing(z).mean()))
                for cost, z in zip(race.plan.stage_costs.tolist(), [*estimates.T, own], strict=True)
            ]
        else:
            for q in (0.0, *(race.plan.q * np.geomspace(0.05, 8.0, n_scales)).tolist(), race.plan.q, np.inf):
                scores, stages = race.at(float(q)).rank(rows, groups, n_threads)
                points.append((float(race.plan.stage_costs[stages].mean()), float(missing(scores).mean())))
    return MeasuredGroups(sides, own, decided, missing(decided.codes), sorted(set(points)))
