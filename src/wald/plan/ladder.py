"""Build a plan: order the units, fit readouts, choose the looks.

Order of decisions, so that a certificate on other rows stays valid: everything here is chosen on plan rows alone,
which are split in two. Orders and readouts are fitted on the first part; the looks, their scales and the candidate to
keep are judged on the second, at the scale q that the certificate's own walk would give there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..stopping import Boundary, Looks, Qwyc, Rule, Walk, q_grid
from ..stopping.boundary import Protect
from .cost import CostModel, geometric, thinned
from .landmarks import BLOCKS
from .moments import Floats, Moments, boundary_weights, gather_moments, row_chunks
from .order import Ints, greedy_order, sorted_order
from .plan import NO_SURROGATES, Plan, Precision, Surrogates
from .qwyc import qwyc_order, unit_sums
from .readout import Prior, Readout, partial_readouts, regressed_readouts
from .units import Units

#: Terms beyond this number are not candidates for early stages; those with the largest contributions are.
MAX_POOL = 6144
#: Bytes that term values of the order rows may take while moments are gathered.
VALUE_BYTES = 1 << 30
#: Up to this many terms, orders on all rows alike and orders without surrogates are tried besides the default.
SMALL = 3000


class Terms(Protocol):
    """What a plan must know of a model: ``F(x) = intercept + coef @ values(x)``."""

    @property
    def n_terms(self) -> int:
        """Number of terms."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs K."""

    @property
    def coef(self) -> Floats:
        """Weights (K, n_terms)."""

    @property
    def intercept(self) -> Floats:
        """Intercepts (K,)."""

    def values(self, X: Any, which: Any = None) -> Floats:
        """Values of the terms ``which`` (all by default) of rows."""


@dataclass(frozen=True, eq=False)
class Recipe:
    """One way to order units and read out, with every look that a ladder may have."""

    order: Ints
    terms: Ints
    stages: Ints
    stage_terms: Ints
    stage_costs: Floats
    readouts: tuple[Readout, ...]
    surrogates: Surrogates

    def subset(self, keep: Sequence[int]) -> Recipe:
        """Keep some of the early looks."""
        last = [len(self.stage_terms)]
        return Recipe(
            self.order,
            self.terms,
            self.stages[[*keep, *last]],
            self.stage_terms[list(keep)],
            self.stage_costs[[*keep, *last]],
            tuple(self.readouts[t] for t in keep),
            self.surrogates,
        )


@dataclass(frozen=True, eq=False)
class Sight:
    """What the engine saw of the shape rows at every look of a recipe, as a walk."""

    walk: Walk
    dtype: Precision
    cost_model: CostModel


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything that a plan is made from.

    Attributes
    ----------
    terms : Terms
    units : Units
    order_rows : array-like or CSR of shape (n, n_features)
        Rows that give order and readouts.
    scores : ndarray of shape (n, K)
        Their full scores.
    confidence : ndarray of shape (n,)
        How clear the full model's own decision is on them.
    order : {"greedy", "qwyc", "random", "sorted"} or ndarray of units
    readout : {"regressed", "partial"}
    rule : Rule
    risk : float or None
        At which candidates are compared; None: the rule is used as printed.
    protect : {"all", "positive", "negative", "each"}
    block : int
        Terms that the engine evaluates at a time.
    looks_at_blocks : bool
        Whether looks come after whole blocks only.
    surrogates : callable or None
        From weights, and terms in the order of their worth, to surrogates and their values on the order rows (n, S).
    sight : callable
        From a recipe to what the engine sees with it on the shape rows.
    rng : Generator
    extra_looks : tuple of int
        Numbers of units after which a ladder may look, besides those of its own.
    threshold : float
        Binary models answer positive above it.
    own_weights : bool
        Whether readouts take from the model what the rows say little of. Those of features do; the weights of kernel
        values cancel each other.
    """

    terms: Terms
    units: Units
    order_rows: Any
    scores: Floats
    confidence: Floats
    order: Literal["greedy", "qwyc", "random", "sorted"] | NDArray[Any]
    readout: Literal["regressed", "partial"]
    rule: Rule
    risk: float | None
    protect: Protect
    block: int
    looks_at_blocks: bool
    surrogates: Callable[[Floats, Ints], tuple[Surrogates, Floats]] | None
    sight: Callable[[Recipe], Sight]
    rng: np.random.Generator
    extra_looks: tuple[int, ...] = field(default=())
    threshold: float = 0.0
    own_weights: bool = False


def build_plan(problem: Problem) -> Plan:
    """Choose order, readouts and looks; the thresholds are left to the certificate (``q = inf``).

    What the rule warns about is passed on for the plan that is chosen, and not for every candidate.
    """
    best: tuple[float, Plan] | None = None
    told: list[warnings.WarningMessage] = []
    for recipe in _recipes(problem):
        sight = problem.sight(recipe)
        for keep in _ladders(recipe, sight.cost_model, problem):
            candidate, walk = recipe.subset(keep), sight.walk.subset(keep)
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                boundary = problem.rule.boundary(walk).restricted(problem.protect)
            live = _served_at_shape(walk.looks.astype(sight.dtype), boundary, problem, sight.dtype)
            expected = sight.cost_model.expected(
                candidate.stage_terms, candidate.stage_costs, live, problem.terms.n_outputs
            )
            if best is None or expected < best[0]:
                best, told = (expected, _plan(candidate, boundary, live, sight)), heard
    assert best is not None
    for warning in told:
        warnings.warn(warning.message, stacklevel=2)
    return best[1]


def _served_at_shape(looks: Looks, boundary: Boundary, problem: Problem, dtype: Precision) -> Floats:
    """Share of rows that reach each look, at the scale q where the certificate's walk would end on these rows."""
    rule, risk, q = problem.rule, problem.risk, 1.0
    if risk is not None and not rule.lossless and not rule.forced:
        q = np.inf
        members = _members(looks, problem.protect)
        for step in q_grid(looks, boundary)[::2]:
            codes, _ = looks.answers(*boundary.thresholds(float(step), dtype))
            differs = codes != looks.full
            if any(np.count_nonzero(differs & rows) > risk * np.count_nonzero(rows) for rows in members):
                break
            q = float(step)
    return live_shares(looks, boundary, q, dtype)


