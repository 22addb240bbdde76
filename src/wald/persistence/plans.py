"""Plans and their stage scores on the validation rows, as arrays and header fields."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core
from ..codec.arrays import Arrays, Ints, Stock, require
from ..codec.header import Section, number
from ..engine import Readout, RunningSums, Stages
from ..models import AdditiveModel, Surrogates
from ..models.packing import memory
from ..models.protocols import Summed
from ..plan import CostModel, PassTimes, Plan
from ..stopping import Boundary, Certificate, StageScores
from ..utils.stage_table import StageTable
from . import values

COLUMNS = ("low_center", "low_scale", "high_center", "high_scale")
LONG, CODE = ("int64",), ("int32",)
MOST_STAGES, MOST_BLOCK, MOST_SUMS = 10_000, 4096, 64
MOST_RACE = _core.LIMITS["race_classes"]


def encode_plan(plan: Plan, arrays: Arrays) -> dict[str, Any]:
    """Describe a plan, and put its arrays into ``arrays``. The weights of all readouts form one array."""
    early = plan.early
    n_outputs = len(early.readouts[0].bias) if len(early) else 1
    arrays |= {
        "order": plan.order,
        "terms": plan.terms,
        "stages": plan.stages,
        "stage_terms": plan.stage_terms,
        "stage_costs": plan.stage_costs,
        "reached": plan.reached,
        "readout.weights": np.concatenate([np.empty(0), *(np.ravel(r.weights) for r in early.readouts)]),
        "readout.bias": np.array([r.bias for r in early.readouts]).reshape(plan.n_stages, n_outputs),
        "surrogates": plan.surrogates.vectors,
    }
    arrays |= {f"boundary.{name}": getattr(plan.boundary, name) for name in COLUMNS}
    return {
        "sums": _encode_sums(early, arrays),
        "q": number(plan.q),
        "precision": plan.precision,
        "evaluate_all": bool(plan.evaluate_all),
        "linear_surrogates": bool(plan.surrogates.linear),
        "cost_model": values.encode(plan.cost_model, arrays, "cost_model"),
    }


def decode_plan(section: Section, stock: Stock, model: AdditiveModel) -> Plan:
    """Read and check the plan of a model."""
    n_terms = model.terms.n_terms
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
    reached = stock.floats("reached", n_stages + 1, low=0.0)
    falls = np.all(reached <= 1) and np.all(reached[:-1] >= reached[1:])
    require(falls, "the array 'reached' does not fall from 1 to 0")
    cost_model = _decode_costs(section.take("cost_model"), stock, n_stages)
    plan = Plan(
        order=order,
        terms=terms,
        stages=stages,
        stage_costs=costs,
        early=_decode_early(section.take("sums"), stock, stage_terms, model),
        boundary=Boundary(*(stock.floats(f"boundary.{n}", n_stages, finite="scale" in n) for n in COLUMNS)),
        q=section.number("q", 0.0, finite=False),
        reached=reached,
        surrogates=surrogates,
        precision=section.choice("precision", ("float32", "float64")),
        evaluate_all=section.flag("evaluate_all"),
        cost_model=cost_model,
    )
    section.done()
    known = plan.precision in model.terms.planning.precisions
    require(known, f"a {model.terms.description} does not compute in {plan.precision}")
    _reserve(stock, model, plan)
    return plan


def _reserve(stock: Stock, model: AdditiveModel, plan: Plan) -> None:
    """Reserve memory for the terms and the stages as the engine packs them."""
    for needed, what in memory(model.terms, len(plan.surrogates.vectors), plan.precision, plan.stage_terms.tolist()):
        stock.room.reserve(needed, what)


def _decode_surrogates(section: Section, stock: Stock, model: AdditiveModel) -> Surrogates:
    vectors = stock.floats("surrogates", None, None)
    width = model.terms.n_features if model.terms.planning.surrogate_candidates else -1
    require(vectors.shape in ((0, 0), (len(vectors), width)), "the array 'surrogates' does not fit")
    return Surrogates(vectors, linear=section.flag("linear_surrogates"))


def _decode_costs(raw: Any, stock: Stock, n_stages: int) -> CostModel | PassTimes:
    costs: CostModel | PassTimes = values.decode(raw, stock, "cost_model", CostModel | PassTimes)
    if isinstance(costs, PassTimes):
        require(len(costs.stages) == n_stages, "cost_model.stages does not have one time for each stage")
        return costs
    require(costs.block <= MOST_BLOCK, "cost_model.block is out of range")
    require(costs.rows_per_line <= MOST_BLOCK, "cost_model.rows_per_line is out of range")
    return costs


# ---- stages ----------------------------------------------------------------------------------------------------------


def _encode_sums(early: Stages, arrays: Arrays) -> dict[str, Any] | None:
    """Describe running sums, passes and the race, and put their arrays into ``arrays``; None without sums."""
    sums = early.sums
    if sums is None or len(early) == 0:
        return None
    corrections = [np.zeros(0, dtype=np.float32) if c is None else c for c in sums.corrections]
    arrays |= {
        "sums.ends": sums.ends,
        "sums.weights": np.concatenate([row[:end] for row, end in zip(sums.weights, sums.ends, strict=True)]),
        "sums.corrections": np.concatenate(corrections),
        "sums.first_correction": np.cumsum([0, *map(len, corrections)], dtype=np.int64),
    }
    spread = [r.spread for r in early.readouts if r.spread is not None]
    if spread:
        arrays["readout.spread"] = np.array(spread)
        arrays["readout.spread_bias"] = np.array([r.spread_bias for r in early.readouts])
    if early.passes is not None:
        arrays["passes"] = early.passes
    if early.race is not None:
        arrays["race"] = np.asarray(early.race, dtype=np.float64)
    flags = {"spread": bool(spread), "passes": early.passes is not None, "race": early.race is not None}
    return {"n_sums": len(sums.ends), **flags}


def _decode_early(raw: Any, stock: Stock, stage_terms: Ints, model: AdditiveModel) -> Stages:
    """Read the stages of a plan, given what the header says of running sums."""
    n_stages, n_outputs = len(stage_terms), model.terms.n_outputs
    bias = stock.floats("readout.bias", n_stages, n_outputs if n_stages else None)
    if raw is None:
        weights = stock.floats("readout.weights", n_outputs * int(stage_terms.sum()))
        parts = np.split(weights, np.cumsum(n_outputs * stage_terms))[:-1]
        readouts = [Readout(w.reshape(n_outputs, -1), b) for w, b in zip(parts, bias, strict=True)]
        return Stages(stage_terms, tuple(readouts))
    section = Section(raw, "header.plan.sums")
    require(Summed.of(model.terms) is not None and n_stages > 0, "there are running sums, and no stages that keep them")
    n_sums = section.integer("n_sums", 1, MOST_SUMS)
    sums = _decode_sums(stock, n_sums, int(stage_terms[-1]))
    mixtures = stock.floats("readout.weights", n_stages * n_outputs * n_sums).reshape(n_stages, n_outputs, n_sums)
    readouts = [Readout(w, b) for w, b in zip(mixtures, bias, strict=True)]
    if section.flag("spread"):
        require(n_outputs == 1, "there is a spread of several outputs")
        spread = stock.floats("readout.spread", n_stages, n_sums)
        spread_bias = stock.floats("readout.spread_bias", n_stages)
        readouts = [
            replace(r, spread=s, spread_bias=float(b)) for r, s, b in zip(readouts, spread, spread_bias, strict=True)
        ]
    passes = race = None
    if section.flag("passes"):
        passes = stock.integers("passes", LONG, None, low=1, high=n_stages + 1)
        require(len(passes) and passes[-1] == n_stages and np.all(np.diff(passes) > 0), "the array 'passes' is invalid")
    if section.flag("race"):
        races = model.decision.races and 2 <= n_outputs <= MOST_RACE
        require(races, "there is a race of classes that cannot have one")
        race = stock.floats("race", n_stages, low=0.0, finite=False)
    section.done()
    return Stages(stage_terms, tuple(readouts), sums, passes, race)


def _decode_sums(stock: Stock, n_sums: int, n_terms: int) -> RunningSums:
    stock.room.reserve(8 * n_sums * n_terms, f"{n_sums} running sums")
    ends = stock.integers("sums.ends", LONG, n_sums, low=0, high=n_terms + 1)
    flat = stock.floats("sums.weights", int(ends.sum()))
    weights = np.zeros((n_sums, n_terms))
    for row, part, end in zip(weights, np.split(flat, np.cumsum(ends))[:-1], ends, strict=True):
        row[:end] = part
    corrections = stock.take("sums.corrections", ("float32",), None)
    require(np.isfinite(corrections).all(), "the array 'sums.corrections' is not finite")
    stock.room.reserve(16 * n_sums * len(corrections), "corrections of leaves")  # of the longest sum, in every sum
    first = stock.integers("sums.first_correction", LONG, n_sums + 1, low=0, high=len(corrections) + 1)
    whole = first[0] == 0 and first[-1] == len(corrections) and np.all(np.diff(first) >= 0)
    require(whole, "the array 'sums.first_correction' does not fit the corrections")
    parts = [corrections[a:b] for a, b in pairwise(first.tolist())]
    return RunningSums(ends, weights, tuple(part if len(part) else None for part in parts))


# ---- stage scores on the validation rows -----------------------------------------------------------------------------


def encode_stage_scores(stage_scores: StageScores, arrays: Arrays) -> None:
    """Put the stage scores of the validation rows into ``arrays``, under names that begin with "stage_scores."."""
    for name in ("full", "margins", "answers"):  # losses follow from these
        column = getattr(stage_scores, name)
        if column is not None:
            arrays[f"stage_scores.{name}"] = column


def decode_stage_scores(stock: Stock, model: AdditiveModel, plan: Plan) -> StageScores:
    """Read the stage scores of the validation rows."""
    output = model.decision
    full = stock.integers("stage_scores.full", CODE, None, low=0, high=output.n_answers)
    shape = len(full), plan.n_stages
    margins = stock.take("stage_scores.margins", (plan.precision,), *shape)  # a row without one never exits
    if output.two_sided:
        return StageScores(full=full, margins=margins)
    answers = stock.integers("stage_scores.answers", CODE, *shape, low=0, high=output.n_answers)
    return StageScores.of(StageTable(margins=margins, answers=answers), full, output)


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
