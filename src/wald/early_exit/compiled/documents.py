"""Plans that read texts in parts: in which order, where to look, what parts say of whole texts, and what looks cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine import NO_STAGES, Readout, Stages
from ...models import NO_SURROGATES, AdditiveModel, Units
from ...models.documents import documents, read_in_parts
from ...models.packing import pack
from ...models.protocols import Documents
from ...models.texts import EarlyStages
from ...plan import CertificateSize, CostModel, Evaluation, Plan, Problem, Recipe, build_plan
from ...plan.moments import Floats, boundary_weights
from ...plan.order import Ints
from ...plan.timing import MARGIN, THREAD_CLOCK
from ...sources.texts import texts_of
from ...stopping import Rule, StageScores, Walk
from .full_model import FullModel
from .parameters import Parameters
from .planner import planner_of
from .request import Request, without_exits
from .rows import Rows

#: The orders in which texts are read that a planner's order stands for.
ORDERS = {"greedy": ("in order", "spread"), "in order": ("in order",), "spread": ("spread",)}
#: Share of the texts, the shortest ones, that a plan is likely to read whole.
READ_WHOLE = 0.25
#: How often tasks are timed.
ROUNDS = 5
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

    costs = _costs(model, terms, validation, recipes, request)

    def evaluate(recipe: Recipe) -> Evaluation:
        packed = pack(terms, recipe.terms)
        seen = StageScores.of(
            without_exits(model, packed, recipe.early).trace(validation.preprocessed, 1), codes, model.decision
        )
        seen = replace(seen, truth=validation.truth)
        walk = _walk(model, recipe, seen, validation_scores, request)
        return Evaluation(walk, "float64", costs[recipes.index(recipe)])

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
        truth=seen.truth,
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


def _costs(
    model: AdditiveModel, terms: Documents, validation: Rows, recipes: Sequence[Recipe], request: Request
) -> list[CostModel]:
    """Costs of recipes in characters, or in seconds: of a text, of a character that is read and of a look."""
    recipe = recipes[0]
    if isinstance(request.cost, CostModel):
        return [request.cost] * len(recipes)
    usual, texts = recipe.usual_cost or 1.0, texts_of(validation.first(terms.planning.timed_rows).raw)
    if request.cost == "units" or texts is None or len(recipe.early) == 0:
        return [CostModel.of_units(usual)] * len(recipes)
    read = terms.characters(validation.preprocessed[: len(texts)])
    inside = read[:, terms.looks_of(recipe.terms, recipe.early.terms)] > 0
    sizes, lengths = recipe.stage_costs, read[:, -1]
    # a character costs more where a text begins than on average, since most words are met there for the first time
    last, half = len(recipe.early) - 1, max(0, int(np.count_nonzero(inside.mean(axis=0) >= 0.5)) - 1)
    ladders = [([], False), ([0], True), ([half], True), (range(half + 1), True), (range(last + 1), False)]
    tasks = [_without_exits(model, terms, recipe, ladder, texts, ends) for ladder, ends in ladders]
    others = [_without_exits(model, terms, r, range(len(r.early)), texts, False) for r in recipes[1:]]
    whole, first, once, often, never, *of_others = _timed([*tasks, *others]) / len(texts)
    n_looks = inside[:, :half].sum() / len(texts)
    look = max(0.0, often - once) / n_looks if n_looks > 0 else 0.0
    to_first, to_half = (np.minimum(lengths, sizes[t]).mean() for t in (0, half))
    unit = max(0.0, never - look * inside.sum() / len(texts), whole) / usual
    if to_half > to_first:
        unit = max(unit, (once - first) / (to_half - to_first))
    row = max(0.0, first - unit * to_first)
    full = max(whole, row + unit * usual)  # by the same price of a character; what pays is timed in the end
    costs = CostModel(row, unit, 0.0, look, full, margin=MARGIN)
    # in another order, a character takes the same time, but texts that are read whole are read again if tokens lie
    # between blocks
    short = (
        lengths[lengths <= np.quantile(lengths, READ_WHOLE)].sum() / max(1, lengths.sum())
        if _reads_again(model)
        else 0.0
    )
    again = [max(0.0, t - never) * short for t in of_others]
    return [costs.rounded(), *(replace(costs, row=costs.row + t).rounded() for t in again)]


def _reads_again(model: AdditiveModel) -> bool:
    """Whether texts have tokens that reach from one block to the next."""
    assert model.texts is not None
    vectorizer: Any = model.texts.vectorizer
    return bool(vectorizer.analyzer == "char" or (vectorizer.analyzer == "word" and vectorizer.ngram_range[1] > 1))


def _without_exits(
    model: AdditiveModel, terms: Documents, recipe: Recipe, ladder: Sequence[int], texts: list[Any], ends: bool
) -> Callable[[], object]:
    """A task that reads texts with some looks, at which none leaves; with `ends`, as far as the last of these."""
    assert model.texts is not None
    early, n = recipe.early.subset(ladder), len(ladder)
    never = np.full(n, np.inf)
    labelled = model.texts.labelled(
        early_stages(terms, recipe.terms, early, -never, never),
        model.decision,
        model.tie_margin,
        tuple(model.classes),
        n_stages=n,
        reach=n,
        cost=None,
    )
    assert labelled is not None
    return lambda: labelled.decide(texts, n, ends)


def _timed(tasks: Sequence[Callable[[], object]]) -> Floats:
    """Seconds of tasks that take turns, by a clock that stands still while others use the machine."""
    times = np.empty((1 + ROUNDS, len(tasks)))
    for run in times:
        for i, task in enumerate(tasks):
            start = THREAD_CLOCK()
            task()
            run[i] = THREAD_CLOCK() - start
    best: Floats = times[1:].min(axis=0)  # the first run fills the caches
    return best
