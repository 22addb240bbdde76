"""Costs of groups for a predictor under a budget, given or measured, what a budget buys, what extractors took."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..utils.reals import require_real
from .groups import FeatureGroup
from .policies.base import Policy
from .policies.driver import acquire
from .protocol import StructuredModel

#: Bisections of the threshold, once the two neighbouring first priorities around it are known.
_BISECTIONS = 12


def given_costs(model: StructuredModel, costs: ArrayLike | dict[str, float] | None) -> NDArray[np.float64]:
    """Costs of a model's groups (K + 1,): an array, a dict by name, or None for the model's ``group_costs_``.

    Raises ValueError or TypeError if there is not one finite cost for each group, or a cost is not positive.
    """
    names = list(model.group_names_)
    given: Any = model.group_costs_ if costs is None else costs
    if isinstance(given, dict):
        if set(given) != set(names):
            raise ValueError(f"feature_costs must have a cost for each of {names}. Got {sorted(given)}.")
        given = [given[name] for name in names]
    try:
        found = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"feature_costs must be numbers, one for each of {names}. Got {given!r}.") from error
    if found.shape != (len(names),):
        raise ValueError(f"feature_costs must have one entry for each of {names}. Got shape {found.shape}.")
    if not (np.isfinite(found).all() and (found[1:] > 0).all() and found[0] >= 0):
        raise ValueError(
            f"feature_costs must be finite, those of costly groups positive. Got {found.tolist()} for {names}."
        )
    return found


def measured_costs(model: StructuredModel, policy: Policy, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Measure the microseconds that each group takes for a part (K + 1,), with the policy at work, and without.

    The first entry includes the policy and all of its inferences; without, one inference with everything bought.
    """
    session = model.open(X)
    everything = session.state()
    start, before = time.perf_counter(), float(np.asarray(session.seconds).sum())
    session.decode(everything)
    inference = time.perf_counter() - start - (float(np.asarray(session.seconds).sum()) - before)
    spent: Any = getattr(session, "seconds_each", None)  # also where features were there before
    each = 1e6 * (np.asarray(session.seconds) / np.asarray(session.extracted) if spent is None else spent)
    n_examples = len(np.asarray(session.offsets)) - 1
    first = policy.priority(session, everything & False, np.arange(n_examples))
    runs = [acquire(policy, session, float(np.median(first))).seconds for _ in range(3)]
    overhead = float(np.median([run["policy"] + run["inference"] for run in runs]))
    alone, with_policy = each.copy(), each.copy()
    alone[0] += 1e6 * inference / len(everything)
    with_policy[0] += 1e6 * overhead / len(everything)
    return with_policy, alone


def checked_budget(budget: float | None, costs: NDArray[np.float64]) -> float:
    """Return a budget, unless it is less than the cheap group's cost or more than that of all groups."""
    cheap, full = float(costs[0]), float(costs.sum())
    if budget is None:
        raise ValueError("BudgetedPredictor needs a budget=, the mean cost of a part, or a risk=.")
    require_real("budget", budget)
    if not cheap <= budget <= full * (1 + 1e-12):  # also refuses NaN
        raise ValueError(
            f"budget must lie between {cheap:.6g} a part, the cost of the cheap group, and {full:.6g}, that of all "
            f"groups. Got {budget!r}."
        )
    return float(budget)


def largest_spend(
    spend: Callable[[float], float], first: NDArray[np.float64], budget: float, best: tuple[float, float], once: bool
) -> tuple[float, float]:
    """Return the threshold whose spend, the mean cost of a part, comes closest to a budget from below, and this spend.

    ``best`` is a threshold within the budget, and its spend; ``first`` has the priorities of the first round,
    ascending. ``once`` says that there is only one round: then no threshold between them buys anything else.
    """
    low, high = -1, len(first) - 1  # buying above first[high] fits, above first[low] does not
    while high - low > 1:
        middle = (low + high) // 2
        spent = spend(float(first[middle]))
        if spent <= budget:
            high, best = middle, (float(first[middle]), spent)
        else:
            low = middle
    if once:
        return best
    below = float(first[low]) if low >= 0 else float(first[0]) - 1.0
    above = best[0] if np.isfinite(best[0]) else float(first[-1]) + 1.0
    for _ in range(_BISECTIONS):  # priorities of later rounds lie between
        threshold = (below + above) / 2
        spent = spend(threshold)
        if spent <= budget:
            above, best = threshold, max(best, (threshold, spent), key=lambda b: b[1])
        else:
            below = threshold
    return best


def spent_on(model: Any) -> NDArray[np.float64]:
    """Parts that each extractor was asked about so far, and the seconds that this took: (2, n_groups).

    A model may have groups of its own besides those that it was given.
    """
    given = getattr(model, "feature_groups", None) or ()
    by_name = {group.name: group.kept for group in given if isinstance(group, FeatureGroup)}
    spent = [by_name.get(name) for name in model.group_names_]
    return np.array([[0, 0] if one is None else [one.counts.rows, one.seconds] for one in spent], dtype=np.float64).T
