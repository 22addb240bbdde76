"""Plan and certify the race of rankings: groups that plan, and others that certify."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..engine import Stages
from ..models import Terms
from ..models.protocols import Summed
from ..sources import source_of
from ..utils.figures import number, thousands
from ..utils.warn import warn_caller
from .certificate import RankingCertificate, boldest, groups_needed, proves, upper_limit
from .estimates import Fitted, fitted_order, row_weights, usual_errors
from .groups import RowGroups
from .ladder import Work, cheapest_ladder, fine_stages, sums_of, undecided_shares, with_one_more
from .measures import Floats, missing_shares, ndcg
from .race import Race, RankingPlan

#: Share of the groups that certify, and of the others those that fit order and readouts.
CERTIFICATE_SHARE, ORDER_SHARE = 0.5, 0.6
#: Stages are chosen for the q at which the validation groups, repeated, would prove the risk at this level.
PLANNED_LEVEL = 0.02
#: Candidates of q while planning; and the fixed sequence of the certificate, as multiples of the planned one.
CANDIDATES, SEQUENCE = np.geomspace(12.0, 0.25, 64), np.geomspace(3.0, 0.35, 60)
#: Stages are chosen for the q of all stages divided by each of these, and the best ladder is kept.
BOLDNESS = (0.8, 1.0, 1.25, 1.6, 2.0)
#: Of ladders that take about the same work, more by at most this share, the one with the fewest trees is kept.
SAME_WORK = 0.05
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
        return None, _in_full(terms, asked, reason, failed=True)
    certificate, plan = rows.take(shuffled[:n_certificate]), shuffled[n_certificate:]
    n_order = min(round(ORDER_SHARE * len(plan)), len(plan) - 2)
    if rows.groups.sizes.max() <= asked.k:
        return None, _in_full(terms, asked, f"no group has more than {asked.k} rows, so that none of them can leave")
    race = _race(terms, core, rows.take(plan[:n_order]), rows.take(plan[n_order:]), asked, n_certificate, rng)
    if isinstance(race, str):
        return None, _in_full(terms, asked, race)
    return _certified(terms, race, certificate, asked, rng)


def _race(
    terms: Terms,
    core: _core.Model,
    order_rows: Ranked,
    validation: Ranked,
    asked: Asked,
    n_certificate: int,
    rng: np.random.Generator,
) -> Race | str:
    """The race that takes the least work on the validation rows; or why full evaluation takes less."""
    weights = row_weights(order_rows.scores, order_rows.groups, asked.k)
    fitted = fitted_order(terms, order_rows.X, order_rows.scores, weights, rng)
    trial = _Trial(terms, core, fitted, validation, asked, n_certificate)
    every = fine_stages(terms.n_terms)
    race = trial.race(fitted.stages(every))
    estimates, errors = race.trace(trial.source, asked.n_threads)
    work, tried, trees = trial.work(race), set(), np.inf
    for boldness in BOLDNESS:  # ladders with fewer stages keep the risk with a smaller q
        undecided = undecided_shares(estimates, errors, validation.groups, asked.k, race.plan.q / boldness)
        tried.add(tuple(cheapest_ladder(every, undecided, work).tolist()))
        trees = min(trees, float(np.min(every + undecided * terms.n_terms)))
    tried |= {more for ladder in tried for more in with_one_more(ladder, len(every))}
    races = []
    for some in map(list, sorted(tried - {()})):
        candidate = trial.race(fitted.subset(race.plan.stages, some), race.plan.usual[some])
        races.append((*trial.expected(candidate), some))
    if not races:
        return _why_not(trees, terms, asked)
    near = [found for found in races if found[0] <= (1.0 + SAME_WORK) * min(races)[0]]
    best = min(near, key=lambda found: found[1])[2]
    race = trial.race(fitted.stages(every[best]))
    expected, trees = trial.expected(race)
    return race if expected < work.full else _why_not(trees, terms, asked)


def _why_not(trees: float, terms: Terms, asked: Asked) -> str:
    """Why rows do not race, by the trees that they would take."""
    n = terms.n_terms
    taken = f"{number(trees)} of {thousands(n)} trees" if trees < n else f"all {thousands(n)} trees"
    still = f"rows would still take {taken} on average"
    return f"to keep risk={asked.risk:g}, {still}, and no less time than all trees at once"


class _Trial:
    """Races on the validation rows, each at the boldest q that is likely to be certified."""

    def __init__(
        self, terms: Terms, core: _core.Model, fitted: Fitted, rows: Ranked, asked: Asked, n_certificate: int
    ) -> None:
        self._terms, self._core, self._fitted, self._rows, self._asked = terms, core, fitted, rows, asked
        self._weights = row_weights(rows.scores, rows.groups, asked.k)
        self._n_certificate = n_certificate
        self.source = source_of(rows.X)

    def race(self, stages: Stages, usual: Floats | None = None) -> Race:
        """A race with these stages; without usual errors, these are measured."""
        terms, rows, conversion = self._terms, self._rows, self._terms.accepts.conversion
        plan = RankingPlan(self._asked.k, np.inf, self._fitted.terms, stages, np.ones(len(stages)), terms.n_terms)
        if usual is None:
            traced = Race(self._core, plan, conversion).trace(self.source, self._asked.n_threads)
            usual = usual_errors(*traced, rows.scores, self._weights, rows.groups)
        race = Race(self._core, replace(plan, usual=usual), conversion)
        low, high = 0, len(CANDIDATES)  # the last candidate that is careful enough, at least the first one
        while high - low > 1:
            middle = (low + high) // 2
            scores, _ = race.at(float(CANDIDATES[middle])).rank(self.source, rows.groups, self._asked.n_threads)
            missing = missing_shares(rows.scores, scores, rows.groups, self._asked.k)
            careful = proves(np.resize(missing, self._n_certificate), self._asked.risk, 1.0 - PLANNED_LEVEL)
            low, high = (middle, high) if careful else (low, middle)
        return race.at(float(CANDIDATES[low]))

    def work(self, race: Race) -> Work:
        """The work of the stages of a race, and of full evaluation."""
        summed = Summed.of(self._terms)
        assert summed is not None
        ends = sums_of(race.plan.stages.terms)
        return Work.of(summed, self._fitted.terms, ends, not _in_rows(self._rows.X))

    def expected(self, race: Race) -> tuple[float, float]:
        """The work of a row in a race, and its trees."""
        left = race.rank(self.source, self._rows.groups, self._asked.n_threads)[1]
        reached = np.array([np.mean(left >= t) for t in range(len(race.plan.usual) + 1)])
        return self.work(race).expected(race.plan.stages.terms, reached), float(race.plan.stage_costs[left].mean())


def _certified(
    terms: Terms, race: Race, rows: Ranked, asked: Asked, rng: np.random.Generator
) -> tuple[Race | None, RankingCertificate]:
    """Find the boldest q that the certificate groups prove."""
    source = source_of(rows.X)

    def losses(q: float) -> Floats:
        scores, _ = race.at(q).rank(source, rows.groups, asked.n_threads)
        return missing_shares(rows.scores, scores, rows.groups, asked.k)

    q = boldest(race.plan.q * SEQUENCE, losses, asked.risk, asked.confidence)
    if q is None:
        reason = f"the groups of the certificate do not prove risk={asked.risk:g}"
        warn_caller(f"Every row is evaluated in full: {reason}. Give fit more groups, or a larger risk.")
        return None, _in_full(terms, asked, reason, len(rows.groups), failed=True)
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
        left=_one_of_each(stages, rows.groups, len(race.plan.stages), rng),
    )


def _one_of_each(
    stages: NDArray[np.int32], groups: RowGroups, n_stages: int, rng: np.random.Generator
) -> tuple[int, ...]:
    """Groups by the stage at which a random row of each left."""
    rows = groups.starts + rng.integers(0, groups.sizes)
    return tuple(np.bincount(stages[rows], minlength=n_stages + 1).tolist())


def _in_full(terms: Terms, asked: Asked, reason: str, n_groups: int = 0, *, failed: bool = False) -> RankingCertificate:
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
        failed=failed,
    )


def _in_rows(X: Any) -> bool:
    """Whether the values of a row lie side by side."""
    return not isinstance(X, np.ndarray) or X.flags.c_contiguous
