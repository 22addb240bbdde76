"""Measure a ranker on groups: every number of its report."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..displays import StoppingPathDisplay, TradeoffDisplay
from ..displays._rankings import missing_interval, tradeoff_fields, walks_of_places
from ..displays._source import name_of, require_rows
from ..early_exit.explaining_places import PlaceExplanation
from ..early_exit.group_answers import measured
from ..early_exit.ranked import MeasuredGroups
from ..early_exit.ranker import EarlyExitRanker
from ..engine.threads import effective_threads
from ..inspection.facts import model_facts
from ..inspection.promises import broken_ranking
from ..ranking import RankingCertificate, RankingPlan, RowGroups
from ..sources import source_of
from ..utils.alternating import Timing, in_turns
from .timing import REPEATS, Rival, rival_of

#: Most groups that a report lists, and rows that are timed.
MOST_GROUPS, MOST_TIMED = 20, 20_000
#: How many scales of the exits a curve goes through.
SCALES = 30


class RaceStage(NamedTuple):
    """One stage of the race, and how many rows came to it and left there; the last is full evaluation."""

    trees: int
    n_reached: int
    n_left: int


class Missed(NamedTuple):
    """A group that misses some of its first rows."""

    name: str
    n_rows: int
    missing: float
    cost: float


@dataclass(frozen=True)
class RankingFacts:
    """Everything that the report of a ranker says.

    ``stages``, ``curve``, ``walk`` and ``places`` are empty where rows do not race. ``interval`` is that of the mean
    share that is missing, ``broken`` the sentence about a promise that these groups refute.
    """

    name: str
    k: int
    model: dict[str, Any]
    certificate: RankingCertificate
    plan: RankingPlan | None
    source: str | None
    n_rows: int
    n_groups: int
    n_short: int
    mean_cost: float
    missing: float
    interval: tuple[float, float]
    n_complete: int
    broken: str | None
    stages: list[RaceStage]
    curve: TradeoffDisplay | None
    walk: StoppingPathDisplay | None
    walk_of: str
    places: list[PlaceExplanation]
    missed: list[Missed]
    timing: list[Timing]
    no_timing: str
    rival: str
    threads: int


def gather_groups(
    estimator: EarlyExitRanker,
    X: Any,
    groups: ArrayLike | None,
    *,
    source: str | None,
    timed: bool,
    caller: str,
    library: Rival | None = None,
) -> RankingFacts:
    """Rank groups early and in full, and count; parameters as of `gather`."""
    if not hasattr(estimator, "certificate_"):
        raise ValueError(
            f"{caller}: {type(estimator).__name__} evaluates every row in full, each to the model's own score, so that "
            "there is nothing to show. With a risk, rows leave early."
        )
    if groups is None:
        raise ValueError(f"{caller} needs groups, the key of each row's group: a ranker ranks the rows of groups.")
    fast, n_rows = estimator.unwatched(), require_rows(X, caller)
    certificate, plan, sides = fast.certificate_, fast.ranking_plan_, RowGroups.of(groups, n_rows)
    threads = effective_threads(fast.n_jobs, X)
    found = None if plan is None else measured(fast, X, groups, SCALES)
    missing = np.zeros(len(sides)) if found is None else found.missing
    timing, no_timing = _times(fast, X, sides, library) if timed else ([], "Times were not asked for.")
    walk_of, walk, places = _walk(fast, X, groups, sides, caller)
    return RankingFacts(
        name=name_of(fast),
        k=certificate.k,
        model=model_facts(fast),
        certificate=certificate,
        plan=plan,
        source=source,
        n_rows=n_rows,
        n_groups=len(sides),
        n_short=int(np.count_nonzero(sides.sizes <= certificate.k)),
        mean_cost=float(certificate.n_trees) if found is None else float(found.decided.ledger.paid.mean()),
        missing=float(missing.mean()),
        interval=missing_interval(missing, certificate.confidence),
        n_complete=int(np.count_nonzero(missing == 0)),
        broken=broken_ranking(certificate, missing),
        stages=[] if found is None or plan is None else _stages(found, plan),
        curve=None
        if found is None
        else TradeoffDisplay(**tradeoff_fields(fast, found, in_use=True), name="early exit"),
        walk=walk,
        walk_of=walk_of,
        places=places,
        missed=[] if found is None else _missed(found, groups, sides),
        timing=timing,
        no_timing=no_timing,
        rival="the wrapped model" if library is None else library.name,
        threads=threads,
    )


def _stages(found: MeasuredGroups, plan: RankingPlan) -> list[RaceStage]:
    trees = plan.stage_costs.astype(np.int64)
    left = np.bincount(found.decided.ledger.stages, minlength=len(trees))
    reached = len(found.own) - np.cumsum(left) + left
    return [RaceStage(*map(int, row)) for row in zip(trees, reached, left, strict=True)]


def _rows_of(sides: RowGroups, group: int) -> NDArray[np.int64]:
    return sides.rows_of(np.array([group]))[0]


def _key(groups: ArrayLike, sides: RowGroups, group: int) -> str:
    """What the rows of a group call it."""
    keys: Any = groups if isinstance(groups, list | tuple) else np.asarray(groups)
    return str(keys[int(_rows_of(sides, group)[0])])


def _missed(found: MeasuredGroups, groups: ArrayLike, sides: RowGroups) -> list[Missed]:
    """The groups that miss most."""
    most = np.argsort(-found.missing, kind="stable")[:MOST_GROUPS]
    return [
        Missed(
            _key(groups, sides, g),
            int(sides.sizes[g]),
            float(found.missing[g]),
            float(found.decided.ledger.paid[_rows_of(sides, g)].mean()),
        )
        for g in most.tolist()
        if found.missing[g] > 0
    ]


def _walk(
    fast: EarlyExitRanker, X: Any, groups: ArrayLike, sides: RowGroups, caller: str
) -> tuple[str, StoppingPathDisplay | None, list[PlaceExplanation]]:
    """The way of a group of the middle size among those that race, and the places of three of its rows."""
    racing = np.flatnonzero(sides.sizes > fast.certificate_.k)
    if fast.ranking_plan_ is None or not len(racing):
        return "", None, []
    group = int(racing[np.argsort(sides.sizes[racing], kind="stable")[len(racing) // 2]])
    rows = source_of(X).take(_rows_of(sides, group)).rows
    display = StoppingPathDisplay(**walks_of_places(fast, rows, None, caller))
    k, order = fast.certificate_.k, fast.rank(rows)
    chosen = dict.fromkeys((0, k - 1, min(k, len(order) - 1), len(order) - 1))
    return _key(groups, sides, group), display, [fast.explain(rows, int(order[at])) for at in chosen]


def _times(fast: EarlyExitRanker, X: Any, sides: RowGroups, library: Rival | None) -> tuple[list[Timing], str]:
    """Time a group and several, in turns; or say why there is nothing to compare with."""
    from threadpoolctl import threadpool_limits

    rival = rival_of(fast.estimator_, library)
    if isinstance(rival, str):
        return [], rival
    middle = int(np.argsort(sides.sizes, kind="stable")[len(sides) // 2])
    some = np.flatnonzero(np.cumsum(sides.sizes) <= MOST_TIMED)
    found, source = [], source_of(X)
    with warnings.catch_warnings(), threadpool_limits(effective_threads(fast.n_jobs)):
        warnings.simplefilter("ignore")
        for name, chosen in (("one group", np.array([middle])), ("several groups", some)):
            if not len(chosen):
                continue
            places, own = sides.rows_of(chosen)
            rows, keys = source.take(places).rows, own.members
            theirs, ours = [rival.rows(rows)], partial(fast.predict, groups=keys)
            found.append(in_turns(name, len(places), rival.predict, theirs, ours, [rows], repeats=REPEATS))
    return found, ""
