"""Candidates for a plan: orders of the units, and readouts with every stage that a ladder may have."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy import sparse

from ..engine import Stages
from ..models.packing import NO_SURROGATES, Surrogates
from ..models.protocols import Stepped, Summed, owners_of
from ..models.units import Purchase, Units
from .cost import geometric
from .moments import Floats, Moments, boundary_weights, gather_moments, row_chunks
from .order import Ints, greedy_order, sorted_order
from .plan import Recipe
from .prior import with_pseudo_rows
from .problem import Problem
from .qwyc import qwyc_order, unit_sums
from .readout import partial_readouts, regressed_readouts, running_partial_sums
from .spread import LEAST_ROWS as SPREAD_ROWS
from .spread import with_spread
from .sums import LEAST_ROWS, SummedTerms, corrected_stages, mixed_stages

#: Largest number of candidate terms for early stages: those of the units with the largest contributions.
MAX_POOL = 6144
#: For sparse rows, the largest number of candidate units is `SPARSE_POOL` times a row's mean number of non-zeros, or
#: `LEAST_POOL` if that is larger; but not of ensembles, whose members cost a row more than its non-zeros.
SPARSE_POOL, LEAST_POOL = 4, 64
#: Bytes that term values of the order rows may take while moments are gathered.
VALUE_BYTES = 1 << 30
#: Up to this number of candidate terms, more orders are tried: those without surrogates and, if the model has no
#: weights of its own, those with equal weights of all rows.
SMALL = 3000
#: Units at the first stage, and the ratio from one stage to the next. Where rows carry sums, a stage costs as much as
#: some trees.
PLAIN_STAGES, SUMMED_STAGES = (1, 1.12), (3, 1.25)
#: Largest number of units for which models with weights of their own order all units, if a unit has one term or the
#: family wants it; other greedy orders have half of the units.
WHOLE = 1024
#: Up to this number of units of several terms, such as groups of features with prices, all are ordered in any case.
FEW_GROUPS = 16


def recipes(problem: Problem) -> Iterator[Recipe]:
    """Candidates, the simplest first; they share the values of the terms."""
    if problem.given:
        yield from problem.given
        return
    planning, summed = problem.terms.planning, Summed.of(problem.terms)
    near = boundary_weights(problem.confidence, planning.boundary_width, planning.boundary_floor)
    pool = _pool(problem)
    small = len(pool) <= SMALL
    equal_too = small and problem.rule.readout == "regressed" and not planning.own_weights
    weightings = [near, np.ones_like(near)] if equal_too else [near]
    values = problem.terms.values(problem.order_rows, pool)
    if isinstance(problem.order, str) and problem.order == "qwyc":
        decisive = _qwyc_units(problem, values, pool)
        problem = replace(problem, order=decisive if len(decisive) else "sorted")  # either is empty without a pool
    plain = _moments(values, np.empty((len(near), 0)), problem, weightings)
    uses_surrogates = problem.surrogates is not None and problem.rule.readout == "regressed" and _is_greedy(problem)
    for weights, moments in zip(weightings, plain, strict=True) if small or not uses_surrogates else ():
        drawn = moments
        if planning.own_weights:
            drawn = with_pseudo_rows(moments, problem.terms.coef[:, pool], values, weights)
        orders = [_recipe(problem, moments, drawn, pool, NO_SURROGATES)]
        if problem.also_ordered_by is not None and _is_greedy(problem):
            other = _recipe(problem, moments, drawn, pool, NO_SURROGATES, problem.also_ordered_by)
            if not np.array_equal(orders[0].order, other.order):
                orders.append(other)
        for recipe in orders:
            if summed is None:
                yield from _with_spread(problem, recipe, values, drawn, weights, pool)
            else:
                yield from _with_sums(problem, recipe, values, weights, pool)
        if problem.rule.needs.lossless and planning.orders_all_units and _is_greedy(problem):
            # what proves a label is how little the rest can change
            yield _recipe(replace(problem, order="sorted"), moments, drawn, pool, NO_SURROGATES)
    if problem.surrogates is not None and uses_surrogates:
        costs = np.ones(len(pool))
        first = greedy_order(plain[0], list(np.arange(len(pool))[:, None]), costs, planning.surrogate_candidates)
        surrogates, seen = problem.surrogates(near, pool[first])
        (moments,) = _moments(values, seen, problem, [near])
        recipe = _recipe(problem, moments, moments, pool, surrogates)
        yield from _with_spread(problem, recipe, np.hstack([values, seen]), moments, near, pool)


def _moments(values: Floats, surrogates: Floats, problem: Problem, weightings: list[Floats]) -> list[Moments]:
    """Moments of terms, then surrogates, and of scores."""
    width = values.shape[1] + surrogates.shape[1]

    def chunks() -> Iterator[tuple[Floats, Floats, Floats]]:
        for rows in row_chunks(len(values), 8 * width):
            yield (
                np.hstack([values[rows], surrogates[rows]]),
                problem.scores[rows],
                np.stack([w[rows] for w in weightings]),
            )

    return gather_moments(chunks(), width, problem.terms.n_outputs, len(weightings))


def _is_greedy(problem: Problem) -> bool:
    return isinstance(problem.order, str) and problem.order == "greedy"


def _pool(problem: Problem) -> Ints:
    """Candidate terms for early stages: all terms, or those of the units that contribute most on the order rows.

    A unit contributes as much as the largest of its terms. Units with more terms than a pool may have are left out.
    """
    terms, members = problem.terms, problem.units.members
    most = min(MAX_POOL, max(64, VALUE_BYTES // (8 * max(1, len(problem.confidence)))))
    most_units = len(members)
    if sparse.issparse(problem.order_rows) and Summed.of(terms) is None and not terms.planning.orders_all_units:
        most_units = max(LEAST_POOL, SPARSE_POOL * problem.order_rows.nnz // max(1, problem.order_rows.shape[0]))
    if terms.n_terms <= most and len(members) <= most_units:
        return np.arange(terms.n_terms)
    fitting = [m for m in members if len(m) <= most]
    if not fitting:
        return np.empty(0, dtype=np.int64)
    sizes = np.array([len(m) for m in fitting])
    together, starts = np.concatenate(fitting), np.cumsum(sizes) - sizes

    def best(of_terms: Floats, n_terms: int, n_units: int) -> Ints:
        """Terms of the units with the largest values."""
        order = np.argsort(-np.maximum.reduceat(of_terms[together], starts), kind="stable")[:n_units]
        taken = np.searchsorted(np.cumsum(sizes[order]), n_terms, side="right")
        return np.concatenate([fitting[u] for u in order[:taken]])

    largest = np.abs(terms.coef).max(axis=0)
    first = best(largest, 4 * most, 4 * most_units)
    spread = np.full(terms.n_terms, -1.0)
    for start in range(0, len(first), 1024):
        some = first[start : start + 1024]
        spread[some] = largest[some] * terms.values(problem.order_rows[:2048], some).std(axis=0)
    return np.sort(best(spread, most, most_units))


def _recipe(
    problem: Problem,
    seen: Moments,
    drawn: Moments,
    pool: Ints,
    surrogates: Surrogates,
    ordered_by: Units | None = None,
) -> Recipe:
    """Order the surrogates and then the units in the pool, and fit readouts.

    Fits use ``drawn``, the moments ``seen`` shrunk towards the model's own weights. A greedy order uses the prices of
    ``ordered_by``, by default those of the units.
    """
    n_surrogates = len(surrogates.vectors)
    position = np.full(problem.terms.n_terms, -1)
    position[pool] = np.arange(len(pool))
    units = [position[m] for m in problem.units.members]
    known = [u for u, m in enumerate(units) if (m >= 0).all()]
    members = [np.array([len(pool) + s]) for s in range(n_surrogates)] + [units[u] for u in known]
    priced = _priced(problem.units, known, n_surrogates)
    if _is_greedy(problem):
        n_units = len(problem.units.members)
        few_groups = n_units <= FEW_GROUPS and problem.terms.n_terms > n_units
        limit = len(known) if few_groups or orders_all_units(problem) else max(1, n_units // 2)
        prices = priced if ordered_by is None else _priced(ordered_by, known, n_surrogates)
        costs = prices.costs if prices.buys is None else Purchase(prices)
        chosen = greedy_order(drawn, members, costs, min(len(members), limit + n_surrogates), range(n_surrogates))
        if Summed.of(problem.terms) is not None and n_surrogates == 0:  # the last stages need all, in whatever order
            chosen = np.concatenate([chosen, np.setdiff1d(np.arange(len(members)), chosen)])
    else:
        chosen = _given_order(problem, seen, members, _alone(priced), known, pool)
    pooled_terms = np.concatenate([members[c] for c in chosen]) if len(chosen) else np.empty(0, dtype=np.int64)
    names = np.concatenate([pool, problem.terms.n_terms + np.arange(n_surrogates)])
    terms = names[pooled_terms].astype(np.int64)
    sizes = np.cumsum([len(members[c]) for c in chosen]).astype(np.int64)
    bought = Purchase(priced)
    unit_costs = np.cumsum([bought.buy(c) for c in chosen])
    stages = _all_stages(problem, len(chosen), len(problem.units.members) + n_surrogates)
    stage_terms = sizes[np.array(stages, dtype=np.int64) - 1] if stages else np.empty(0, dtype=np.int64)
    if problem.rule.readout == "regressed":
        own = problem.terms.coef[:, pool] if problem.terms.planning.own_weights else None
        owners = owners_of(problem.terms)
        readouts = regressed_readouts(
            drawn,
            pooled_terms,
            stage_terms.tolist(),
            still_weights=own,
            owners=None if owners is None else owners[pool],
        )
    else:
        mean = np.zeros(problem.terms.n_terms)
        if not (problem.rule.needs.lossless and problem.terms.n_outputs > 1):  # its bounds hold for any pair of outputs
            mean[pool] = seen.term_mean[: len(pool)]
        readouts = partial_readouts(
            problem.terms.coef,
            problem.terms.intercept,
            mean,
            terms,
            stage_terms.tolist(),
        )
    total = problem.units.total + n_surrogates
    return Recipe(
        order=np.array(
            [c - n_surrogates if c < n_surrogates else known[c - n_surrogates] for c in chosen], dtype=np.int64
        ),
        terms=terms,
        stages=np.array([*stages, len(problem.units.members) + n_surrogates], dtype=np.int64),
        stage_costs=np.array([*(unit_costs[m - 1] for m in stages), total]),
        early=Stages(stage_terms, tuple(readouts)),
        surrogates=surrogates,
    )


def _with_spread(
    problem: Problem, recipe: Recipe, values: Floats, drawn: Moments, row_weights: Floats, pool: Ints
) -> Iterator[Recipe]:
    """The recipe and, where rows leave by the margin of one score, the same with the spread of each row's error.

    Labels gain nothing from it. `values` and `drawn` are those of the pool, and then of surrogates.
    """
    yield recipe
    scaled = problem.rule.needs.error_scales and problem.rule.readout == "regressed"
    several = problem.terms.n_outputs > 1
    if not (problem.by_margin and scaled) or several or len(recipe.early) == 0 or len(values) < SPREAD_ROWS:
        return
    n_terms = problem.terms.n_terms
    own = recipe.terms < n_terms
    columns = np.where(own, np.searchsorted(pool, recipe.terms), len(pool) + recipe.terms - n_terms)
    readouts = with_spread(recipe.early.readouts, values, columns, drawn, problem.scores[:, 0], row_weights)
    yield replace(recipe, early=replace(recipe.early, readouts=readouts))


def _with_sums(problem: Problem, recipe: Recipe, values: Floats, row_weights: Floats, pool: Ints) -> Iterator[Recipe]:
    """The recipe with running sums, and with corrected leaves as well."""
    if problem.rule.readout != "regressed":
        yield replace(recipe, early=running_partial_sums(recipe.early))
        return
    order, owners = np.searchsorted(pool, recipe.terms), owners_of(problem.terms)
    owner = np.zeros(len(order), dtype=np.int64) if owners is None else owners[recipe.terms]
    terms = SummedTerms(values, order, owner, problem.scores, row_weights, None, np.zeros(len(pool), dtype=np.int64))
    mixed = mixed_stages(terms, recipe.stage_terms, recipe.early.readouts)
    yield replace(recipe, early=mixed)
    stepped = Stepped.of(problem.terms)
    counts = None if stepped is None else stepped.leaf_counts()
    few = len(mixed) == 0 or len(values) < LEAST_ROWS
    if stepped is None or counts is None or few or not problem.rule.needs.error_scales:
        return
    terms = replace(terms, leaves=stepped.leaves(problem.order_rows, pool), n_leaves=counts[pool])
    yield replace(recipe, early=corrected_stages(terms, mixed, problem.by_margin))


def _priced(units: Units, known: list[int], n_surrogates: int) -> Units:
    """The surrogates, each at cost 1, and the units in the pool."""
    units = units.take(known)
    if n_surrogates == 0:
        return units
    if units.buys is not None:
        raise ValueError("Units that share what they buy cannot have surrogates.")
    costs = np.concatenate([np.ones(n_surrogates), units.costs])
    return Units((*np.arange(n_surrogates)[:, None], *units.members), costs)


def _alone(units: Units) -> Floats:
    """Cost of each unit alone; what buys nothing counts as the cheapest unit that buys something."""
    positive = units.costs[units.costs > 0]
    return np.maximum(units.costs, positive.min() if len(positive) else 1.0)


def reach_the_end(problem: Problem) -> bool:
    """Whether all ladders have the last possible stage: that of all units, of running sums, or of given recipes.

    What these cost to the end holds for rows that their own last stage leaves undecided.
    """
    return bool(problem.given) or orders_all_units(problem) or Summed.of(problem.terms) is not None


def orders_all_units(problem: Problem) -> bool:
    """Whether greedy orders have all units."""
    few = len(problem.units.members) <= WHOLE
    single = problem.terms.n_terms == len(problem.units.members) or problem.terms.planning.orders_all_units
    return _is_greedy(problem) and problem.terms.planning.own_weights and few and single


def _given_order(
    problem: Problem, moments: Moments, members: list[Ints], costs: Floats, known: list[int], pool: Ints
) -> Ints:
    if isinstance(problem.order, str):
        if problem.order == "random":
            return problem.rng.permutation(len(known))
        return sorted_order(np.abs(problem.terms.coef).max(axis=0)[pool], moments, members, costs)
    index = {u: i for i, u in enumerate(known)}
    order = np.asarray(problem.order)
    n_units = len(problem.units.members)
    if order.ndim != 1 or order.dtype.kind not in "iu" or len(np.unique(order)) != len(order) or len(order) == 0:
        raise ValueError(
            "order must be 'greedy', 'qwyc', 'random', 'sorted', or a 1-D array of different unit indices."
        )
    if order.min() < 0 or order.max() >= n_units:
        raise ValueError(f"order must hold unit indices from 0 to {n_units - 1}. Got {order.min()} to {order.max()}.")
    missing = [int(u) for u in order if int(u) not in index]
    if missing:
        raise ValueError(
            f"order names {len(missing)} units that are no candidates: early stages can have {len(pool)} terms."
        )
    return np.array([index[int(u)] for u in order], dtype=np.int64)


def _qwyc_units(problem: Problem, values: Floats, pool: Ints) -> Ints:
    """Order the units in the pool by the number of order rows that they decide."""
    if problem.terms.n_outputs > 1:
        raise ValueError("order='qwyc' is for binary models; for several classes use 'greedy'.")
    own = problem.rule.needs.order_share
    alpha = own if own is not None else problem.promised.risk or 0.0
    units, sums = unit_sums(values, pool, problem.terms.coef[0], problem.units.members)
    costs = _alone(problem.units.take(units.tolist()))
    order = qwyc_order(sums, problem.scores[:, 0], problem.threshold, costs, alpha)
    return units[order]


def _all_stages(problem: Problem, n_ordered: int, n_units: int) -> list[int]:
    """Every stage that a ladder may have: geometric, up to the last ordered unit."""
    last = min(n_ordered, n_units - 1)
    first, ratio = PLAIN_STAGES if Summed.of(problem.terms) is None else SUMMED_STAGES
    if problem.stages_at_blocks:
        fine = geometric(problem.block, last, 1.19, problem.block)
    else:
        fine = geometric(first, last, ratio)
    stages = {*fine, *(m for m in problem.rule.needs.stages if 1 <= m <= last)}
    return sorted({*stages, last} if reach_the_end(problem) and last > 0 else stages)
