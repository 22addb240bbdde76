"""Plans that read texts in parts: in which order, where to look, what parts say of whole texts, and what looks cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

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
from ..plan.order import Ints
from ..plan.timing import MARGIN, interleaved
from ..sources.texts import texts_of
from ..stopping import Rule, StageScores, Walk
from .full_model import FullModel
from .parameters import Parameters
from .planner import planner_of
from .request import Request, without_exits
from .rows import Rows

#: The orders in which texts are read that a planner's order stands for.
ORDERS = {"greedy": ("in order", "spread"), "in order": ("in order",), "spread": ("spread",)}
#: Texts that are timed at a time.
AT_A_TIME = 64
#: A plan looks where at least so many plan rows are longer.
LEAST_ROWS = 50


def reading_in_parts(model: AdditiveModel, given: Parameters, rule: Rule) -> AdditiveModel:
    """The model as its plan reads it: in parts, where it is one of texts, and nothing in the request is about words."""
    priced = given.feature_costs is not None or given.feature_groups is not None
    order = planner_of(given).order
    wanted = ORDERS.get(order) if isinstance(order, str) else None
    scaled = rule.needs.error_scales and rule.readout == "regressed"
    if wanted is not None and scaled and not priced and read_in_parts(model):
        return documents(model, wanted)
    if isinstance(order, str) and order in ("in order", "spread"):
        raise ValueError(
            f"order={order!r} is for texts that are read in parts: with a risk above 0, one vectorizer that wald reads "
            "before a linear classifier, and no prices of features. Use order='greedy' here."
        )
    return model


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
    recipes = tuple(
        _recipe(terms, block, order.preprocessed, scores, confidence) for block in np.unique(terms.blocks).tolist()
    )

    def evaluate(recipe: Recipe) -> Evaluation:
        packed = pack(terms, recipe.terms)
        seen = StageScores.of(
            without_exits(model, packed, recipe.early).trace(validation.preprocessed, 1), codes, model.decision
        )
        costs = _costs(model, terms, validation, recipe, request)
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
            given=recipes,
        )
    )


def _recipe(terms: Documents, block: int, rows: NDArray[np.float64], scores: Floats, confidence: Floats) -> Recipe:
    """Look wherever enough texts are longer, in one order; full scores are estimated by those of what was read."""
    n, read, own = terms.n_outputs, terms.characters(rows), np.flatnonzero(terms.blocks == block)
    near, values = boundary_weights(confidence) if len(rows) else confidence, terms.values(rows)
    looks = [t for t, look in enumerate(own) if np.count_nonzero(read[:, look]) >= LEAST_ROWS]
    readouts = []
    for t in looks:
        inside = np.flatnonzero(read[:, own[t]] > 0)
        weights, bias = np.zeros((n, (t + 1) * n)), np.empty(n)
        for k in range(n):
            part = values[inside, own[t] * n + k]
            weights[k, t * n + k], bias[k] = _line(part, scores[inside, k], near[inside])
        readouts.append(Readout(weights, bias))
    sizes = terms.looks[own][looks].astype(np.float64)
    lengths, last = read[:, -1], sizes[-1] if looks else 0.0
    usual = float(lengths.mean()) if len(lengths) else 1.0
    behind = lengths[lengths > last]
    end = max(float(behind.mean()) if len(behind) else usual, last, 1.0)
    stages = np.array(looks, dtype=np.int64) + 1
    return Recipe(
        order=own,
        terms=(own[:, None] * n + np.arange(n)).ravel(),
        stages=np.append(stages, len(terms.looks) + 1),
        stage_costs=np.append(sizes, end),
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
    terms: Documents, order: Ints, early: Stages, low: NDArray[np.floating], high: NDArray[np.floating]
) -> EarlyStages:
    """The stages of a plan as the extension takes them; `order` are the plan's terms."""
    n, looks = terms.n_outputs, terms.looks_of(order, early.terms)
    weights = [np.diag(r.weights[:, m - n : m]) for r, m in zip(early.readouts, early.terms, strict=True)]
    return EarlyStages(
        np.ascontiguousarray(terms.looks[looks]),
        int(terms.blocks[looks[0]]) if len(looks) else 0,
        np.array(weights, dtype=np.float64).reshape(-1, n),
        np.array([r.bias for r in early.readouts], dtype=np.float64).reshape(-1, n),
        np.ascontiguousarray(low, dtype=np.float64),
        np.ascontiguousarray(high, dtype=np.float64),
    )


def costs_at_stages(terms: Documents, plan: Plan, rows: NDArray[np.float64]) -> Floats:
    """Characters of each text that are read at each stage, and of all: (n_rows, n_stages + 1)."""
    read = terms.characters(rows)
    at = read[:, terms.looks_of(plan.terms, plan.early.terms)]
    return np.column_stack([np.where(at > 0, at, read[:, -1:]), read[:, -1]]).astype(np.float64)


def _costs(model: AdditiveModel, terms: Documents, validation: Rows, recipe: Recipe, request: Request) -> CostModel:
    """Costs in characters, or in seconds: of a character that is read and of a look."""
    if isinstance(request.cost, CostModel):
        return request.cost
    usual, texts = recipe.usual_cost or 1.0, texts_of(validation.first(terms.planning.timed_rows).raw)
    if request.cost == "units" or texts is None or len(recipe.early) == 0:
        return CostModel.of_units(usual)
    assert model.texts is not None
    scorer, n, early = model.texts, len(texts), recipe.early
    read = terms.characters(validation.preprocessed[:n])
    n_looks = float(np.count_nonzero(read[:, terms.looks_of(recipe.terms, early.terms)] > 0)) / n

    def without_exits_of(some: Stages) -> Callable[[list[Any]], object]:
        never, m = np.full(len(some), np.inf), len(some)
        plan = scorer.labelled(
            early_stages(terms, recipe.terms, some, -never, never),
            model.decision,
            model.tie_margin,
            tuple(model.classes),
            n_stages=m,
            reach=m,
            cost=None,
        )
        assert plan is not None
        return lambda some: plan.decide(some, m)

    last = early.subset([len(early) - 1])
    whole, once, often = _timed([without_exits_of(some) for some in (early.subset([]), last, early)], texts) / n
    look = max(0.0, often - once) / max(1.0, n_looks)
    return CostModel(0.0, max(once, whole) / usual, 0.0, look, whole, margin=MARGIN).rounded()


def _timed(tasks: list[Callable[[list[Any]], object]], texts: list[Any]) -> Floats:
    """Shortest times of some tasks, of few texts at a time, so that most runs are over before others need the machine."""
    total = np.zeros(len(tasks))
    for start in range(0, len(texts), AT_A_TIME):
        some = texts[start : start + AT_A_TIME]
        total += interleaved([partial(task, some) for task in tasks])
    return total
