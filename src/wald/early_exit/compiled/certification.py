"""Certification of a plan on held-out rows, and the thresholds that the certificate allows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_random_state

from ...models import AdditiveModel
from ...models.packing import pack
from ...models.planning import Rest
from ...plan import CertificateSize, Plan, boldest, shares_reached
from ...stopping import Certificate, Rule, StageScores, certify, measure, q_grid
from ...stopping.core.certificate import Reference
from ...stopping.core.risks import Promised, Risk, largest, promised
from ...stopping.core.strata import renamed
from .parameters import Parameters, checked_rule
from .planner import planner_of, require_sides
from .rows import Rows
from .stage_tables import full_answers, stage_scores

COSTS_NO_MORE = "evaluating everything costs no more"
#: A plan is kept if it pays at thresholds that its certificate will allow with this probability. The validation rows
#: give the estimate.
LIKELY = 0.9
#: Few validation rows say little of these thresholds. If a plan could cost more than the model, its expected cost is
#: therefore divided by 1 - FEW_ROWS / sqrt(n), for n validation rows, before it is compared with the model's.
FEW_ROWS = 1.5
#: Number of certificate rows that the engine evaluates at a time.
PIECE_ROWS = 32_768


@dataclass(frozen=True, eq=False)
class Promise:
    """The requested promise, and the rule whose boundary the certificate scales."""

    rule: Rule
    given_risk: Risk  # as a parameter
    confidence: float
    seed: int
    given_rule: Any = "ladder"  # as a parameter
    n_splits: int = 1
    reference: Reference = "model"

    @classmethod
    def of(cls, given: Parameters, grouped: bool) -> Promise:
        """Check and read the parameters of an estimator; where `grouped`, a seed draws one row of each group."""
        seed = int(check_random_state(given.random_state).randint(2**31 - 1)) if grouped else 0
        made = cls(checked_rule(given), given.promised_risk, given.confidence, seed, planner_of(given).rule)
        return replace(made, reference=getattr(given, "reference", "model"))

    @property
    def risk(self) -> float | None:
        """The bound for all rows."""
        return largest(self.given_risk)

    def risk_in_words(self, model: AdditiveModel) -> Risk:
        """The risk with what people call the labels."""
        given = self.given_risk
        if not isinstance(given, Mapping):
            return given
        return {renamed(stratum, model.words.names): bound for stratum, bound in given.items()}

    def about(self, model: AdditiveModel) -> Promised:
        """The strata of the promise, by the model's codes."""
        found = promised(self.risk_in_words(model), model.words.names_of(model.strata), model.words.kind)
        early = next((line.name for line in found.lines if line.early), None)
        if early is not None and self.reference == "labels":
            raise ValueError(
                f"risk bounds the {early}, and the model gives this answer to other rows: with reference='labels', "
                "name the true labels of rows."
            )
        require_sides(self.rule, found.sides)
        return found


def require_proof(made: Promise, plan: Plan, wanted: Promise) -> None:
    """Refuse a lossless promise for a plan, unless a lossless rule made it."""
    if wanted.risk is None or not wanted.rule.needs.lossless or (made.rule.needs.lossless and plan.boundary.fixed):
        return
    raise ValueError(
        f"recertify cannot promise risk={wanted.risk!r} by proof: the exits of this plan were not placed by a lossless "
        "rule. Call fit with that risk, or recertify with a risk that rows can back."
    )


def scores_at_stages(model: AdditiveModel, plan: Plan, rows: Rows, n_threads: int) -> StageScores:
    """Scores of rows at every stage of the plan, with the full model's labels, and true ones where these are known."""
    packed = pack(model.terms, plan.terms, plan.surrogates, plan.precision)
    parts = [
        stage_scores(model, packed, plan.early, some, full_answers(model, packed, some, n_threads), n_threads)
        for some in rows.pieces(PIECE_ROWS)
    ]
    scores = parts[0] if len(parts) == 1 else StageScores.concatenated(parts)
    return scores if rows.truth is None else replace(scores, truth=rows.truth)


def certificate_scores(
    model: AdditiveModel, plan: Plan, rows: Rows, promise: Promise, n_threads: int
) -> StageScores | None:
    """Stage scores of the certificate rows; None if the promise is lossless, so that nothing is counted."""
    by_proof = promise.rule.needs.lossless and promise.risk is not None
    return None if by_proof else scores_at_stages(model, plan, rows, n_threads)


