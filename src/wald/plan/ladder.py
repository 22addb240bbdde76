"""Build a plan: order the units, fit readouts, choose the stages.

All choices are made on plan rows alone, so that a certificate on other rows is valid. Plan rows are split in two.
Orders and readouts are fitted on the first part. Stages, their scales and the best candidate are chosen on the second
part, the validation rows, at the boldest scale q whose share of disagreements there the certificate will allow.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..engine import Stages
from ..stopping import Boundary, Walk
from ..utils.warn import warn_caller
from .boldness import boldest, shares_reached
from .cost import CostModel, thinned
from .moments import Floats
from .passes import PassTimes, cheapest_passes
from .plan import Plan, Recipe
from .problem import Evaluation, Problem
from .recipes import reach_the_end, recipes

#: Where rows share cache lines, scales that are errors are divided by this power of the stage's number of terms.
LATE_BOLDNESS = 0.15
#: A class is dropped if it lies this many times further behind the best one than a row must lie ahead to leave
#: on the validation rows.
RACE = 1.5
#: Stages inside of passes are left out if the expected time is then below this share; costs and
#: budgets are finer with them.
FEWER_STAGES = 0.75
#: The expected time of a plan with passes must be below this share of full evaluation; doubtful plans are timed.
PASS_MARGIN = 0.95


def build_plan(problem: Problem) -> Plan:
    """Choose order, readouts and stages; the thresholds are left to the certificate (``q = inf``).

    Warnings of the rule are issued for the chosen plan only, and not for every candidate.
    """
    best: _Draft | None = None
    for recipe in recipes(problem):
        evaluation = problem.evaluate(recipe)
        for candidate, walk in _candidates(recipe, evaluation, problem):
            for draft in _drafts(candidate, walk, evaluation, problem):
                if best is None or draft.expected < best.expected:
                    best = draft
    assert best is not None
    for warning in best.warned:
        warn_caller(warning.message)
    return best.plan


@dataclass(frozen=True)
class _Draft:
    """A plan, its expected cost of a row, and warnings of its rule."""

    plan: Plan
    expected: float
    warned: Sequence[warnings.WarningMessage]


def _candidates(recipe: Recipe, evaluation: Evaluation, problem: Problem) -> Iterator[tuple[Recipe, Walk]]:
    """Recipes with the stages of a ladder. Where rows take several stages in one pass, ladders have all stages."""
    if evaluation.pass_work is not None or evaluation.cost_model is None:
        yield recipe, evaluation.walk
        return
    for keep in _ladders(recipe, evaluation.cost_model, problem):
        yield recipe.subset(keep), evaluation.walk.subset(keep)


def _drafts(recipe: Recipe, walk: Walk, evaluation: Evaluation, problem: Problem) -> Iterator[_Draft]:
    """Plans with these stages: with all of them and, where passes have several, with the last one of each pass."""
    draft = _draft(recipe, walk, evaluation, problem)
    yield draft
    passes = draft.plan.early.passes
    if passes is not None and len(passes) < len(draft.plan.early):
        ends = (passes - 1).tolist()
        fewer = _draft(recipe.subset(ends), walk.subset(ends), evaluation, problem)
        if fewer.expected < FEWER_STAGES * draft.expected:
            yield fewer


def _draft(recipe: Recipe, walk: Walk, evaluation: Evaluation, problem: Problem) -> _Draft:
    """A plan with these stages. Its expected cost counts the terms of all classes, also where some can be dropped."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        boundary = _boundary(walk, recipe, evaluation.cost_model, problem)
    seen = walk.astype(evaluation.dtype)
    q = boldest(seen, boundary, problem.rule, problem.promised, problem.certificate_size)
    reached = shares_reached(seen, boundary, q, evaluation.dtype)
    early, costs = _passes(recipe, evaluation, reached)
    if problem.races and early.passes is not None and np.isfinite(q):
        race, last = np.full(len(early), np.inf), early.passes - 1
        race[last] = RACE * q * boundary.high_scale[last]
        early = replace(early, race=race)
    expected = costs.expected(recipe.stage_terms, recipe.stage_costs, reached, problem.terms.n_outputs)
    plan = Plan(
        **{**vars(recipe), "early": early},
        boundary=boundary,
        q=np.inf,
        reached=reached,
        precision=evaluation.dtype,
        evaluate_all=False,
        cost_model=costs,
    )
    return _Draft(plan, expected, warned)


def _passes(recipe: Recipe, evaluation: Evaluation, reached: Floats) -> tuple[Stages, CostModel | PassTimes]:
    """The stages in passes that take the least work, and the costs of the plan."""
    early, n_stages = recipe.early, len(recipe.early)
    if evaluation.pass_work is None or n_stages == 0:
        assert evaluation.cost_model is not None
        return early, evaluation.cost_model
    passes, works = cheapest_passes(early.terms.tolist(), reached, evaluation.pass_work)
    early = replace(early, passes=passes)
    if evaluation.cost_model is not None:
        return early, evaluation.cost_model
    in_trees = max(0.0, evaluation.full_seconds - evaluation.row_seconds)
    seconds = in_trees / evaluation.full_work * works
    seconds[0] += evaluation.row_seconds
    return early, PassTimes(tuple(seconds.tolist()), in_trees, evaluation.full_seconds, PASS_MARGIN)


def _boundary(walk: Walk, recipe: Recipe, costs: CostModel | None, problem: Problem) -> Boundary:
    """Boundary of the rule, for these stages, on the sides that the promise leaves open."""
    boundary = problem.rule.boundary(walk).restricted(problem.promised.sides)
    if costs is not None and costs.rows_per_line > 1 and problem.rule.needs.error_scales:
        return boundary.rescaled(recipe.stage_terms.astype(np.float64) ** -LATE_BOLDNESS)
    return boundary


def _ladders(recipe: Recipe, cost_model: CostModel, problem: Problem) -> list[list[int]]:
    """Candidate subsets of the stages, as indices; all stages are taken if they cost nothing, as in units."""
    stages = recipe.stages[:-1].tolist()
    everything = list(range(len(stages)))
    if not stages or problem.rule.needs.forced or (cost_model.readout == 0 and cost_model.stage == 0):
        return [everything]
    index = {m: t for t, m in enumerate(stages)}
    candidates = [stages]
    late = (12, 24) if cost_model.by_columns else ()  # before that, columns are read for all rows anyway
    for ratio in (1.3, 1.45, 1.9):
        for first in (0, 2, 3, 6, *late):
            ladder = thinned(stages, ratio, first * problem.block)
            if reach_the_end(problem):
                ladder = sorted({*ladder, stages[-1]})
            if ladder and ladder not in candidates:
                candidates.append(ladder)
    return [[index[m] for m in ladder] for ladder in candidates]
