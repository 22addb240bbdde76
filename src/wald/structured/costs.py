"""Costs of groups for a predictor under a budget: as given, or measured in microseconds."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .policies.base import Policy
from .policies.driver import acquire
from .protocol import StructuredModel


def given_costs(model: StructuredModel, costs: ArrayLike | dict[str, float] | None) -> NDArray[np.float64]:
    """Check the costs of the groups of a model.

    Parameters
    ----------
    model : StructuredModel
    costs : array-like of shape (K + 1,), dict from group name to cost, or None
        None: the model's ``group_costs_``.

    Returns
    -------
    float64 ndarray of shape (K + 1,)

    Raises
    ------
    ValueError, TypeError
        If there is not one finite cost for each group, or a cost is not positive.
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
    """Measure the microseconds that each group takes for a part.

    Returns
    -------
    with_policy : float64 ndarray of shape (K + 1,)
        The first entry includes the policy and all of its inferences.
    alone : float64 ndarray of shape (K + 1,)
        The first entry includes one inference with everything bought.
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