def _members(looks: Looks, protect: Protect) -> list[NDArray[np.bool_]]:
    """Masks of the rows that the promise speaks of, each of which has to keep it."""
    if protect == "all":
        return [np.ones(looks.n_rows, dtype=bool)]
    codes = {"positive": [1], "negative": [0]}.get(protect) or np.unique(looks.full).tolist()
    return [looks.full == code for code in codes]


def live_shares(looks: Looks, boundary: Boundary, q: float, dtype: Precision) -> Floats:
    """Share of the rows that reach each look, the full model's included."""
    _, stage = looks.answers(*boundary.thresholds(q, dtype))
    left = np.bincount(stage, minlength=looks.n_stages + 1)
    return 1.0 - np.concatenate([[0], np.cumsum(left)[:-1]]) / max(1, looks.n_rows)


def _plan(recipe: Recipe, boundary: Boundary, live: Floats, sight: Sight) -> Plan:
    return Plan(
        order=recipe.order,
        terms=recipe.terms,
        stages=recipe.stages,
        stage_terms=recipe.stage_terms,
        stage_costs=recipe.stage_costs,
        readouts=recipe.readouts,
        boundary=boundary,
        q=np.inf,
        live=live,
        surrogates=recipe.surrogates,
        precision=sight.dtype,
        evaluate_all=False,
        cost_model=sight.cost_model,
    )


# ---- recipes: orders and readouts ----------------------------------------------------------------------------------


def _recipes(problem: Problem) -> Iterator[Recipe]:
    """Candidates from plain to elaborate; all of them share the values of the terms."""
    near = boundary_weights(problem.confidence)
    pool = _pool(problem)
    small = len(pool) <= SMALL
    weightings = [near, np.ones_like(near)] if small and problem.readout == "regressed" else [near]
    values = problem.terms.values(problem.order_rows, pool)
    if isinstance(problem.order, str) and problem.order == "qwyc":
        problem = replace(problem, order=_qwyc_units(problem, values, pool))
    plain = _moments(values, np.empty((len(near), 0)), problem, weightings)
    elaborate = problem.surrogates is not None and problem.readout == "regressed" and _is_greedy(problem)
    for weights, moments in zip(weightings, plain, strict=True) if small or not elaborate else ():
        prior = Prior.of_rows(problem.terms.coef[:, pool], values, weights) if problem.own_weights else None
        yield _recipe(problem, moments, pool, NO_SURROGATES, prior)
    if problem.surrogates is not None and elaborate:
        costs = np.ones(len(pool))
        first = greedy_order(plain[0], list(np.arange(len(pool))[:, None]), costs, sum(BLOCKS))
        surrogates, seen = problem.surrogates(near, pool[first])
        yield _recipe(problem, _moments(values, seen, problem, [near])[0], pool, surrogates)


