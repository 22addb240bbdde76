"""Plans and their stage scores on the validation rows, as arrays and header fields."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..models import AdditiveModel, Surrogates
from ..plan import CostModel, Plan, Readout
from ..stopping import Boundary, Certificate, StageScores
from . import values
from .arrays import Arrays, Floats, Stock, require
from .header import Section, number

COLUMNS = ("low_center", "low_scale", "high_center", "high_scale")
LONG, CODE = ("int64",), ("int32",)
MOST_STAGES, MOST_BLOCK, MOST_SUMS = 10_000, 4096, 1024


def encode_plan(plan: Plan, arrays: Arrays) -> dict[str, Any]:
    """Describe a plan, and put its arrays into ``arrays``. The weights of all readouts form one array."""
    n_outputs = len(plan.readouts[0].bias) if plan.readouts else 1
    arrays |= {
        "order": plan.order,
        "terms": plan.terms,
        "stages": plan.stages,
        "stage_terms": plan.stage_terms,
        "stage_costs": plan.stage_costs,
        "live": plan.reached,
        "readout.weights": np.concatenate([np.empty(0), *(np.ravel(r.weights) for r in plan.readouts)]),
        "readout.bias": np.array([r.bias for r in plan.readouts]).reshape(plan.n_stages, n_outputs),
        "surrogates": plan.surrogates.vectors,
    }
    arrays |= {f"boundary.{name}": getattr(plan.boundary, name) for name in COLUMNS}
    sums = plan.readouts[0].sums if plan.readouts else None
    if sums is not None:
        arrays["readout.sums"] = sums[:, : plan.stage_terms[-1]]
        arrays["readout.mixture"] = np.array([r.mixture for r in plan.readouts]).reshape(plan.n_stages, -1)
    return {
        **({} if sums is None else {"n_sums": len(sums)}),
        "q": number(plan.q),
        "precision": plan.precision,
        "evaluate_all": bool(plan.evaluate_all),
        "linear_surrogates": bool(plan.surrogates.linear),
        "cost_model": values.encode(plan.cost_model, arrays, "cost_model"),
    }


def decode_plan(section: Section, stock: Stock, model: AdditiveModel) -> Plan:
    """Read and check the plan of a model."""
    n_terms, n_outputs = model.terms.n_terms, model.terms.n_outputs
    surrogates = _decode_surrogates(section, stock, model)
    n_surrogates = len(surrogates.vectors)
    n_all = n_terms + n_surrogates
    terms = stock.integers("terms", LONG, None, low=0, high=n_all)
    order = stock.integers("order", LONG, None, low=-n_surrogates, high=n_terms)
    for name, column in (("terms", terms), ("order", order)):
        require(len(np.unique(column)) == len(column), f"the array {name!r} names something twice")
    stage_terms = stock.integers("stage_terms", LONG, None, low=0, high=len(terms) + 1)
    n_stages = len(stage_terms)
    require(n_stages <= MOST_STAGES, f"there are {n_stages} stages; at most {MOST_STAGES} are allowed")
    stages = stock.integers("stages", LONG, n_stages + 1, low=0, high=n_all + 1)
    require(n_stages == 0 or stages[-2] <= len(order), "the array 'stages' goes beyond the order")
    costs = stock.floats("stage_costs", n_stages + 1, low=0.0)
    for name, column in (("stage_terms", stage_terms), ("stages", stages), ("stage_costs", costs[:-1])):
        require(np.all(column[:-1] <= column[1:]), f"the array {name!r} falls")
    # the last cost is summed in another order, and so rounded otherwise
    require(n_stages == 0 or costs[-2] <= costs[-1] * (1 + 1e-9), "the array 'stage_costs' falls at its end")
    reached = stock.floats("live", n_stages + 1, low=0.0)
    require(np.all(reached <= 1) and np.all(reached[:-1] >= reached[1:]), "the array 'live' does not fall from 1 to 0")
    cost_model = values.decode(section.take("cost_model"), stock, "cost_model", CostModel)
    require(cost_model.block <= MOST_BLOCK, "cost_model.block is out of range")
    require(cost_model.rows_per_line <= MOST_BLOCK, "cost_model.rows_per_line is out of range")
    most_sums = MOST_SUMS if model.terms.keeps_sums else 0
    n_sums = section.integer("n_sums", 1, most_sums) if "n_sums" in section else 0
    plan = Plan(
        order=order,
        terms=terms,
        stages=stages,
        stage_terms=stage_terms,
        stage_costs=costs,
        readouts=_decode_readouts(stock, stage_terms.tolist(), n_outputs, n_sums),
        boundary=Boundary(*(stock.floats(f"boundary.{n}", n_stages, finite="scale" in n) for n in COLUMNS)),
        q=section.number("q", 0.0, finite=False),
        reached=reached,
        surrogates=surrogates,
        precision=section.choice("precision", ("float32", "float64")),
        evaluate_all=section.flag("evaluate_all"),
        cost_model=cost_model,
    )
    section.done()
    known = plan.precision in model.terms.precisions
    require(known, f"a {model.terms.description} does not compute in {plan.precision}")
    _reserve(stock, model, plan)
    return plan


def _reserve(stock: Stock, model: AdditiveModel, plan: Plan) -> None:
    """Reserve memory for the terms and the stages as the engine packs them."""
    terms, stage_terms = model.terms, plan.stage_terms.tolist()
    needed = terms.packed_bytes(len(plan.surrogates.vectors), plan.precision)
    stock.room.reserve(needed, terms.packed_size)
    stock.room.reserve(terms.stages_bytes(stage_terms), f"{plan.n_stages} stages")


def _decode_surrogates(section: Section, stock: Stock, model: AdditiveModel) -> Surrogates:
    vectors = stock.floats("surrogates", None, None)
    width = model.terms.n_features if model.terms.surrogate_candidates else -1
    require(vectors.shape in ((0, 0), (len(vectors), width)), "the array 'surrogates' does not fit")
    return Surrogates(vectors, linear=section.flag("linear_surrogates"))


def _decode_readouts(stock: Stock, stage_terms: list[int], n_outputs: int, n_sums: int) -> tuple[Readout, ...]:
    weights = stock.floats("readout.weights", n_outputs * sum(stage_terms))
    bias = stock.floats("readout.bias", len(stage_terms), n_outputs if stage_terms else None)
    parts = np.split(weights, np.cumsum([n_outputs * m for m in stage_terms]))
    sums: Floats | None = None
    mixtures: list[Floats | None] = [None] * len(stage_terms)
    if n_sums:
        require(stage_terms, "there are running sums, and no stages")
        sums = stock.floats("readout.sums", n_sums, stage_terms[-1])
        flat = stock.floats("readout.mixture", len(stage_terms), n_outputs * n_sums)
        mixtures = list(flat.reshape(-1, n_outputs, n_sums))
    return tuple(
        Readout(part.reshape(n_outputs, m), start, sums, mixture)
        for part, m, start, mixture in zip(parts[:-1], stage_terms, bias, mixtures, strict=True)
    )


# ---- stage scores on the validation rows -----------------------------------------------------------------------------


def encode_stage_scores(stage_scores: StageScores, arrays: Arrays) -> None:
    """Put the stage scores of the validation rows into ``arrays``, under names that begin with "looks."."""
    for name in ("full", "scores", "codes", "confidence"):
        column = getattr(stage_scores, name)
        if column is not None:
            arrays[f"looks.{name}"] = column


def decode_stage_scores(stock: Stock, model: AdditiveModel, plan: Plan) -> StageScores:
    """Read the stage scores of the validation rows."""
    n_classes = model.decision.n_classes
    full = stock.integers("looks.full", CODE, None, low=0, high=n_classes)
    if model.decision.n_outputs == 1:  # scores may be NaN; such a row never exits
        return StageScores(full=full, scores=stock.take("looks.scores", (plan.precision,), len(full), plan.n_stages))
    return StageScores(
        full=full,
        codes=stock.integers("looks.codes", CODE, len(full), plan.n_stages, low=0, high=n_classes),
        confidence=stock.take("looks.confidence", (plan.precision,), len(full), plan.n_stages),
    )


def check_promise(certificate: Certificate, plan: Plan, by_proof: bool, lossless: bool) -> None:
    """Refuse a certificate that belongs to another plan, or says "lossless" of a plan without a lossless rule.

    Parameters
    ----------
    certificate : Certificate
    plan : Plan
    by_proof : bool
        Whether the wrapped model decides every row whose label is not proven.
    lossless : bool
        Whether the rule is lossless.
    """
    values.check_certificate(certificate)
    early = certificate.status in ("certified", "lossless", "measured")
    q = certificate.q if certificate.status == "certified" else 1.0 if early else np.inf
    agree = plan.q == q and plan.evaluate_all == (not early)
    require(agree, f"a plan with q={plan.q:g} does not go with a certificate of status {certificate.status!r}")
    proof = certificate.status in ("lossless", "full")
    require(proof or not by_proof, f"exits by proof do not go with a certificate of status {certificate.status!r}")
    if certificate.status == "lossless" and certificate.void is None:
        require(lossless, "a certificate that no row can differ does not go with a rule that is not lossless")
        require(certificate.verify(plan.boundary), "a certificate that no row can differ has thresholds that q moves")
