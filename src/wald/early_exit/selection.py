"""Plan on one part of the rows and certify on the other: once, or several times to keep the cheapest plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..engine.rows import take
from ..models import AdditiveModel, LinearTerms
from ..plan import CostModel, Plan, live_shares
from ..stopping import Certificate, Looks
from ..stopping.binomial import most_disagreements, shared_confidence
from .certification import Promise, certificate_looks, certified, evaluating_everything, rare_classes, seen_by
from .data_split import Split
from .planning import Request, cannot_pay, make_plan, n_timed, plan_without_stages
from .racing import kept_if_faster

#: Shares of the time of `fit`, roughly: of a split, what planning takes; of everything, what comes before the timing.
PLANNED, TIMED_FROM = 0.8, 0.9


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan with its thresholds and certificate, what it saw of the rows that gave it its shape, and its warnings."""

    plan: Plan
    shape: Looks
    certificate: Certificate
    cost: float
    split: Split
    told: list[warnings.WarningMessage]
    rare: str | None


def plan_and_certify(
    model: AdditiveModel,
    Z: Any,
    X: Any,
    groups: ArrayLike | None,
    draw: Callable[[], Split],
    n_splits: int | str,
    request: Request,
    promise: Promise,
    tell: Callable[[str, float], None],
) -> Outcome:
    """Plan and certify, and keep the plan that costs least on the rows of its certificate.

    What planning warns about is passed on for the plan that is kept.

    Parameters
    ----------
    model : AdditiveModel
    Z : array or CSR
        Rows as the terms meet them.
    X : rows as the wrapped estimator takes them, the same as ``Z``
    groups : array-like or None
        Of the same rows.
    draw : callable
        Splits the rows that the model was not trained on, another way at every call.
    n_splits : int or "auto"
        How many splits of the rows to try.
    request : Request
    promise : Promise
        Its ``n_splits`` is set here.
    tell : callable
        Told what is done from now on, and which share of everything is done already.
    """
    groups = None if groups is None else np.asarray(groups)
    first = draw()
    n_independent = len(first.certificate if groups is None else np.unique(groups[first.certificate]))
    promise = replace(promise, n_splits=_number(n_splits, promise, n_independent, model))
    if promise.risk is not None and cannot_pay(model, Z, request):
        return _everything(model, first, Z, X, request, promise)
    splits = chain([first], (draw() for _ in range(promise.n_splits - 1)))
    outcomes = (
        _outcome(model, Z, X, groups, split, request, promise, _part_of(tell, k, promise.n_splits))
        for k, split in enumerate(splits)
    )
    kept = min(outcomes, key=lambda o: o.cost)
    if request.cost == "time":
        tell("timing the plan beside the model", TIMED_FROM)
        rows = np.concatenate([kept.split.shape, kept.split.order, kept.split.certificate])
        some = take(X, rows[: n_timed(model, len(rows))])
        certificate, plan = kept_if_faster(
            model, kept.certificate, kept.plan, kept.shape, some, promise, request.n_threads
        )
        kept = replace(kept, plan=plan, certificate=certificate)
    for warning in kept.told:
        warnings.warn(warning.message, stacklevel=3)  # where fit was called
    if kept.rare is not None and kept.certificate.status == "certified":  # and still in use
        warnings.warn(kept.rare, UserWarning, stacklevel=3)
    return kept


def _part_of(tell: Callable[[str, float], None], k: int, n_splits: int) -> Callable[[str, float], None]:
    """Tell of one split of several as of a part of everything."""
    which = f", split {k + 1} of {n_splits}" if n_splits > 1 else ""
    return lambda name, done: tell(name + which, TIMED_FROM * (k + done) / n_splits)


def _everything(model: AdditiveModel, split: Split, Z: Any, X: Any, request: Request, promise: Promise) -> Outcome:
    """Evaluate everything, without looking for a plan."""
    _require_rows(split)
    plan = plan_without_stages(model)
    shape = seen_by(model, plan, Z[split.shape], take(X, split.shape), request.n_threads)
    certificate, plan = evaluating_everything(plan, shape, promise, "evaluating everything is not slower")
    return Outcome(plan, shape, certificate, 0.0, split, [], None)


def _outcome(
    model: AdditiveModel,
    Z: Any,
    X: Any,
    groups: NDArray[Any] | None,
    split: Split,
    request: Request,
    promise: Promise,
    tell: Callable[[str, float], None],
) -> Outcome:
    _require_rows(split)
    tell("planning", 0.0)
    raw_shape, Z_shape = take(X, split.shape), Z[split.shape]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        plan = make_plan(model, Z[split.order], Z_shape, raw_shape, request)
    shape = seen_by(model, plan, Z_shape, raw_shape, request.n_threads)
    tell("certifying", PLANNED)
    raw, Z_certificate = take(X, split.certificate), Z[split.certificate]
    rows = certificate_looks(model, plan, Z_certificate, raw, promise, request.n_threads)
    own_groups = None if groups is None else groups[split.certificate]
    certificate, plan = certified(model, plan, shape, rows, own_groups, promise)
    cost = 0.0 if promise.n_splits == 1 else _cost(plan, rows, request, model.terms.n_outputs)
    return Outcome(plan, shape, certificate, cost, split, told, rare_classes(model, certificate, plan, rows))


def _require_rows(split: Split) -> None:
    """Raise ValueError where there is nothing to plan on."""
    order, shape = len(split.order), len(split.shape)
    if order < 1 or shape < 1:
        raise ValueError(
            f"fit has n_samples={order + shape + len(split.certificate)} to plan and certify on (those that train an "
            f"estimator not counted), of which {order} give order and readouts and {shape} the looks: at least one of "
            "each is needed. Give more rows, or certificate_fraction a lower value."
        )


def certificate_share(fraction: float | str, model: AdditiveModel) -> float:
    """Share of the rows kept for the certificate."""
    if not isinstance(fraction, str):
        return float(fraction)
    return 0.6 if isinstance(model.terms, LinearTerms) else 0.5


def _number(n_splits: int | str, promise: Promise, n_certificate: int, model: AdditiveModel) -> int:
    """How many splits: "auto" takes more than one where the certificate may show as many disagreements with them.

    Linear models, which plan on few rows, try up to five: also where these lose the one row that might disagree, and
    two would lose it, too.
    """
    if not isinstance(n_splits, str):
        return int(n_splits)
    risk = promise.risk
    if risk is None or promise.rule.lossless or promise.protect != "all":
        return 1

    def allowed(splits: int) -> int:
        return most_disagreements(n_certificate, risk, shared_confidence(promise.confidence, splits))

    linear = isinstance(model.terms, LinearTerms)
    for splits in (5, 2) if linear else (2,):
        if 0 <= allowed(splits) == allowed(1):
            return splits
    return 5 if linear and (allowed(5), allowed(1)) == (0, 1) else 1


def _cost(plan: Plan, rows: Looks | None, request: Request, n_outputs: int) -> float:
    """What a row of the certificate costs: by the user's own model, else in units.

    Measured times would make another choice every time.
    """
    model = request.cost if isinstance(request.cost, CostModel) else CostModel.of_units(plan.full_cost)
    if rows is None or plan.evaluate_all:
        return model.full
    live = live_shares(rows, plan.boundary, plan.q, plan.precision)
    return model.expected(plan.stage_terms, plan.stage_costs, live, n_outputs)
