"""Plan on one part of the rows and certify on the other: once, or several times to keep the cheapest plan."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._certifying import Promise, certified, seen_by
from ._fitting import Request, make_plan
from ._rows import take
from ._training import Rows, Split, split_rows
from .additive import AdditiveModel
from .plan import CostModel, Plan, live_shares
from .stopping import Certificate, Looks, Rule
from .stopping.binomial import most_disagreements, shared_confidence


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan with its thresholds and certificate, what it saw of the rows that gave it its shape, and its warnings."""

    plan: Plan
    shape: Looks
    certificate: Certificate
    cost: float
    told: list[warnings.WarningMessage]


def plan_and_certify(
    model: AdditiveModel,
    Z: Any,
    X: Any,
    rows: Rows,
    groups: ArrayLike | None,
    certificate_fraction: float,
    n_splits: int | str,
    request: Request,
    promise: Promise,
) -> Outcome:
    """Plan and certify, and keep the plan that costs least on the rows of its certificate.

    What planning warns about is passed on for the plan that is kept.

    Parameters
    ----------
    model : AdditiveModel
    Z : array or CSR
        Rows as the terms meet them.
    X : rows as the wrapped estimator takes them, the same as ``Z``
    rows : ndarray of int
        Which of them the model was not trained on.
    groups : array-like or None
        Of all rows.
    certificate_fraction : float
    n_splits : int or "auto"
        How many splits of the rows to try.
    request : Request
    promise : Promise
        Its ``n_splits`` is set here.
    """
    split = split_rows(rows, groups, certificate_fraction, request.rng)
    n_splits = _number(n_splits, promise, len(split.certificate if groups is None else _unique(groups, split)))
    promise = replace(promise, n_splits=n_splits)
    outcomes: list[Outcome] = []
    for i in range(n_splits):
        split = split if i == 0 else split_rows(rows, groups, certificate_fraction, request.rng)
        raw_shape, Z_shape = take(X, split.shape), Z[split.shape]
        require_rows(split, len(rows))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            plan = make_plan(model, Z[split.order], Z_shape, raw_shape, request)
        shape = seen_by(model, plan, Z_shape, raw_shape, request.n_threads)
        own_groups = None if groups is None else np.asarray(groups)[split.certificate]
        fresh = take(X, split.certificate)
        looks = None if proven(promise) else seen_by(model, plan, Z[split.certificate], fresh, request.n_threads)
        certificate, plan = certified(model, plan, shape, looks, own_groups, promise)
        cost = 0.0 if n_splits == 1 else _cost(plan, looks, request, model.terms.n_outputs)
        outcomes.append(Outcome(plan, shape, certificate, cost, told))
    kept = min(outcomes, key=lambda outcome: outcome.cost)
    for warning in kept.told:
        warnings.warn(warning.message, stacklevel=3)  # where fit was called
    return kept


def require_rows(split: Split, n_rows: int) -> None:
    """Raise ValueError where there is nothing to plan on."""
    if len(split.order) < 1 or len(split.shape) < 1:
        raise ValueError(
            f"fit has n_samples={n_rows} to plan and certify on (those that train an estimator not counted), of which "
            f"{len(split.order)} give order and readouts and {len(split.shape)} the looks: at least one of each is "
            "needed. Give more rows, or certificate_fraction a lower value."
        )


def proven(promise: Promise) -> bool:
    """Whether the promise holds by proof, so that nothing is counted."""
    return promise.rule.lossless and promise.risk is not None


def _unique(groups: ArrayLike, split: Split) -> NDArray[Any]:
    return np.unique(np.asarray(groups)[split.certificate])


def require_counted(n_splits: int | str, rule: Rule, risk: float | None) -> None:
    """Raise ValueError where several splits are asked for and nothing is certified by counting."""
    if not isinstance(n_splits, str) and n_splits > 1 and (risk is None or rule.lossless):
        raise ValueError(
            f"n_splits={n_splits} needs a promise that is certified by counting: a risk above 0 and a rule that is not "
            "lossless. Use n_splits=1 or 'auto'."
        )


def _number(n_splits: int | str, promise: Promise, n_certificate: int) -> int:
    """How many splits: "auto" takes a second one where the certificate may show as many disagreements with it."""
    if not isinstance(n_splits, str):
        return int(n_splits)
    if promise.risk is None or promise.rule.lossless or promise.protect != "all":
        return 1
    allowed = most_disagreements(n_certificate, promise.risk, promise.confidence)
    second = most_disagreements(n_certificate, promise.risk, shared_confidence(promise.confidence, 2))
    return 2 if 0 <= allowed == second else 1


def _cost(plan: Plan, rows: Looks | None, request: Request, n_outputs: int) -> float:
    """What a row of the certificate costs: by the user's own model, else in units.

    Measured times would make another choice every time.
    """
    model = request.cost if isinstance(request.cost, CostModel) else CostModel.of_units(plan.full_cost)
    if rows is None or plan.evaluate_all:
        return model.full
    live = live_shares(rows, plan.boundary, plan.q, plan.precision)
    return model.expected(plan.stage_terms, plan.stage_costs, live, n_outputs)
