"""Answers to rows in groups, as every door gives them: files, jobs, clusters and services."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.threads import effective_threads
from ..ranking import RankingCertificate, RowGroups
from ..ranking.measures import missing_shares, places
from ..stopping import Certificate
from .compiled.answers import Answers
from .ranked import MeasuredGroups, measured_groups
from .ranked_estimator import source_in_order
from .ranker import EarlyExitRanker

#: What is promised about rows, or about the first rows of groups.
AnyCertificate = Certificate | RankingCertificate


def answered(
    fast: Any,
    rows: Any,
    groups: ArrayLike | None = None,
    *,
    budget: float | None = None,
    deadline: float | None = None,
    n_threads: int = 1,
    check_input: bool = True,
) -> Answers:
    """Answer rows; with groups, those of each group race, as in `EarlyExitRanker.predict`.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
        Fitted.
    rows : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,), default=None
        The key of each row's group.
    budget, deadline, n_threads, check_input
        As for `CompiledPlan.predict`; with groups, ``n_jobs`` of the estimator says how many threads there are.

    Raises
    ------
    TypeError
        If groups are given, and rows are not ranked.
    ValueError
        As `EarlyExitRanker.predict`.
    """
    if groups is None:
        alone: Answers = fast.compiled_plan_.predict(
            rows, budget=budget, deadline=deadline, n_threads=n_threads, check_input=check_input
        )
        return alone
    require_groups(fast)
    ranked: Answers = fast.predict(
        rows, groups=groups, budget=budget, deadline=deadline, details=True, check_input=check_input
    )
    return ranked


def require_groups(fast: Any) -> None:
    """Raise TypeError if rows of an estimator do not race in groups."""
    if not isinstance(fast, EarlyExitRanker):
        raise TypeError(
            f"groups are for rankings, whose rows race for the first places of their group. The rows of this "
            f"{type(fast).__name__} are answered one by one: leave groups out."
        )


def ranks(scores: NDArray[Any], groups: ArrayLike) -> NDArray[np.int64]:
    """Place of each row in its group, from 1 on, the largest score first; rows of equal scores stay in their order.

    Examples
    --------
    >>> ranks(np.array([1.0, 3.0, 1.0, 2.0]), ["a", "b", "a", "a"]).tolist()
    [2, 1, 3, 1]
    """
    side_by_side = RowGroups.of(groups, len(scores))
    own = scores if side_by_side.rows is None else scores[side_by_side.rows]
    found = side_by_side.spread(places(own, side_by_side) + 1)
    return np.asarray(found, dtype=np.int64)


def missing_of(full: NDArray[Any], early: NDArray[Any], groups: ArrayLike, k: int) -> NDArray[np.float64]:
    """Share of the first k rows of each group by their full scores that others leave out.

    Examples
    --------
    >>> missing_of(np.array([3.0, 2.0, 1.0]), np.array([3.0, 0.0, 1.0]), ["a", "a", "a"], 2).tolist()
    [0.5]
    """
    side_by_side = RowGroups.of(groups, len(full))
    order = slice(None) if side_by_side.rows is None else side_by_side.rows
    return missing_shares(full[order], early[order], side_by_side, k)


def measured(
    ranker: EarlyExitRanker, X: Any, groups: ArrayLike, n_scales: int, *, one_stage: bool = False
) -> MeasuredGroups:
    """Rank groups by the race, by others of its scales, and in full; the monitor counts none.

    Parameters
    ----------
    ranker : EarlyExitRanker
        Fitted, with a race.
    X : {array-like, sparse matrix, data frame} of shape (n_rows, n_features)
    groups : array-like of shape (n_rows,)
    n_scales, one_stage
        As for `measured_groups`.
    """
    compiled, race = ranker.compiled_plan_, ranker._race
    assert race is not None
    compiled.require_unchanged()
    source = source_in_order(compiled, X)
    sides, n_threads = RowGroups.of(groups, source.n_rows), effective_threads(ranker.n_jobs, X)
    return measured_groups(compiled, race, source, sides, n_threads, n_scales, one_stage=one_stage)


def promise_of(fast: Any) -> AnyCertificate:
    """What a fitted estimator promises; for a ranker with a risk, that is about the first rows of groups."""
    made = ranking_promise(fast)
    return fast.compiled_plan_.certificate if made is None else made


def ranking_promise(fast: Any) -> RankingCertificate | None:
    """What is promised about the first rows of groups; None for other models, and without a risk."""
    made = getattr(fast, "certificate_", None)
    return made if isinstance(made, RankingCertificate) else None


def races(fast: Any) -> bool:
    """Whether some rows leave early if their groups are known."""
    return getattr(fast, "ranking_plan_", None) is not None
