"""What displays show of rankings: groups in place of rows, and rows beside those of their group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..early_exit.ranked import MeasuredGroups
from ..early_exit.ranker import EarlyExitRanker
from ..ranking import RowGroups
from ..ranking.measures import places
from ..stopping.core.betting import betting_upper_bound
from ._source import Floats, require_chosen, require_rows


def is_ranker(estimator: Any, groups: ArrayLike | None, caller: str) -> bool:
    """Whether a display is about groups of rows, which must then be given; other estimators have none."""
    if isinstance(estimator, EarlyExitRanker):
        if groups is None and hasattr(estimator, "certificate_"):  # others have nothing to show
            raise ValueError(f"{caller} needs groups, the key of each row's group: a ranker ranks the rows of groups.")
        return True
    if groups is not None:
        raise ValueError(f"{caller}: groups are for rankers. {type(estimator).__name__} answers each row by itself.")
    return False


def require_race(estimator: EarlyExitRanker, X: Any, caller: str) -> EarlyExitRanker:
    """Return the ranker if its rows race, and there are some."""
    if getattr(estimator, "ranking_plan_", None) is None:
        promise = getattr(estimator, "certificate_", None)
        why = "there is nothing to show: every row is evaluated in full." if promise is None else str(promise)
        raise ValueError(f"{caller}: {why}")
    require_rows(X, caller)
    return estimator.unwatched()


def missing_interval(missing: Floats, confidence: float) -> tuple[float, float]:
    """Confidence interval of the mean of losses of groups, each from 0 to 1."""
    half = 0.5 * (1.0 + confidence)
    return 1.0 - betting_upper_bound(1.0 - missing, half), betting_upper_bound(missing, half)


def tradeoff_fields(fast: EarlyExitRanker, found: MeasuredGroups, *, in_use: bool) -> dict[str, Any]:
    """Fields of a `TradeoffDisplay` of groups."""
    cost, missing = np.array(found.points).T
    certificate = fast.certificate_
    about: dict[str, Any] = {
        "cost": cost,
        "disagreement": missing,
        "n_rows": len(found.groups),
        "confidence": certificate.confidence,
        "full_cost": float(certificate.n_trees),
        "unit": "trees",
        "event": f"share of the first {certificate.k} rows missing",
    }
    if in_use:
        about |= {
            "cost_in_use": float(found.decided.ledger.paid.mean()),
            "disagreement_in_use": float(found.missing.mean()),
            "interval_in_use": missing_interval(found.missing, certificate.confidence),
            "risk": certificate.risk,
        }
    return about


def among_the_first(fast: EarlyExitRanker, X: Any, groups: ArrayLike) -> NDArray[np.str_]:
    """Whether each row is among the first of its group by the full model, in words."""
    own, k = np.asarray(fast.predict(X), dtype=np.float64), fast.certificate_.k
    sides = RowGroups.of(groups, len(own))
    side_by_side = own if sides.rows is None else own[sides.rows]
    return np.asarray(sides.spread(np.where(places(side_by_side, sides) < k, f"first {k}", "others")))


def walks_of_places(fast: EarlyExitRanker, X: Any, rows: ArrayLike | None, caller: str) -> dict[str, Any]:
    """Fields of a `StoppingPathDisplay` of one group: leads over the border of the places, in parts of the reach."""
    n_rows = require_rows(X, caller)
    chosen = None if rows is None else require_chosen(rows, n_rows, caller)
    paths, own = fast.paths(X), np.asarray(fast.predict(X), dtype=np.float64)
    k, raced = fast.certificate_.k, int(np.count_nonzero(paths.racing))
    if raced == 0:
        raise ValueError(f"{caller}: a group of {n_rows} rows, of which the first {k} are wanted, does not race.")
    place = np.argsort(np.argsort(-own, kind="stable"), kind="stable")
    if chosen is None:
        wanted = dict.fromkeys((0, k // 2, k - 1, k, (k + n_rows) // 2, n_rows - 1))
        chosen = np.array([int(np.flatnonzero(place == at)[0]) for at in wanted])
    best = -np.sort(-own)
    border = np.where(place < k, best[k], best[k - 1])
    at_end = (own - border) / paths.reach[:, raced - 1]
    stages = np.where(paths.stages < raced, paths.stages, raced)
    plan = fast.ranking_plan_
    assert plan is not None  # else `paths` has raised
    return {
        "scores": np.column_stack([paths.leads[:, :raced], at_end])[chosen],
        "costs": np.append(plan.stage_costs[:raced], plan.stage_costs[-1]),
        "low": np.full(raced, -1.0),
        "high": np.full(raced, 1.0),
        "stages": stages[chosen],
        "labels": np.where(place < k, f"first {k}", "others")[chosen],
        "threshold": 0.0,
        "unit": "trees",
        "answers": "",
        "axis": f"lead over the border of the first {k}",
    }
