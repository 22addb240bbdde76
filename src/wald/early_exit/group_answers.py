"""Answers to rows in groups, as every door gives them: files, jobs, clusters and services."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ..ranking import RankingCertificate
from ..stopping import Certificate
from .answers import Answers
from .ranker import EarlyExitRanker


def answered(
    fast: Any,
    rows: Any,
    groups: ArrayLike | None = None,
    *,
    budget: float | None = None,
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
    budget, n_threads, check_input
        As for `CompiledPlan.predict`; with groups, ``n_jobs`` of the estimator says how many threads there are.

    Raises
    ------
    TypeError
        If groups are given, and rows are not ranked.
    ValueError
        As `EarlyExitRanker.predict`, and for a budget beside groups.
    """
    if groups is None:
        return fast.compiled_plan_.predict(rows, budget=budget, n_threads=n_threads, check_input=check_input)  # type: ignore[no-any-return]
    require_groups(fast, budget)
    return fast.predict(rows, groups=groups, details=True, check_input=check_input)  # type: ignore[no-any-return]


def require_groups(fast: Any, budget: float | None = None) -> None:
    """Raise an error if rows of an estimator do not race in groups, or not with a budget."""
    if not isinstance(fast, EarlyExitRanker):
        raise TypeError(
            f"groups are for rankings, whose rows race for the first places of their group. The rows of this "
            f"{type(fast).__name__} are answered one by one: leave groups out."
        )
    if budget is not None:
        raise ValueError("a budget is for rows that are answered one by one: leave it out, or the groups.")


def promise_of(fast: Any) -> Certificate | RankingCertificate:
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
