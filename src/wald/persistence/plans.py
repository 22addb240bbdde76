"""Plans in files, the certificates that belong to them, and their stage scores on the validation rows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from .. import _core
from ..codec.header import MOST
from ..codec.reading import Section, require
from ..codec.writing import Arrays, encode_fields, fields_of
from ..engine import Readout, RunningSums, Stages
from ..models import AdditiveModel, Surrogates
from ..models.packing import memory
from ..models.protocols import Documents, Summed
from ..models.terms import Terms
from ..outputs import Output
from ..plan import CostModel, PassTimes, Plan
from ..stopping import Boundary, Certificate, StageScores
from ..utils.stage_table import StageTable

LONG, CODE = ("int64",), ("int32",)
MOST_STAGES, MOST_BLOCK, MOST_SUMS = 10_000, 4096, 64
MOST_RACE = _core.LIMITS["race_classes"]


def encode_plan(plan: Plan, arrays: Arrays) -> dict[str, Any]:
    """Describe a plan, and put its arrays into ``arrays``."""
    values = {name: value for name, value in fields_of(plan).items() if name != "early"}
    if plan.usual_cost is None:
        del values["usual_cost"]
    fields = encode_fields(values | {"evaluate_all": bool(plan.evaluate_all)}, arrays, "plan")
    return fields | {"early": encode_stages(plan.early, arrays, "plan.early")}


def decode_plan(section: Section, model: AdditiveModel) -> Plan:
    """Read and check the plan of a model."""
    n_terms, surrogates = model.terms.n_terms, section.get("surrogates", Surrogates)
    n_surrogates = len(surrogates.vectors)
    width = model.terms.n_features if model.terms.planning.surrogate_candidates else -1
    fits = surrogates.vectors.shape in ((0, 0), (n_surrogates, width)) and np.isfinite(surrogates.vectors).all()
    require(fits, "the array 'plan.surrogates.vectors' does not fit")
    terms = section.integers("terms", LONG, None, low=0, high=n_terms + n_surrogates)
    order = section.integers("order", LONG, None, low=-n_surrogates, high=n_terms)
    for name, column in (("terms", terms), ("order", order)):
        require(len(np.unique(column)) == len(column), f"the array 'plan.{name}' names something twice")
    early = decode_stages(section.section("early"), model, len(terms))
    n_stages = len(early)
    stages = section.integers("stages", LONG, n_stages + 1, low=0, high=n_terms + n_surrogates + 1)
    require(n_stages == 0 or stages[-2] <= len(order), "the array 'plan.stages' goes beyond the order")
    costs = section.floats("stage_costs", n_stages + 1, low=0.0)
    for name, column in (("early.terms", early.terms), ("stages", stages), ("stage_costs", costs[:-1])):
        require(np.all(column[:-1] <= column[1:]), f"the array 'plan.{name}' falls")
    # the last cost is summed in another order, and so rounded otherwise
    require(n_stages == 0 or costs[-2] <= costs[-1] * (1 + 1e-9), "the array 'plan.stage_costs' falls at its end")
    reached = section.floats("reached", n_stages + 1, low=0.0)
    falls = np.all(reached <= 1) and np.all(reached[:-1] >= reached[1:])
    require(falls, "the array 'plan.reached' does not fall from 1 to 0")
    boundary: Boundary = section.get("boundary", Boundary)
    require(len(boundary.low_center) == n_stages, "the arrays of 'plan.boundary' do not have the shape of the stages")
    plan = Plan(
        order=order,
        terms=terms,
        stages=stages,
        stage_costs=costs,
        early=early,
        boundary=boundary,
        q=section.number("q", 0.0, finite=False),
        reached=reached,
        surrogates=surrogates,
        precision=section.choice("precision", ("float32", "float64")),
        evaluate_all=section.get("evaluate_all", bool),
        cost_model=_decode_costs(section, n_stages),
        usual_cost=section.number("usual_cost", 0.0) if "usual_cost" in section else None,
    )
    section.done()
    known = plan.precision in model.terms.planning.precisions
    require(known, f"a {model.terms.description} does not compute in {plan.precision}")
    check_documents(model.terms, early, plan.usual_cost)
    readouts = early.terms.tolist() * (2 if early.has_spread and early.sums is None else 1)  # a spread is one, too
    for needed, what in memory(model.terms, n_surrogates, plan.precision, readouts):
        section.room.reserve(needed, what)
    return plan


def _decode_costs(section: Section, n_stages: int) -> CostModel | PassTimes:
    costs: CostModel | PassTimes = section.get("cost_model", CostModel | PassTimes)
    if isinstance(costs, PassTimes):
        require(len(costs.stages) == n_stages, "plan.cost_model.stages does not have one time for each stage")
    else:
        for name in ("block", "rows_per_line"):
            require(getattr(costs, name) <= MOST_BLOCK, f"plan.cost_model.{name} is out of range")
    return costs


def check_documents(terms: Terms, early: Stages, usual_cost: float | None) -> None:
    """Refuse a plan that reads texts in parts of which it has no scores."""
    of_documents = Documents.of(terms) is not None
    require(of_documents == (usual_cost is not None), "plan.usual_cost does not go with the terms")
    whole = early.terms % terms.n_outputs == 0 if of_documents else np.ones(1, dtype=bool)
    ascends = not of_documents or bool((np.diff(early.terms, prepend=0) > 0).all())
    require(bool(whole.all()) and ascends, "the array 'plan.early.terms' does not end at looks")


# ---- stages ----------------------------------------------------------------------------------------------------------


def encode_stages(early: Stages, arrays: Arrays, where: str) -> dict[str, Any]:
    """Describe early stages: what belongs to each of them forms one array of all."""
    n_stages, readouts = len(early), early.readouts
    spread = [r.spread for r in readouts if r.spread is not None]
    values = {
        "terms": early.terms,
        "weights": np.concatenate([np.empty(0), *(np.ravel(r.weights) for r in readouts)]),
        "bias": np.array([r.bias for r in readouts]).reshape(n_stages, -1 if n_stages else 1),
        "spread": None if not spread else np.array(spread) if early.sums is not None else np.concatenate(spread),
        "spread_bias": np.array([r.spread_bias for r in readouts], dtype=np.float64),
        "passes": early.passes,
        "race": None if early.race is None else np.asarray(early.race, dtype=np.float64),
    }
    sums = early.sums if n_stages else None
    held = None if sums is None else _encode_sums(sums, arrays, f"{where}.sums")
    return encode_fields(values, arrays, where) | {"sums": held}


def _encode_sums(sums: RunningSums, arrays: Arrays, where: str) -> dict[str, Any]:
    corrections = [np.zeros(0, dtype=np.float32) if c is None else c for c in sums.corrections]
    values = {
        "ends": sums.ends,
        "weights": np.concatenate([row[:end] for row, end in zip(sums.weights, sums.ends, strict=True)]),
        "corrections": np.concatenate(corrections),
        "first_correction": np.cumsum([0, *map(len, corrections)], dtype=np.int64),
    }
    return encode_fields(values, arrays, where)


def decode_stages(section: Section, model: AdditiveModel, n_ordered: int) -> Stages:
    """Read the stages of a plan that has so many terms."""
    n_outputs = model.terms.n_outputs
    terms = section.integers("terms", LONG, None, low=0, high=n_ordered + 1)
    n_stages = len(terms)
    require(n_stages <= MOST_STAGES, f"there are {n_stages} stages; at most {MOST_STAGES} are allowed")
    sums = None if section.lacks("sums") else section.section("sums")
    held = None
    if sums is not None:
        summed = Summed.of(model.terms) is not None and n_stages > 0
        require(summed, "there are running sums, and no stages that keep them")
        held = _decode_sums(sums, int(terms[-1]))
    widths = terms if held is None else np.full(n_stages, len(held.ends))
    flat = section.floats("weights", n_outputs * int(widths.sum()))
    weights = np.split(flat, np.cumsum(n_outputs * widths))[:-1]
    bias = section.floats("bias", n_stages, n_outputs if n_stages else None)
    spread_bias = section.floats("spread_bias", n_stages).tolist()
    spread: Any = [None] * n_stages
    if not section.lacks("spread"):
        fits = n_stages > 0 and n_outputs == 1 and (held is not None or model.decision.by_margin)
        require(fits, "there is a spread of several outputs, or of no margin")
        if held is not None:
            spread = section.floats("spread", n_stages, widths.max())
        else:
            spread = np.split(section.floats("spread", int(widths.sum())), np.cumsum(widths))[:-1]
    each = zip(weights, bias, spread, spread_bias, strict=True)
    readouts = tuple(Readout(w.reshape(n_outputs, -1), *others) for w, *others in each)
    passes = race = None
    if not section.lacks("passes"):
        passes = section.integers("passes", LONG, None, low=1, high=n_stages + 1)
        rises = held is not None and len(passes) and passes[-1] == n_stages and np.all(np.diff(passes) > 0)
        require(rises, "the array 'plan.early.passes' is invalid")
    if not section.lacks("race"):
        races = held is not None and model.decision.races and 2 <= n_outputs <= MOST_RACE
        require(races, "there is a race of classes that cannot have one")
        race = section.floats("race", n_stages, low=0.0, finite=False)
    section.done()
    return Stages(terms, readouts, held, passes, race)


def _decode_sums(section: Section, n_terms: int) -> RunningSums:
    ends = section.integers("ends", LONG, None, low=0, high=n_terms + 1)
    n_sums = len(ends)
    require(1 <= n_sums <= MOST_SUMS, f"there are {n_sums} running sums; 1 to {MOST_SUMS} are allowed")
    section.room.reserve(8 * n_sums * n_terms, f"{n_sums} running sums")
    flat = section.floats("weights", int(ends.sum()))
    weights = np.zeros((n_sums, n_terms))
    for row, part, end in zip(weights, np.split(flat, np.cumsum(ends))[:-1], ends, strict=True):
        row[:end] = part
    corrections = section.array("corrections", ("float32",), None)
    require(np.isfinite(corrections).all(), f"the array {section.called('corrections')!r} is not finite")
    section.room.reserve(16 * n_sums * len(corrections), "corrections of leaves")  # of the longest sum, in every sum
    first = section.integers("first_correction", LONG, n_sums + 1, low=0, high=len(corrections) + 1)
    whole = first[0] == 0 and first[-1] == len(corrections) and np.all(np.diff(first) >= 0)
    require(whole, f"the array {section.called('first_correction')!r} does not fit the corrections")
    section.done()
    parts = [corrections[a:b] for a, b in pairwise(first.tolist())]
    return RunningSums(ends, weights, tuple(part if len(part) else None for part in parts))


# ---- validation rows, and certificates -------------------------------------------------------------------------------


def decode_stage_scores(section: Section, model: AdditiveModel, plan: Plan) -> StageScores:
    """Read the stage scores of the validation rows; margins may be NaN, of rows that never exit."""
    output = model.decision
    full = section.integers("full", CODE, None, low=0, high=output.n_answers)
    shape = len(full), plan.n_stages
    margins, answers = section.array("margins", (plan.precision,), *shape), None
    if output.two_sided:
        require(section.lacks("answers"), f"{section.where}.answers does not fit the output")
    else:
        answers = section.integers("answers", CODE, *shape, low=0, high=output.n_answers)
    if output.valued and output.by_margin:  # what a value loses does not follow from codes
        losses = section.floats("losses", *shape, low=0.0)
        require((losses <= 1).all(), f"the array {section.called('losses')!r} holds numbers above 1")
        section.done()
        return StageScores(full=full, margins=margins, answers=answers, losses=losses)
    truth = section.integers("truth", CODE, len(full), low=-1, high=output.n_answers) if "truth" in section else None
    require(
        truth is None or not (output.valued or output.has_own_losses), f"{section.where}.truth does not fit the output"
    )
    section.done()
    return replace(StageScores.of(StageTable(margins=margins, answers=answers), full, output), truth=truth)


def check_certificate(certificate: Certificate, output: Output) -> None:
    """Refuse a certificate whose promise does not follow from its counts, or with losses that the output has not."""
    c, where = certificate, "the certificate"
    limits = (
        (c.risk is None or 0 <= c.risk < 1, "risk"),
        (0 < c.confidence <= 1, "confidence"),
        (1 <= c.n_splits <= MOST, "n_splits"),
        (c.q >= 0, "q"),
        (all(0 <= s.n_disagreements <= s.n_rows <= MOST for s in c.strata), "counts"),
        (all(s.risk is None or 0 < s.risk < 1 for s in c.strata), "risks of classes"),
    )
    for holds, what in limits:
        require(holds, f"{where} has {what} out of range")
    whole, kind = all(s.is_count for s in c.strata), type(output).__name__
    require(whole or output.has_own_losses, f"{where} has losses between 0 and 1, and a {kind} has none")
    require(c.void is not None or c.verify(), f"{where} does not follow from its own counts")


def check_promise(certificate: Certificate, plan: Plan, output: Output, by_proof: bool, lossless: bool) -> None:
    """Refuse a certificate that belongs to another plan, or says "lossless" of a plan without a lossless rule.

    Parameters
    ----------
    certificate : Certificate
    plan : Plan
    output : Output
        What is asked of the model.
    by_proof : bool
        Whether the wrapped model decides every row whose label is not proven.
    lossless : bool
        Whether the rule is lossless.
    """
    check_certificate(certificate, output)
    early = certificate.status in ("certified", "lossless", "measured")
    q = certificate.q if certificate.status == "certified" else 1.0 if early else np.inf
    agree = plan.q == q and plan.evaluate_all == (not early)
    require(agree, f"a plan with q={plan.q:g} does not go with a certificate of status {certificate.status!r}")
    proof = certificate.status in ("lossless", "full")
    require(proof or not by_proof, f"exits by proof do not go with a certificate of status {certificate.status!r}")
    if certificate.status == "lossless" and certificate.void is None:
        require(lossless, "a certificate that no row can differ does not go with a rule that is not lossless")
        require(certificate.verify(plan.boundary), "a certificate that no row can differ has thresholds that q moves")
