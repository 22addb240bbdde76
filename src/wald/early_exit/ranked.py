"""Groups of rows on their way through a race, and past a monitor, which counts them and audits some."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..engine import Decisions, Ledger, Status
from ..monitoring import Monitor
from ..ranking import Limits, Race, RankingCertificate, RowGroups
from ..ranking.measures import missing_shares
from ..sources import Source
from .compiled_plan import CompiledPlan
from .locating import located
from .rows import preprocessed


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