def tried(
    model: AdditiveModel,
    plan: Plan,
    validation: StageScores,
    size: CertificateSize,
    promise: Promise,
    least_q: float = 0.0,
) -> Plan:
    """Set the thresholds that the certificate is likely to allow, and decide whether the plan pays.

    The validation rows give the estimate, and the certificate is made afterwards. If the certificate itself decided
    whether a plan is kept, plans whose certificate is too bold by chance would be kept more often. Bolder scales than
    `least_q` will not be tested.

    Returns
    -------
    Plan
        It evaluates everything if the plan does not pay there by its own cost model.
    """
    q = max(least_q, boldest(validation, plan.boundary, promise.rule, promise.about(model), size, LIKELY))
    plan = plan.at(q, shares_reached(validation, plan.boundary, q, plan.precision), evaluate_all=False)
    if promise.risk is None:  # the rule is used as published
        return plan
    costs, expected = plan.cost_model, expected_cost(model, plan, promise)
    if expected_cost(model, replace(plan, reached=np.ones_like(plan.reached)), promise) > costs.full:
        expected /= 1.0 - FEW_ROWS / math.sqrt(max(3, validation.n_rows))
    return replace(plan, evaluate_all=not costs.worthwhile(expected))


def certified(
    model: AdditiveModel,
    trial: Plan,
    validation: StageScores,
    rows: StageScores | None,
    groups: ArrayLike | None,
    promise: Promise,
    grid: ArrayLike | None = None,
) -> tuple[Certificate, Plan]:
    """Certify a plan and set its thresholds.

    Parameters
    ----------
    model : AdditiveModel
    trial : Plan
        From `tried`.
    validation : StageScores
        Stage scores of the validation rows, which determine the grid of scales and the expected costs.
    rows : StageScores or None
        Stage scores of the certificate rows, from `certificate_scores`.
    groups : array-like or None
        Group of each certificate row.
    promise : Promise
    grid : array-like or None, default=None
        The scales that are tested; None: those of `q_grid`, for the validation rows.

    Returns
    -------
    certificate : Certificate
    plan : Plan
        With the certified thresholds. It evaluates everything if the trial does, or if nothing could be certified.
    """
    grid = q_grid(validation, trial.boundary) if grid is None else grid
    certificate = _certificate(model, trial, grid, rows, groups, promise)
    q = 1.0 if certificate.status in ("lossless", "measured") else certificate.q
    if np.isfinite(q) and trial.evaluate_all:
        in_time = trial.cost_model.margin < 1
        reason = "evaluating everything is not slower" if in_time else COSTS_NO_MORE
        return evaluating_everything(model, trial, validation, promise, reason)
    reached = shares_reached(validation, trial.boundary, q, trial.precision)
    return certificate, trial.at(q, reached, evaluate_all=not np.isfinite(q))


def in_full(model: AdditiveModel) -> str:
    """Reason of a certificate with the risk 0 without early exits: who evaluates every row in full."""
    return "every row is evaluated in full" + " by wald's engine" * model.serves_full


def evaluating_everything(
    model: AdditiveModel, plan: Plan, validation: StageScores, promise: Promise, reason: str
) -> tuple[Certificate, Plan]:
    """Replace a plan by one that evaluates everything, with a certificate that gives the reason."""
    reached = shares_reached(validation, plan.boundary, np.inf, plan.precision)
    unused = Certificate.full_evaluation(
        in_full(model) if promise.risk == 0 else reason, promise.risk, promise.confidence, model.event
    )
    return unused, plan.at(np.inf, reached, evaluate_all=True)


def expected_cost(model: AdditiveModel, plan: Plan, promise: Promise) -> float:
    """Expected cost of a row under a plan with its thresholds."""
    costs = plan.cost_model
    if promise.rule.needs.lossless and model.terms.planning.rest is Rest.MODEL:  # undecided rows take no further terms
        costs = replace(costs, finish=costs.full)
    return costs.expected(plan.stage_terms, plan.stage_costs, plan.reached, model.terms.n_outputs)


def _certificate(
    model: AdditiveModel,
    plan: Plan,
    grid: ArrayLike,
    rows: StageScores | None,
    groups: ArrayLike | None,
    promise: Promise,
) -> Certificate:
    if rows is None:
        if not plan.boundary.fixed:
            raise ValueError(
                f"{promise.rule!r} says lossless=True, and its boundary has scales, so that thresholds move with q: a "
                "proof has none. See wald.stopping.check_stopping_rule."
            )
        return Certificate.lossless()
    if promise.risk is None:
        return measure(
            rows,
            plan.boundary,
            risk=promise.risk_in_words(model),
            confidence=promise.confidence,
            groups=groups,
            classes=model.words.names_of(model.strata),
            random_state=promise.seed,
            event=model.event,
            kind=model.words.kind,
        )
    return certify(
        rows,
        plan.boundary,
        risk=promise.risk_in_words(model),
        confidence=promise.confidence,
        q_grid=grid,
        groups=groups,
        classes=model.words.names_of(model.strata),
        random_state=promise.seed,
        n_splits=promise.n_splits,
        event=model.event,
        kind=model.words.kind,
    )
