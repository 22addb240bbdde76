"""One addition after another, so that there is an answer at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ...utils.reals import require_real
from ..protocol import State
from .base import Stepwise
from .crossfit import Fold
from .driver import Allowance, answers_of, cost_of, rounds
from .evidence import Rows, counts, for_group, parts_of, ranks, rows_of
from .scores import LinearScore, Scaling
from .targets import Objective, changes

#: Values are sums of prices, so that equal ones may differ by rounding.
_ROUNDING = 1e-9


class Step(NamedTuple):
    """One answer of a stream: what was bought, the answer, and its cost."""

    state: State
    prediction: Any
    cost: float


@dataclass(eq=False, repr=False)
class AnytimePolicy(Stepwise):
    """The anytime policy of the paper: a linear score picks the next (part, group) of an example, again and again.

    Parameters
    ----------
    tradeoff : float, default=0.3
        As in `OneShotPolicy`.
    t_max : int, default=6
        Steps that the score learns from; all steps share one score.
    C : float, default=100.0
        Strength of the fit, as in `OneShotPolicy`.
    cv : int, "prefit" or sequence of Fold, default=5
        As in `IteratedPolicy`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    score_ : LinearScore
        Shared by all groups; rows say which group it is.

    Notes
    -----
    T. Bolukbasi, K. Chang, J. Wang and V. Saligrama, "Resource Constrained Structured Prediction" (arXiv 1602.08761),
    algorithms 1 and 2. At each step an example's successors, all single additions s, have weights W(s); the score
    minimizes ``-sum W(s) log softmax(s)``, a convex bound of the weighted errors of equation 8, over all steps so far,
    and then takes the step. Algorithm 2 as published buys one group more than the budget allows; this one stops before.

    Equation 8 has W(s) = max C - C(s). Here it is max(C0 - C(s), 0), where C0 is the value of the cheapest addition
    that changes no answer. If C were counted from the worst addition, a single one that spoils an answer would give
    weight to all additions that change nothing. Together they would outweigh any gain, and the score would learn to
    rank them.

    Scores compare parts of the same example. This suffices for ``BudgetedPredictor(spend="each")``; with
    ``spend="mean"``, which has one threshold for all examples, other policies use the budget better.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import AnytimePolicy
    >>> X, y = make_chains(300, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:200], y[:200])
    >>> policy = AnytimePolicy(random_state=0).fit(model, X[:200], y[:200])
    >>> steps = list(policy.stream(X[200], budget=5.5))
    >>> len(X[200]), [step.cost for step in steps]
    (6, [6.0, 15.0, 24.0, 33.0])
    """

    tradeoff: float = 0.3
    _: KW_ONLY
    t_max: int = 6
    C: float = 100.0
    cv: int | str | Sequence[Fold] = 5
    random_state: int | np.random.RandomState | None = None

    def _learn(self, folds: list[Fold], seeds: list[int]) -> None:
        walks = [_Walk(objective) for objective in self._objectives(folds)]
        batches: list[_Successors] = []
        for _ in range(self.t_max):
            found = [batch for walk in walks if (batch := walk.evaluate()) is not None]
            if not found:
                break
            batches += found
            self.score_ = _learned(batches, float(self.C))
            for walk in walks:
                walk.take(self.score_)

    def stream(self, x: Any, budget: float | None = None) -> Iterator[Step]:
        """Answer at once, and then better and better, one addition at a time.

        Parameters
        ----------
        x
            One example.
        budget : float, default=None
            Stop before a part has cost more than this on average, the cheap group included, in the model's
            ``group_costs_``. None: go on until everything is bought.

        Yields
        ------
        Step
            ``state`` (n_parts, K), ``prediction``, ``cost`` of all parts together. The iterator may be dropped at any
            time.
        """
        costs = np.asarray(self.model_.group_costs_, dtype=np.float64)
        session = self.model_.open([x])
        nothing = session.state() & False
        require_real("budget", budget)
        if budget is not None and not budget >= costs[0]:  # also refuses NaN
            raise ValueError(f"budget must be at least {costs[0]:.6g} a part, the cheap group's cost. Got {budget!r}.")
        allowance = None if budget is None else Allowance(budget - costs[0], costs[1:])

        def step(state: State) -> Step:
            answer = answers_of(session, session.decode(state))[0]
            return Step(state.copy(), answer, float(cost_of(state, np.asarray(session.offsets), costs)[0]))

        yield step(nothing)
        for state, _ in rounds(self, session, -np.inf, allowance):
            yield step(state)


class _Successors(NamedTuple):
    """Successors of some examples: their rows, their weights, and where those of each example begin and end."""

    rows: Rows
    weight: NDArray[np.float64]
    ends: NDArray[np.int64]


class _Walk:
    """Examples of a fold; a step adds one group to each of them."""

    def __init__(self, objective: Objective) -> None:
        self.objective, self.session = objective, objective.fold.session
        self.state = self.session.state() & False
        self.active = np.arange(objective.n_examples)

    def evaluate(self) -> _Successors | None:
        """Evaluate all successors; return those of examples with a weight, or None if no example has any left."""
        offsets = np.asarray(self.session.offsets)
        self.active = self.active[counts(np.any(~self.state, axis=1), offsets)[self.active] > 0]
        if not len(self.active):
            return None
        self._items, values, owners = changes(self.objective, self.state, self.active, ~self.state)
        self._ends = np.searchsorted(owners, np.arange(len(self.active) + 1))
        idle = self.objective(self.state, self.active) + self.objective.tradeoff * self.objective.prices.min()
        worth = idle[owners] - values
        weight = np.where(worth > _ROUNDING, worth, 0.0)
        part, group = self._items
        rows = rows_of(self.session, self.state, self.active, "complex")
        places = np.searchsorted(parts_of(offsets, self.active)[0], part)  # active examples, and so their parts, ascend
        self._seen = for_group(rows[places], group, self.state.shape[1])
        weighted = np.maximum.reduceat(weight, self._ends[:-1]) > 0
        kept, lengths = weighted[owners], np.diff(self._ends)[weighted]
        return _Successors(self._seen[kept], weight[kept], np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def take(self, score: LinearScore) -> None:
        """Add the successor with the best score to each example."""
        if len(self.active):
            best = ranks(score(self._seen), self._ends) == 0
            self.state[self._items[0][best], self._items[1][best]] = True


def _learned(batches: list[_Successors], C: float) -> LinearScore:
    """Return the score with the least weighted log loss."""
    rows = np.concatenate([batch.rows for batch in batches])
    if not len(rows):
        return LinearScore(np.zeros(rows.shape[1], dtype=np.float32), 0.0)
    weight = np.concatenate([batch.weight for batch in batches])
    lengths = np.concatenate([np.diff(batch.ends) for batch in batches])
    starts = np.cumsum(lengths) - lengths
    scaling = Scaling.of(rows)
    scaled, total = scaling(rows), np.add.reduceat(weight, starts)
    strength = C / weight.sum()

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        f = scaled @ w
        f -= np.repeat(np.maximum.reduceat(f, starts), lengths)
        odds = np.exp(f)
        sums = np.add.reduceat(odds, starts)
        value = strength * (total @ np.log(sums) - weight @ f)
        slope = strength * (odds * np.repeat(total / sums, lengths) - weight)
        return 0.5 * float(w @ w) + float(value), w + slope @ scaled

    found = minimize(loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": 100})
    return LinearScore.unscaled(found.x, 0.0, scaling)
