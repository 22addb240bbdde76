"""Plan and certify the race of rankings: groups that plan, and others that certify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..models import Terms
from ..models.protocols import Summed
from ..sources import source_of
from ..utils.warn import warn_caller
from .certificate import RankingCertificate, boldest, groups_needed, upper_limit
from .estimates import Fitted, fitted_order, row_weights, usual_errors
from .groups import Indices, RowGroups
from .ladder import Work, cheapest_ladder, fine_stages, undecided_shares
from .measures import Floats, missing_shares, ndcg
from .race import Race, RankingPlan

#: Share of the groups that certify, and of the others those that fit order and readouts.
CERTIFICATE_SHARE, ORDER_SHARE = 0.5, 0.75
#: Stages are chosen for this share of the risk: what is seen must lie below what is promised.
PLANNED_SHARE = 0.5
#: Candidates of q while planning; and the fixed sequence of the certificate, as multiples of the planned one.
CANDIDATES, SEQUENCE = np.geomspace(12.0, 0.25, 32), np.geomspace(3.0, 0.35, 60)
#: Fewer groups are not planned with.
LEAST_GROUPS = 8


@dataclass(frozen=True, eq=False)
class Ranked:
    """Preprocessed rows side by side by groups, with their full scores.

    Parameters
    ----------
    X : array or CSR of shape (n_rows, n_features)
    scores : float64 ndarray of shape (n_rows,)
    groups : RowGroups
    relevance : float64 ndarray of shape (n_rows,) or None, default=None
    """

    X: Any
    scores: Floats
    groups: RowGroups
    relevance: Floats | None = None

    def take(self, some: NDArray[np.intp]) -> Ranked:
        """The rows of some groups, side by side."""
        rows, groups = self.groups.rows_of(some)
        relevance = None if self.relevance is None else self.relevance[rows]
        return Ranked(self.X[rows], self.scores[rows], groups, relevance)


@dataclass(frozen=True)
class Asked:
    """What is asked of a plan: the first ``k``, of which at most the share ``risk`` is missing, and threads to use."""

    k: int
    risk: float
    confidence: float
    n_threads: int = 1


def planned(
    terms: Terms, core: _core.Model, rows: Ranked, asked: Asked, rng: np.random.Generator
) -> tuple[Race | None, RankingCertificate]:
    """Plan a race on some groups, and certify it on others.

    Parameters
    ----------
    terms : Terms
        Trees with one output.
    core : Model
        The same, packed.
    rows : Ranked
        Rows that the model was not trained on.
    asked : Asked
    rng : numpy.random.Generator

    Returns
    -------
    race : Race or None
        None where full evaluation is all that can be promised, or takes no longer.
    certificate : RankingCertificate
    """
    shuffled = rng.permutation(len(rows.groups))
    n_certificate = round(CERTIFICATE_SHARE * len(shuffled))
    needed = groups_needed(asked.risk, asked.confidence)
    if n_certificate < needed or len(shuffled) - n_certificate < LEAST_GROUPS:
        least = max(int(np.ceil(needed / CERTIFICATE_SHARE)), 2 * LEAST_GROUPS)
        reason = f"{len(shuffled)} groups are too few to certify risk={asked.risk:g}, which takes at least {least}"
        warn_caller(f"Every row is evaluated in full: {reason}. Give fit more groups, or a larger risk.")
        return None, _in_full(terms, asked, reason)
    certificate, plan = rows.take(shuffled[:n_certificate]), shuffled[n_certificate:]
    n_order = min(round(ORDER_SHARE * len(plan)), len(plan) - 2)
    race = _race(terms, core, rows.take(plan[:n_order]), rows.take(plan[n_order:]), asked, rng)
    if race is None:
        return None, _in_full(terms, asked, "early exit would take longer")
    return _certified(terms, race, certificate, asked)


def _race(
    terms: Terms, core: _core.Model, order_rows: Ranked, validation: Ranked, asked: Asked, rng: np.random.Generator
) -> Race | None:
    """The race that takes the least work on the validation rows; None if full evaluation takes less."""
    weights = row_weights(order_rows.scores, order_rows.groups, asked.k)
    fitted = fitted_order(terms, order_rows.X, order_rows.scores, weights, rng)
    every = fine_stages(terms.n_terms)
    race, errors = _with_stages(terms, core, fitted, every, False, validation, asked)
    ends = race.plan.stages.sums.ends if race.plan.stages.sums is not None else every[-1:]
    summed = Summed.of(terms)
    assert summed is not None
    work = Work.of(summed, fitted.terms, ends, columnar=not _in_rows(validation.X))
    undecided = undecided_shares(*errors, validation.groups, asked.k, race.plan.q)
    chosen = cheapest_ladder(every, undecided, work)
    if len(chosen) == 0:
        return None
    race, _ = _with_stages(terms, core, fitted, every[chosen], True, validation, asked)
    left = race.rank(source_of(validation.X), validation.groups, asked.n_threads)[1]
    n_stages = len(race.plan.usual)
    reached = np.array([np.mean(left >= t) for t in range(n_stages + 1)])
    return race if work.expected(race.plan.stages.terms, reached) < work.full else None


def _with_stages(
    terms: Terms,
    core: _core.Model,
    fitted: Fitted,
    stage_terms: Indices,
    corrected: bool,
    validation: Ranked,
    asked: Asked,
) -> tuple[Race, tuple[Floats, Floats]]:
    """A race with these stages, at the q that keeps its share of the risk; and its estimates and usual errors."""
    stages, source = fitted.stages(stage_terms, corrected), source_of(validation.X)
    plan = RankingPlan(asked.k, np.inf, fitted.terms, stages, np.ones(len(stage_terms)), terms.n_terms)
    plain = Race(core, plan, terms.accepts.conversion)
    estimates, spread = plain.trace(source, asked.n_threads)
    weights = row_weights(validation.scores, validation.groups, asked.k)
    usual = usual_errors(estimates, spread, validation.scores, weights, validation.groups)
    race = Race(core, RankingPlan(asked.k, np.inf, fitted.terms, stages, usual, terms.n_terms), plain.conversion)
    q = float(CANDIDATES[0])
    for candidate in CANDIDATES.tolist():
        scores, _ = race.at(candidate).rank(source, validation.groups, asked.n_threads)
        if missing_shares(validation.scores, scores, validation.groups, asked.k).mean() > PLANNED_SHARE * asked.risk:
            break
        q = candidate
    return race.at(q), (estimates.astype(np.float64), spread * usual)


def _certified(terms: Terms, race: Race, rows: Ranked, asked: Asked) -> tuple[Race | None, RankingCertificate]:
    """Find the boldest q that the certificate groups prove."""
    source = source_of(rows.X)

    def losses(q: float) -> Floats:
        scores, _ = race.at(q).rank(source, rows.groups, asked.n_threads)
        return missing_shares(rows.scores, scores, rows.groups, asked.k)

    q = boldest(race.plan.q * SEQUENCE, losses, asked.risk, asked.confidence)
    if q is None:
        reason = f"the groups of the certificate do not prove risk={asked.risk:g}"
        warn_caller(f"Every row is evaluated in full: {reason}. Give fit more groups, or a larger risk.")
        return None, _in_full(terms, asked, reason, len(rows.groups))
    race = race.at(q)
    scores, stages = race.rank(source, rows.groups, asked.n_threads)
    missing = missing_shares(rows.scores, scores, rows.groups, asked.k)
    lost = None
    if rows.relevance is not None:
        own, early = (ndcg(rows.relevance, given, rows.groups, asked.k) for given in (rows.scores, scores))
        lost = float(np.mean(own - early))
    return race, RankingCertificate(
        k=asked.k,
        risk=asked.risk,
        confidence=asked.confidence,
        n_groups=len(rows.groups),
        missing=float(missing.mean()),
        limit=upper_limit(missing, asked.confidence),
        trees=float(race.plan.stage_costs[stages].mean()),
        n_trees=terms.n_terms,
        ndcg_lost=lost,
    )


def _in_full(terms: Terms, asked: Asked, reason: str, n_groups: int = 0) -> RankingCertificate:
    return RankingCertificate(
        k=asked.k,
        risk=asked.risk,
        confidence=asked.confidence,
        n_groups=n_groups,
        missing=0.0,
        limit=0.0,
        trees=float(terms.n_terms),
        n_trees=terms.n_terms,
        in_full=True,
        reason=reason,
    )


def _in_rows(X: Any) -> bool:
    """Whether the values of a row lie side by side."""
    return not isinstance(X, np.ndarray) or X.flags.c_contiguous
