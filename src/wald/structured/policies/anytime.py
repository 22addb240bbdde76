"""One addition after another, so that there is an answer at any time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from sklearn.utils import check_random_state

from ...stopping.core.validation import require_between, require_integer, require_positive
from ..protocol import Session, State, StructuredModel
from .base import Policy
from .crossfit import Fold, crossfit
from .driver import Allowance, answers_of, cost_of, rounds
from .evidence import Rows, for_group, rows_of, scores_by_group
from .linear import LinearScore, Scaling
from .segments import parts_of, ranks
from .targets import Objective, changes

#: Values are sums of prices, so that equal ones may differ by rounding.
_ROUNDING = 1e-9


class Step(NamedTuple):
    """One answer of a stream: what was bought, the answer, and its cost."""

    state: State
    prediction: Any
    cost: float


@dataclass(eq=False, repr=False)
class AnytimePolicy(Policy):
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

    n_rounds = None
    pace = 0.0
    needs_inference: ClassVar[bool] = True

    tradeoff: float = 0.3
    _: KW_ONLY
    t_max: int = 6
    C: float = 100.0
    cv: int | str | Sequence[Fold] = 5
    random_state: int | np.random.RandomState | None = None

    def fit(self, model: StructuredModel, X: Any, y: Any = None, *, groups: ArrayLike | None = None) -> Self:
        """Learn which addition to take next; parameters as in `IteratedPolicy.fit`.

        Without ``y``, losses are differences from the answers with everything bought.
        """
        owner = type(self).__name__
        require_between(owner, "tradeoff", self.tradeoff, 0)
        require_integer(owner, "t_max", self.t_max, 1)
        require_positive(owner, "C", self.C)
        self._remember(model)
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        prices = np.asarray(model.group_costs_, dtype=np.float64)[1:]
        folds = crossfit(model, X, y, cv=self.cv, groups=groups, random_state=seed)
        walks = [_Walk(Objective(fold, float(self.tradeoff), prices / prices.sum())) for fold in folds]
        self.score_ = LinearScore(np.zeros(walks[0].width, dtype=np.float32), 0.0)
        batches: list[_Successors] = []
        for _ in range(self.t_max):
            found = [batch for walk in walks if (batch := walk.evaluate()) is not None]
            if not found:
                break
            batches += found
            self.score_ = _learned(batches, float(self.C))
            for walk in walks:
                walk.take(self.score_)
        return self

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of additions; see `Policy.priority`."""
        return scores_by_group(self.score_, rows_of(session, state, examples, "complex"), state.shape[1])

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

    @property
    def width(self) -> int:
        """Features of a row."""
        return int(self._rows(np.array([0]), np.array([0]), np.array([0])).shape[1])

    def evaluate(self) -> _Successors | None:
        """Evaluate all successors; return those of examples with a weight, or None if no example has any left."""
        offsets = np.asarray(self.session.offsets)
        lacks = np.add.reduceat(~self.state.all(axis=1), offsets[:-1], dtype=np.int64)[self.active] > 0
        self.active = self.active[lacks]
        if not len(self.active):
            return None
        self._items, values, self._owners = changes(self.objective, self.state, self.active, ~self.state)
        ends = np.searchsorted(self._owners, np.arange(len(self.active) + 1))
        idle = self.objective(self.state, self.active) + self.objective.tradeoff * self.objective.prices.min()
        worth = idle[self._owners] - values
        weight = np.where(worth > _ROUNDING, worth, 0.0)
        self._seen = self._rows(self.active, *self._items)
        weighted = np.maximum.reduceat(weight, ends[:-1]) > 0
        kept, lengths = weighted[self._owners], np.diff(ends)[weighted]
        self._ends = ends
        return _Successors(self._seen[kept], weight[kept], np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))

    def take(self, score: LinearScore) -> None:
        """Add the successor with the best score to each example."""
        if len(self.active):
            best = ranks(score(self._seen), self._ends) == 0
            self.state[self._items[0][best], self._items[1][best]] = True

    def _rows(self, examples: NDArray[np.int64], parts: NDArray[np.int64], groups: NDArray[np.int64]) -> Rows:
        known, _ = parts_of(np.asarray(self.session.offsets), examples)
        place = np.full(len(self.state), -1)
        place[known] = np.arange(len(known))
        rows = rows_of(self.session, self.state, examples, "complex")[place[parts]]
        n_groups = self.state.shape[1]
        return for_group(rows, groups, n_groups)


def _learned(batches: list[_Successors], C: float) -> LinearScore:
    """Return the score with the least weighted log loss."""
    rows = np.concatenate([batch.rows for batch in batches])
    weight = np.concatenate([batch.weight for batch in batches])
    begins = np.concatenate([[0], np.cumsum([len(batch.rows) for batch in batches])])
    ends = np.concatenate([*(batch.ends[:-1] + b for batch, b in zip(batches, begins, strict=False)), begins[-1:]])
    scaling = Scaling.of(rows) if len(rows) else Scaling(np.zeros(rows.shape[1]), np.full(rows.shape[1], np.inf))
    if not len(rows):
        return LinearScore.unscaled(np.zeros(rows.shape[1]), 0.0, scaling)
    scaled, starts, lengths = scaling(rows), ends[:-1], np.diff(ends)
    total = np.add.reduceat(weight, starts)
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
