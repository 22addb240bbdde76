"""Validation of the parameters of attention, and their translation into settings of the compiled learner."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from ..stopping.core.validation import (
    require_between,
    require_fraction,
    require_integer,
    require_option,
    require_positive,
)
from .parameters import AttentionParameters
from .stop_error import ErrorKind

ATTENTION = ("conditional", "constant", "budgeted", "full")
BOUNDARIES = ("centred", "printed", "bridge")
ORDERS = ("auto", "selected", "weight", "random", "cost")
VARIANCES = ("auto", "independent", "empirical")

#: Limits of the compiled learner: for the audited examples of a class, and for any other count.
MOST_AUDITED, MOST = 2**16, 2**31 - 1

#: Which error `delta` bounds, for each rule; the papers do not always distinguish them.
ERROR_OF: dict[str, ErrorKind] = {
    "conditional": "posterior",
    "centred": "joint",
    "printed": "joint",
    "bridge": "conditional",
    "budgeted": "posterior",
    "full": "posterior",
}


def rule_of(owner: AttentionParameters) -> str:
    """The compiled learner's name for the rule that `attention` and `boundary` select."""
    return str(owner.boundary if owner.attention == "constant" else owner.attention)


def settings(owner: AttentionParameters, n_features: int, csr: bool) -> dict[str, Any]:
    """Check the parameters of attention and translate them."""
    name = type(owner).__name__
    require_option(name, "attention", owner.attention, ATTENTION)
    require_option(name, "boundary", owner.boundary, BOUNDARIES)
    require_option(name, "order", owner.order, ORDERS)
    require_option(name, "variance", owner.variance, VARIANCES)
    constant = owner.attention == "constant"
    if csr and (owner.order != "auto" or owner.variance == "independent"):
        raise ValueError(
            f"{name} reads CSR rows as they are stored and measures the variance of margins: with sparse rows "
            f"'order' must be 'auto' and 'variance' not 'independent'. "
            f"Got order={owner.order!r}, variance={owner.variance!r} instead."
        )
    if constant and owner.order == "selected":
        raise ValueError(f"{name} cannot select an order for attention='constant': its boundary fits no regression.")
    if owner.order == "cost" and owner.feature_costs is None:
        raise ValueError(f"order='cost' of {name} needs 'feature_costs'.")
    if owner.delta != "auto":
        if isinstance(owner.delta, str):
            raise ValueError(
                f"The 'delta' parameter of {name} must be 'auto' or a number. Got {owner.delta!r} instead."
            )
        require_fraction(name, "delta", owner.delta)
    require_fraction(name, "max_stop_error", owner.max_stop_error)
    delta = owner.max_stop_error if isinstance(owner.delta, str) else owner.delta
    require_between(name, "audit_rate", owner.audit_rate, 0, 1)
    if owner.delta == "auto" and owner.audit_rate == 0:
        raise ValueError(f"delta='auto' of {name} learns from audits: 'audit_rate' must not be 0.")
    require_integer(name, "warm_up", owner.warm_up, 16, MOST)
    require_integer(name, "ring_size", owner.ring_size, owner.warm_up, MOST_AUDITED)
    if owner.run_length is not None:
        require_integer(name, "run_length", owner.run_length, 1, MOST)
    if owner.attention == "budgeted":
        if owner.budget is None:
            raise ValueError(f"attention='budgeted' of {name} needs 'budget', the number of features to read.")
        require_integer(name, "budget", owner.budget, 1, MOST)
    order = owner.order if owner.order != "auto" else "weight" if constant else "selected"
    variance = owner.variance if owner.variance != "auto" else "empirical" if csr else "independent"
    rule = rule_of(owner)
    return {
        "attention": rule,
        "order": order,
        "variance": variance,
        "error": ERROR_OF[rule],
        # In standard deviations; a bridge of variance s^2 reaches s sqrt(log(1 / delta) / 2) with probability delta.
        "width": math.sqrt(-math.log(delta) / 2) if rule == "bridge" else float(-ndtri(delta)),
        "target": owner.max_stop_error if owner.delta == "auto" else 0.0,
        "audit_rate": float(owner.audit_rate) if owner.attention != "full" else 0.0,
        "budget": int(owner.budget or 0) if owner.attention == "budgeted" else 0,
        "warm_up": int(owner.warm_up),
        "ring": int(owner.ring_size),
        "unit": 0 if owner.run_length is None else int(owner.run_length),
        "line_offset": line_offset(),
        "costs": _costs(name, owner.feature_costs, n_features),
    }


@cache
def line_offset() -> int:
    """Bytes from the start of a cache line to the start of a large NumPy array.

    Runs of features are cut where the lines of such an array end. The offset is measured once, not for every array, so
    that the same rows give the same model wherever they lie in memory. It is measured on an array so large that memory
    is always mapped for it, because the address of a smaller one depends on what the process has freed before.
    """
    return int(np.empty(1 << 26, dtype=np.uint8).ctypes.data % 64)


def _costs(name: str, costs: ArrayLike | None, n_features: int) -> NDArray[np.float64] | None:
    if costs is None:
        return None
    must = f"The 'feature_costs' parameter of {name} must have one"
    try:
        array = np.ascontiguousarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{must} number for each feature. Got {costs!r} instead.") from None
    if array.shape != (n_features,):
        raise ValueError(
            f"{must} entry for each of the {n_features} features. Got an array of shape {array.shape} instead."
        )
    for cost in array:
        require_positive(name, "feature_costs", float(cost))
    return array