def _moments(values: Floats, surrogates: Floats, problem: Problem, weightings: list[Floats]) -> list[Moments]:
    """Moments of terms, surrogates behind them, and scores."""
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
    """Terms that early stages may use: all, or those that contribute most on the order rows."""
    terms = problem.terms
    most = min(MAX_POOL, max(64, VALUE_BYTES // (8 * max(1, len(problem.confidence)))))
    if terms.n_terms <= most:
        return np.arange(terms.n_terms)
    largest = np.abs(terms.coef).max(axis=0)
    first = np.argsort(-largest, kind="stable")[: 4 * most]
    spread = np.zeros(terms.n_terms)
    for start in range(0, len(first), 1024):
        some = first[start : start + 1024]
        spread[some] = largest[some] * terms.values(problem.order_rows[:2048], some).std(axis=0)
    return np.sort(np.argsort(-spread, kind="stable")[:most])


def _recipe(
    problem: Problem, moments: Moments, pool: Ints, surrogates: Surrogates, prior: Prior | None = None
) -> Recipe:
    """Order the units in the pool, the surrogates in front of them."""
    n_surrogates = len(surrogates.vectors)
    position = np.full(problem.terms.n_terms, -1)
    position[pool] = np.arange(len(pool))
    units = [position[m] for m in problem.units.members]
    known = [u for u, m in enumerate(units) if (m >= 0).all()]
    members = [np.array([len(pool) + s]) for s in range(n_surrogates)] + [units[u] for u in known]
    costs = np.concatenate([np.ones(n_surrogates), problem.units.costs[known]])
    limit = max(1, len(problem.units.members) // 2) if _is_greedy(problem) else len(known)
    if _is_greedy(problem):
        chosen = greedy_order(moments, members, costs, min(len(members), limit + n_surrogates), range(n_surrogates))
    else:
        chosen = _given_order(problem, moments, members, costs, known, pool)
    pooled_terms = np.concatenate([members[c] for c in chosen]) if len(chosen) else np.empty(0, dtype=np.int64)
    names = np.concatenate([pool, problem.terms.n_terms + np.arange(n_surrogates)])
    terms = names[pooled_terms].astype(np.int64)
    sizes = np.cumsum([len(members[c]) for c in chosen]).astype(np.int64)
    unit_costs = np.cumsum(costs[chosen])
    looks = _all_looks(problem, len(chosen), len(problem.units.members) + n_surrogates)
    stage_terms = sizes[np.array(looks, dtype=np.int64) - 1] if looks else np.empty(0, dtype=np.int64)
    if problem.readout == "regressed":
        readouts = regressed_readouts(moments, pooled_terms, stage_terms.tolist(), prior=prior)
    else:
        mean = np.zeros(problem.terms.n_terms)
        mean[pool] = moments.term_mean[: len(pool)]
        readouts = partial_readouts(problem.terms.coef, problem.terms.intercept, mean, terms, stage_terms.tolist())
    total = problem.units.costs.sum() + n_surrogates
    return Recipe(
        order=np.array(
            [c - n_surrogates if c < n_surrogates else known[c - n_surrogates] for c in chosen], dtype=np.int64
        ),
        terms=terms,
        stages=np.array([*looks, len(problem.units.members) + n_surrogates], dtype=np.int64),
        stage_terms=stage_terms,
        stage_costs=np.array([*(unit_costs[m - 1] for m in looks), total]),
        readouts=tuple(readouts),
        surrogates=surrogates,
    )


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
    """Order the units in the pool by what they decide on the order rows."""
    if problem.terms.n_outputs > 1:
        raise ValueError("order='qwyc' is for binary models; for several classes use 'greedy'.")
    alpha = problem.rule.alpha if isinstance(problem.rule, Qwyc) else problem.risk or 0.0
    units, sums = unit_sums(values, pool, problem.terms.coef[0], problem.units.members)
    order = qwyc_order(sums, problem.scores[:, 0], problem.threshold, problem.units.costs[units], alpha)
    return units[order]


def _all_looks(problem: Problem, n_ordered: int, n_units: int) -> list[int]:
    """Every look that a ladder may have: a geometric ladder up to about half of the units."""
    last = min(n_ordered, n_units - 1) if not _is_greedy(problem) else n_ordered
    fine = geometric(problem.block, last, 1.19, problem.block) if problem.looks_at_blocks else geometric(1, last, 1.12)
    return sorted({*fine, *(m for m in problem.extra_looks if 1 <= m <= n_ordered)})


# ---- ladders: which of the looks to take ---------------------------------------------------------------------------


def _ladders(recipe: Recipe, cost_model: CostModel, problem: Problem) -> list[list[int]]:
    """Candidate subsets of the looks, as indices. Looking costs nothing in units: then all of them are taken."""
    looks = recipe.stages[:-1].tolist()
    everything = list(range(len(looks)))
    if not looks or problem.rule.forced or (cost_model.readout == 0 and cost_model.stage == 0):
        return [everything]
    index = {m: t for t, m in enumerate(looks)}
    candidates = [looks]
    for ratio in (1.3, 1.45, 1.9):
        for first in (0, 2 * problem.block, 3 * problem.block, 6 * problem.block):
            ladder = thinned(looks, ratio, first)
            if ladder and ladder not in candidates:
                candidates.append(ladder)
    return [[index[m] for m in ladder] for ladder in candidates]
