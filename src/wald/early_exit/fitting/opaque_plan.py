"""Plans of opaque models: which surrogates are asked, in which order, and what they say together of the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...engine import NO_STAGES, Readout, Stages
from ...models import NO_SURROGATES, AdditiveModel
from ...models.bought import BoughtTerms
from ...models.opaque import OpaqueTerms
from ...models.packing import pack
from ...plan import CertificateSize, CostModel, Evaluation, Plan, Problem, Recipe, build_plan
from ...plan.moments import Floats
from ...stopping import StageScores, Walk
from ...surrogates import log_odds
from ..compiled.request import Request, without_exits
from ..compiled.rows import Rows
from .truth import known_or

Codes = NDArray[np.int32]

#: Up to this number of surrogates every choice of them is a candidate; of more, those that leave one out, too.
MOST_CHOSEN = 4
#: Strengths of regularization that are tried: weights of standardized numbers, as in `LogisticRegression`.
STRENGTHS = (0.03, 0.3, 3.0)
#: Log-odds of an answer that no plan row has.
NEVER = -50.0


def opaque_plan(
    model: AdditiveModel, order: Rows, validation: Rows, request: Request, certificate_size: CertificateSize
) -> Plan:
    """Build the plan of an opaque model; parameters as for `make_plan`.

    The estimates of a stage are the log-odds of the model's answers, by a logistic regression on all that the
    surrogates of the stage have said; of true labels, where the promise is about these. The same log-odds let a row
    leave at every stage.
    """
    terms = OpaqueTerms.of(model.terms)
    assert terms is not None
    values, units = terms.values(order.preprocessed), terms.units(None, None, None, 1)
    codes = model.decision.answers(values[:, terms.n_before :])
    scores = values[:, terms.n_before :]
    told = codes if order.truth is None else known_or(order.truth, codes)
    whole = pack(terms)
    validation_scores = whole.scores(validation.preprocessed, model.working_precision, 1)[0]
    full = model.decision.answers(validation_scores)

    def evaluate(recipe: Recipe) -> Evaluation:
        packed = pack(terms, recipe.terms)
        trace = without_exits(model, packed, recipe.early).trace(validation.preprocessed, 1)
        seen = replace(StageScores.of(trace, full, model.decision), truth=validation.truth)
        walk = Walk(
            full=seen.full,
            full_scores=validation_scores,
            stages=recipe.stages,
            stage_costs=recipe.stage_costs,
            margins=seen.margins,
            answers=seen.answers,
            losses=seen.losses,
            truth=seen.truth,
            full_margins=None if model.decision.two_sided else np.ones(len(full)),
            errors=np.ones(seen.margins.shape),
            n_classes=model.decision.n_answers,
            sides=request.promised.sides,
        )
        costs = request.cost if isinstance(request.cost, CostModel) else CostModel.of_units(terms.full_cost)
        return Evaluation(walk, "float64", costs)

    return build_plan(
        Problem(
            terms=terms,
            units=units,
            order_rows=order.preprocessed,
            scores=scores,
            confidence=np.ones(len(scores)),
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
            given=tuple(_recipes(terms, values, told)),
        )
    )


def _recipes(terms: OpaqueTerms, values: Floats, codes: Codes) -> Iterator[Recipe]:
    """Recipes with some of the surrogates, the cheapest first."""
    n = len(terms.widths)
    yield _without_surrogates(terms)
    if len(np.unique(codes)) < 2:
        return
    if isinstance(terms, BoughtTerms):
        shared: dict[tuple[int, ...], Readout] = {}
        yield from (_recipe(terms, chosen, values, codes, STRENGTHS[1], shared) for chosen in terms.chains())
        return
    sizes = range(1, n + 1) if n <= MOST_CHOSEN else (n - 1, n)
    cheapest = np.argsort(terms.costs, kind="stable").tolist()
    for strength in STRENGTHS:
        known: dict[tuple[int, ...], Readout] = {}
        for size in sizes:
            for chosen in combinations(cheapest, size):
                yield _recipe(terms, list(chosen), values, codes, strength, known)


def _without_surrogates(terms: OpaqueTerms) -> Recipe:
    """Ask the model alone."""
    none = np.empty(0, dtype=np.int64)
    return Recipe(
        order=none,
        terms=none,
        stages=np.array([1]),
        stage_costs=terms.paid([]),
        early=NO_STAGES,
        surrogates=NO_SURROGATES,
    )


def _recipe(
    terms: OpaqueTerms,
    chosen: list[int],
    values: Floats,
    codes: Codes,
    strength: float,
    known: dict[tuple[int, ...], Readout],
) -> Recipe:
    """Ask these surrogates, one after the other, and then the model. `known`: readouts of the first of others."""
    members = terms.units(None, None, None, 1).members
    order = np.concatenate([members[u] for u in chosen])
    ends = np.cumsum([len(members[u]) for u in chosen])
    for k, end in enumerate(ends, 1):
        if tuple(chosen[:k]) not in known:
            known[tuple(chosen[:k])] = _readout(terms, values[:, order[:end]], codes, strength)
    readouts = tuple(known[tuple(chosen[: k + 1])] for k in range(len(chosen)))
    return Recipe(
        order=np.array(chosen, dtype=np.int64),
        terms=order.astype(np.int64),
        stages=np.array([*range(1, len(chosen) + 1), len(chosen) + 1]),
        stage_costs=terms.paid(chosen),
        early=Stages(ends.astype(np.int64), readouts),
        surrogates=NO_SURROGATES,
    )


def _readout(terms: OpaqueTerms, said: Floats, codes: Codes, strength: float) -> Readout:
    """Log-odds of the answers by what was said."""
    weights, bias, known = log_odds(said, codes, strength)
    if terms.n_outputs == 1:
        return Readout(weights[1:] - weights[:1], bias[1:] - bias[:1])
    every, shift = np.zeros((terms.n_outputs, said.shape[1])), np.full(terms.n_outputs, NEVER)
    every[known], shift[known] = weights, bias
    return Readout(every, shift)
