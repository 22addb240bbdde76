"""Plans that read texts in parts: where to look, what beginnings say of whole texts, and what looks cost."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..engine import NO_STAGES, Readout, Stages
from ..models import NO_SURROGATES, AdditiveModel, Units
from ..models.documents import documents, read_in_parts
from ..models.packing import pack
from ..models.protocols import Documents
from ..models.texts import EarlyStages
from ..plan import CertificateSize, CostModel, Evaluation, Plan, Problem, Recipe, build_plan
from ..plan.moments import Floats, boundary_weights
from ..plan.timing import MARGIN, interleaved
from ..sources.texts import texts_of
from ..stopping import Rule, StageScores, Walk
from .full_model import FullModel
from .parameters import Parameters
from .planner import planner_of
from .request import Request, without_exits
from .rows import Rows

#: A plan looks where at least so many plan rows are longer.
LEAST_ROWS = 50


def reading_in_parts(model: AdditiveModel, given: Parameters, rule: Rule) -> AdditiveModel:
    """The model as its plan reads it: in parts, where it is one of texts, and nothing in the request is about words."""
    priced = given.feature_costs is not None or given.feature_groups is not None
    order = planner_of(given).order
    greedy = isinstance(order, str) and order == "greedy"
    scaled = rule.needs.error_scales and rule.readout == "regressed"
    return documents(model) if scaled and greedy and not priced and read_in_parts(model) else model


def document_plan(
    model: AdditiveModel, order: Rows, validation: Rows, request: Request, certificate_size: CertificateSize
) -> Plan:
    """Build the plan of a model that reads texts in parts; parameters as for `make_plan`."""
    terms = Documents.of(model.terms)
    assert terms is not None
    whole = pack(terms)
    scores, validation_scores = (
        whole.scores(rows.preprocessed, model.working_precision, 1)[0] for rows in (order, validation)
    )
    full = FullModel(model, without_exits(model, whole, NO_STAGES))
    codes = full.evaluated(validation.preprocessed, validation.raw, 1)[0]
    confidence = np.asarray(np.abs(model.decision.distances(scores)), dtype=np.float64)
    recipe = _recipe(terms, order.preprocessed, scores, confidence)
    costs = _costs(model, terms, validation, recipe, request)

    def evaluate(recipe: Recipe) -> Evaluation:
        packed = pack(terms, recipe.terms)
        seen = StageScores.of(
            without_exits(model, packed, recipe.early).trace(validation.preprocessed, 1), codes, model.decision
        )
        return Evaluation(_walk(model, recipe, seen, validation_scores, request), "float64", costs)

    return build_plan(
        Problem(
            terms=terms,
            units=Units.single(len(terms.looks) + 1),
            order_rows=order.preprocessed,
            scores=scores,
            confidence=confidence,
            order=request.order,
            rule=request.rule,
            promised=request.promised,
            certificate_size=certificate_size,
            block=1,
            stages_at_blocks=False,
            surrogates=None,
            evaluate=evaluate,
            rng=request.rng,
            threshold=model.decision.centre or 0.0,
            given=(recipe,),
        )
    )


def _recipe(terms: Documents, rows: NDArray[np.float64], scores: Floats, confidence: Floats) -> Recipe:
    """Look wherever enough texts are longer, with an estimate of each full score by that of the beginning."""
    n, read = terms.n_outputs, terms.characters(rows)
    near, values = boundary_weights(confidence) if len(rows) else confidence, terms.values(rows)
    looks = [int(look) for look in range(len(terms.looks)) if np.count_nonzero(read[:, look]) >= LEAST_ROWS]
    readouts = []
    for look in looks:
        inside = np.flatnonzero(read[:, look] > 0)
        weights, bias = np.zeros((n, (look + 1) * n)), np.empty(n)
        for k in range(n):
            column = look * n + k
            weights[k, column], bias[k] = _line(values[inside, column], scores[inside, k], near[inside])
        readouts.append(Readout(weights, bias))
    lengths, last = read[:, -1], terms.looks[looks[-1]] if looks else 0
    usual = float(lengths.mean()) if len(lengths) else 1.0
    behind = lengths[lengths > last]
    end = max(float(behind.mean()) if len(behind) else usual, float(last), 1.0)
    stages = np.array(looks, dtype=np.int64) + 1
    return Recipe(
        order=np.arange(len(terms.looks)),
        terms=np.arange(len(terms.looks) * n),
        stages=np.append(stages, len(terms.looks) + 1),
        stage_costs=np.append(terms.looks[looks].astype(np.float64), end),
        early=Stages(stages * n, tuple(readouts)),
        surrogates=NO_SURROGATES,
        usual_cost=max(usual, 1.0),
    )


def _line(x: Floats, y: Floats, weights: Floats) -> tuple[float, float]:
    """Slope and intercept of the weighted least squares line; slope 0 where x does not vary."""
    total = weights.sum()
    mean_x, mean_y = weights @ x / total, weights @ y / total
    variance = weights @ (x - mean_x) ** 2
    slope = float(weights @ ((x - mean_x) * (y - mean_y)) / variance) if variance > 0 else 0.0
    return slope, float(mean_y - slope * mean_x)


def _walk(model: AdditiveModel, recipe: Recipe, seen: StageScores, scores: Floats, request: Request) -> Walk:
    """The walk of the validation rows. Texts that have ended do not count in the usual error of a stage."""
    output = model.decision
    goal = scores[:, 0] if output.two_sided else np.asarray(output.distances(scores), dtype=np.float64)
    inside = np.isfinite(seen.margins)
    with np.errstate(invalid="ignore"):
        errors = np.where(inside, seen.margins - goal[:, None], 0.0)
    usual = ((errors**4).sum(axis=0) / np.maximum(1, np.count_nonzero(inside, axis=0))) ** 0.25
    return Walk(
        full=seen.full,
        full_scores=scores,
        stages=recipe.stages,
        stage_costs=recipe.stage_costs,
        margins=seen.margins,
        answers=seen.answers,
        losses=seen.losses,
        full_margins=None if output.two_sided else goal,
        threshold=output.centre or 0.0,
        intercept=0.0,
        errors=np.where(inside, errors, usual),
        n_classes=output.n_answers,
        sides=request.promised.sides,
    )


# ---- costs -----------------------------------------------------------------------------------------------------------


def early_stages(
    terms: Documents, early: Stages, low: NDArray[np.floating], high: NDArray[np.floating], ends: bool = False
) -> EarlyStages:
    """The stages of a plan as the extension takes them."""
    n = terms.n_outputs
    weights = [np.diag(r.weights[:, m - n : m]) for r, m in zip(early.readouts, early.terms, strict=True)]
    return EarlyStages(
        np.ascontiguousarray(terms.looks[early.terms // n - 1]),
        np.array(weights, dtype=np.float64).reshape(-1, n),
        np.array([r.bias for r in early.readouts], dtype=np.float64).reshape(-1, n),
        np.ascontiguousarray(low, dtype=np.float64),
        np.ascontiguousarray(high, dtype=np.float64),
        ends,
    )


def costs_at_stages(terms: Documents, early: Stages, rows: NDArray[np.float64]) -> Floats:
    """Characters of each text that are read at each stage, and of all: (n_rows, n_stages + 1)."""
    read = terms.characters(rows)
    at = read[:, early.terms // terms.n_outputs - 1]
    return np.column_stack([np.where(at > 0, at, read[:, -1:]), read[:, -1]]).astype(np.float64)


def _costs(model: AdditiveModel, terms: Documents, validation: Rows, recipe: Recipe, request: Request) -> CostModel:
    """Costs in characters, or in seconds: of a character that is read and of a look."""
    if isinstance(request.cost, CostModel):
        return request.cost
    usual, texts = recipe.usual_cost or 1.0, texts_of(validation.first(terms.planning.timed_rows).raw)
    if request.cost == "units" or texts is None or len(recipe.early) == 0:
        return CostModel.of_units(usual)
    assert model.texts is not None
    scorer, n = model.texts, len(texts)
    n_looks = float(np.count_nonzero(terms.characters(validation.preprocessed[:n])[:, :-1] > 0)) / n

    def without_exits_of(early: Stages) -> Callable[[], object]:
        never = np.full(len(early), np.inf)
        stages = early_stages(terms, early, -never, never)
        return lambda: scorer.walk(texts, stages)

    early = recipe.early
    last = early.subset([len(early) - 1])
    tasks = [lambda: scorer.scores(texts), without_exits_of(last), without_exits_of(early)]
    whole, once, often = (t / n for t in interleaved(tasks))
    look = max(0.0, often - once) / max(1.0, n_looks)
    return CostModel(0.0, max(once, whole) / usual, 0.0, look, whole, margin=MARGIN).rounded()
