"""Plan on one part of the rows and certify on the other, for one or more splits, and keep the cheapest plan."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np

from ...models import AdditiveModel
from ...plan import CertificateSize, CostModel, Plan, shares_reached
from ...stopping import Certificate, StageScores
from ...stopping.core.binomial import most_disagreements, shared_confidence
from ...utils.warn import warn_caller
from ..compiled.certification import (
    Promise,
    certificate_scores,
    certified,
    evaluating_everything,
    scores_at_stages,
    tried,
)
from ..compiled.rare_classes import rare_classes
from ..compiled.request import Request
from ..compiled.rows import Rows
from .costs import n_timed
from .data_split import Split
from .late_certificate import LateCertificate
from .planning import cannot_save_time, full_precision, make_plan, plan_without_stages, priced_units
from .racing import kept_if_faster

NOT_SLOWER = "evaluating everything is not slower"
#: Exits by proof, which need float64, are taken if they leave less than this share of the units: float32 takes half of
#: the time, and its rows near a tie are evaluated again.
LEFT_BY_PROOF = 0.5
#: Approximate shares of time, for the progress bar: of planning in a split, and of all splits in `fit`.
PLANNED, TIMED_FROM = 0.8, 0.9


@dataclass(frozen=True, eq=False)
class Outcome:
    """A plan with its thresholds and certificate, its scores of the validation rows, and its warnings.

    `trial` is the plan as the validation rows alone place it; by that one it is decided whether the plan pays.
    """

    trial: Plan
    plan: Plan
    validation: StageScores
    certificate: Certificate
    cost: float
    split: Split
    caught: list[warnings.WarningMessage]
    rare: str | None


def plan_and_certify(
    model: AdditiveModel,
    rows: Rows,
    draw: Callable[[], Split],
    n_splits: int | str,
    request: Request,
    promise: Promise,
    report: Callable[[str, float], None],
    late: LateCertificate | None = None,
) -> Outcome:
    """Plan and certify, and keep the plan that costs least on the rows of its certificate.

    Warnings of planning are issued for that plan only.

    Parameters
    ----------
    model : AdditiveModel
    rows : Rows
    draw : callable
        Draws a random split of the rows that the model was not trained on.
    n_splits : int or "auto"
        Number of splits to try.
    request : Request
    promise : Promise
        Its ``n_splits`` is set here.
    report : callable
        Reports the current step, and the share of the work that is done.
    late : LateCertificate or None, default=None
        Asks a model about the certificate rows, of one split.
    """
    first = draw()
    promise = replace(promise, n_splits=_n_splits(n_splits, promise, _n_independent(rows, first), model))
    if promise.risk is not None and cannot_save_time(model, rows, request):
        return _everything(model, first, rows, request, promise)
    splits = chain([first], (draw() for _ in range(promise.n_splits - 1)))
    outcomes = (
        _outcome(model, rows, split, request, promise, _part_of(report, k, promise.n_splits), late)
        for k, split in enumerate(splits)
    )
    kept = min(outcomes, key=lambda o: o.cost)
    if request.cost == "time":
        report("timing the plan against the model", TIMED_FROM)
        split = kept.split
        in_order = np.concatenate([split.validation, split.order, split.certificate])
        some = rows.take(in_order[: n_timed(model, len(in_order))]).raw
        certificate, plan = kept_if_faster(
            model, kept.certificate, kept.plan, kept.trial, kept.validation, some, promise, request.n_threads
        )
        kept = replace(kept, plan=plan, certificate=certificate)
    for warning in kept.caught:
        warn_caller(warning.message)
    if kept.rare is not None and kept.certificate.status == "certified":
        warn_caller(kept.rare)
    return kept


def _part_of(report: Callable[[str, float], None], k: int, n_splits: int) -> Callable[[str, float], None]:
    """Convert the progress of one split to the progress of all splits."""
    which = f", split {k + 1} of {n_splits}" if n_splits > 1 else ""
    return lambda name, done: report(name + which, TIMED_FROM * (k + done) / n_splits)


def _everything(model: AdditiveModel, split: Split, rows: Rows, request: Request, promise: Promise) -> Outcome:
    """Return the outcome of evaluating everything, without planning."""
    _require_rows(split, rows)
    some = rows.take(split.validation)
    plan = plan_without_stages(model, priced_units(model, some, request))
    validation = scores_at_stages(model, plan, some, request.n_threads)
    certificate, plan = evaluating_everything(model, plan, validation, promise, NOT_SLOWER)
    return Outcome(plan, plan, validation, certificate, 0.0, split, [], None)


def _outcome(
    model: AdditiveModel,
    rows: Rows,
    split: Split,
    request: Request,
    promise: Promise,
    report: Callable[[str, float], None],
    late: LateCertificate | None,
) -> Outcome:
    _require_rows(split, rows)
    report("planning", 0.0)
    validation_rows, n_certificate = rows.take(split.validation), _n_independent(rows, split)
    n_certificate = n_certificate if late is None else late.likely_size(n_certificate, promise)
    size = CertificateSize(n_certificate, shared_confidence(promise.confidence, promise.n_splits))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = make_plan(model, rows.take(split.order), validation_rows, request, size)
    validation = scores_at_stages(model, plan, validation_rows, request.n_threads)
    report("certifying", PLANNED)
    certificate_rows = rows.take(split.certificate)
    if late is not None:
        made = late.certified(model, plan, validation, certificate_rows, split.certificate, promise, request.n_threads)
        told = model, made.certificate, made.plan, made.scores
        rare = rare_classes(*told, estimated=True)
        return Outcome(made.trial, made.plan, validation, made.certificate, 0.0, split, caught, rare)
    scores = certificate_scores(model, plan, certificate_rows, promise, request.n_threads)
    trial = tried(model, plan, validation, size, promise)
    certificate, plan = certified(model, trial, validation, scores, certificate_rows.groups, promise)
    if _rather_in_single(model, plan, validation_rows, request, promise):
        trial = plan_without_stages(model, priced_units(model, validation_rows, request), "float32")
        validation = scores_at_stages(model, trial, validation_rows, request.n_threads)
        certificate, plan = evaluating_everything(model, trial, validation, promise, NOT_SLOWER)
    cost = 0.0 if promise.n_splits == 1 else _cost(plan, scores, request, model.terms.n_outputs)
    rare = rare_classes(model, certificate, plan, scores)
    return Outcome(trial, plan, validation, certificate, cost, split, caught, rare)


def _rather_in_single(model: AdditiveModel, plan: Plan, rows: Rows, request: Request, promise: Promise) -> bool:
    """Whether everything is better evaluated in float32 than by a plan whose exits need float64."""
    by_proof = request.rule.needs.lossless and promise.risk is not None
    if not by_proof or request.cost != "time" or "float32" not in model.terms.planning.precisions:
        return False
    units = CostModel.of_units(plan.full_cost)
    left = 1.0
    if not plan.evaluate_all:
        left = units.expected(plan.stage_terms, plan.stage_costs, plan.reached, model.terms.n_outputs) / units.full
    return left >= LEFT_BY_PROOF and full_precision(model, rows, request.n_threads) == "float32"


def _require_rows(split: Split, rows: Rows) -> None:
    """Raise ValueError if there are no rows to plan on."""
    order, validation, n_samples = len(split.order), len(split.validation), len(rows)
    if order < 1 or validation < 1:
        if rows.groups is not None:
            counts = [len(np.unique(rows.groups[part])) for part in (split.order, split.validation, split.certificate)]
            raise ValueError(
                f"fit has too few groups: of {sum(counts)} that plan and certify, {counts[0]} give order and readouts "
                f"and {counts[1]} choose the stages, and at least one of each is needed. Give rows of more groups; "
                "wald.stopping.rows_needed says how many a promise takes, one row of each."
            )
        raise ValueError(
            f"fit has n_samples={n_samples}, of which {order + validation + len(split.certificate)} plan and certify "
            f"(the others train an estimator): {order} give order and readouts and {validation} choose the stages, and "
            "at least one of each is needed. Give more rows; wald.stopping.rows_needed says how many a promise takes."
        )


def certificate_share(fraction: float | str, model: AdditiveModel) -> float:
    """Share of the rows kept for the certificate."""
    if not isinstance(fraction, str):
        return float(fraction)
    return model.terms.planning.certificate_share


def _n_independent(rows: Rows, split: Split) -> int:
    """Number of independent certificate rows: one for each group, if there are groups."""
    return len(split.certificate if rows.groups is None else np.unique(rows.groups[split.certificate]))


def _n_splits(n_splits: int | str, promise: Promise, n_certificate: int, model: AdditiveModel) -> int:
    """Number of splits: "auto" is the largest that costs no allowed disagreement.

    Models with more than two `most_splits` also use them if even two splits would cost the only allowed disagreement.
    """
    if not isinstance(n_splits, str):
        return int(n_splits)
    risk = promise.risk
    if (
        risk is None
        or promise.reference == "labels"
        or promise.rule.needs.lossless
        or promise.about(model).about != "all"
    ):
        return 1

    def allowed(splits: int) -> int:
        return most_disagreements(n_certificate, risk, shared_confidence(promise.confidence, splits))

    most = model.terms.planning.most_splits
    for splits in sorted({most, 2}, reverse=True):
        if splits <= most and 0 <= allowed(splits) == allowed(1):
            return splits
    return most if most > 2 and (allowed(most), allowed(1)) == (0, 1) else 1


def _cost(plan: Plan, rows: StageScores | None, request: Request, n_outputs: int) -> float:
    """Mean cost of the certificate rows by the user's cost model, else in units.

    Measured times are not used, because the choice would not be reproducible. What dropped classes and shared columns
    save is not counted.
    """
    model = request.cost if isinstance(request.cost, CostModel) else CostModel.of_units(plan.full_cost)
    if rows is None or plan.evaluate_all:
        return model.full
    reached = shares_reached(rows, plan.boundary, plan.q, plan.precision)
    return model.expected(plan.stage_terms, plan.stage_costs, reached, n_outputs)
