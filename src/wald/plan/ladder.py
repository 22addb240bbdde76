"""Build a plan: order the units, fit readouts, choose the stages.

All choices are made on plan rows alone, so that a certificate on other rows is valid. Plan rows are split in two.
Orders and readouts are fitted on the first part. Stages, their scales and the best candidate are chosen on the second
part, the validation rows, at the scale q that the certificate's sequence of tests would choose there.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..models.terms import Precision
from ..stopping import Boundary, Ladder, StageScores, Walk, q_grid
from ..stopping.core.boundary import Protect
from ..stopping.core.certificate import Stratum
from ..stopping.core.certifying import counts_along
from ..stopping.core.fixed_sequence import fixed_sequence
from .cost import CostModel, thinned
from .moments import Floats
from .plan import Plan
from .problem import Evaluation, Problem, Recipe
from .recipes import orders_all_units, recipes

#: Where rows share cache lines, the ladder divides the scale of a stage by this power of its number of terms.
LATE_BOLDNESS = 0.15


def build_plan(problem: Problem) -> Plan:
    """Choose order, readouts and stages; the thresholds are left to the certificate (``q = inf``).

    Warnings of the rule are issued for the chosen plan only, and not for every candidate.
    """
    best: tuple[float, Plan] | None = None
    caught: list[warnings.WarningMessage] = []
    for recipe in recipes(problem):
        evaluation = problem.evaluate(recipe)
        for keep in _ladders(recipe, evaluation.cost_model, problem):
            candidate, walk = recipe.subset(keep), evaluation.walk.subset(keep)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                boundary = _boundary(walk, candidate, evaluation.cost_model, problem)
            reached = _reached_on_validation_rows(
                walk.stage_scores.astype(evaluation.dtype), boundary, problem, evaluation.dtype
            )
            expected = evaluation.cost_model.expected(
                candidate.stage_terms, candidate.stage_costs, reached, problem.terms.n_outputs
            )
            if best is None or expected < best[0]:
                best, caught = (expected, _plan(candidate, boundary, reached, evaluation)), warned
    assert best is not None
    for warning in caught:
        warnings.warn(warning.message, stacklevel=2)
    return best[1]


def _boundary(walk: Walk, recipe: Recipe, cost_model: CostModel, problem: Problem) -> Boundary:
    """Boundary of the rule, for these stages and the rows that the promise covers."""
    boundary = problem.rule.boundary(walk).restricted(problem.protect)
    if cost_model.rows_per_line > 1 and isinstance(problem.rule, Ladder):
        return boundary.rescaled(recipe.stage_terms.astype(np.float64) ** -LATE_BOLDNESS)
    return boundary


def _reached_on_validation_rows(seen: StageScores, boundary: Boundary, problem: Problem, dtype: Precision) -> Floats:
    """Share of rows that reach each stage, at the boldest scale q that keeps the risk on these rows."""
    rule, risk, q = problem.rule, problem.risk, 1.0
    if risk is not None and not rule.lossless and not rule.forced:
        members, risks = _members(seen, problem.protect)

        def holds(step: tuple[float, tuple[Stratum, ...]]) -> bool:
            return all(s.n_disagreements <= (risk if s.risk is None else s.risk) * s.n_rows for s in step[1])

        found = fixed_sequence(counts_along(seen, boundary, q_grid(seen, boundary), members, risks), holds)
        q = np.inf if found.passed is None else found.passed[0]
    return shares_reached(seen, boundary, q, dtype)


def _members(seen: StageScores, protect: Protect) -> tuple[dict[str, NDArray[np.bool_]], dict[str, float]]:
    """Masks of the sets of rows that must keep the promise, and the sets' own risks."""
    everything = {"rows": np.ones(seen.n_rows, dtype=bool)}
    if isinstance(protect, Mapping):
        members = {str(code): seen.full == code for code in protect}
        return everything | members, {str(code): risk for code, risk in protect.items()}
    if protect == "all":
        return everything, {}
    codes = {"positive": [1], "negative": [0]}.get(protect) or np.unique(seen.full).tolist()
    return {str(code): seen.full == code for code in codes}, {}


def shares_reached(seen: StageScores, boundary: Boundary, q: float, dtype: Precision) -> Floats:
    """Share of the rows that reach each stage, the full model's included."""
    _, stage = seen.answers(*boundary.thresholds(q, dtype))
    left = np.bincount(stage, minlength=seen.n_stages + 1)
    return 1.0 - np.concatenate([[0], np.cumsum(left)[:-1]]) / max(1, seen.n_rows)


def _plan(recipe: Recipe, boundary: Boundary, reached: Floats, evaluation: Evaluation) -> Plan:
    return Plan(
        order=recipe.order,
        terms=recipe.terms,
        stages=recipe.stages,
        stage_terms=recipe.stage_terms,
        stage_costs=recipe.stage_costs,
        readouts=recipe.readouts,
        boundary=boundary,
        q=np.inf,
        reached=reached,
        surrogates=recipe.surrogates,
        precision=evaluation.dtype,
        evaluate_all=False,
        cost_model=evaluation.cost_model,
    )


def _ladders(recipe: Recipe, cost_model: CostModel, problem: Problem) -> list[list[int]]:
    """Candidate subsets of the stages, as indices; all stages are taken if they cost nothing, as in units."""
    stages = recipe.stages[:-1].tolist()
    everything = list(range(len(stages)))
    if not stages or problem.rule.forced or (cost_model.readout == 0 and cost_model.stage == 0):
        return [everything]
    index = {m: t for t, m in enumerate(stages)}
    candidates = [stages]
    late = (12, 24) if cost_model.by_columns else ()  # before that, columns are read for all rows anyway
    for ratio in (1.3, 1.45, 1.9):
        for first in (0, 2, 3, 6, *late):
            ladder = thinned(stages, ratio, first * problem.block)
            if orders_all_units(problem):
                ladder = sorted({*ladder, stages[-1]})
            if ladder and ladder not in candidates:
                candidates.append(ladder)
    return [[index[m] for m in ladder] for ladder in candidates]
