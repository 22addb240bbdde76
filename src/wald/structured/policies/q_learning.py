"""A baseline policy that learns the long-term values of additions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import Ridge

from .base import Stepwise
from .crossfit import Fold
from .evidence import Rows, for_group, parts_of, ranks, rows_of, scores_by_group
from .scores import LinearScore, Scaling
from .targets import Objective


@dataclass(eq=False, repr=False)
class QLearningPolicy(Stepwise):
    """Fitted Q-learning: the next (part, group) is the one with the largest estimated sum of rewards.

    Parameters
    ----------
    tradeoff : float, default=0.3
        As in `OneShotPolicy`; the cost of an addition is subtracted from its reward.
    gamma : float, default=0.9
        Discount of later rewards, from 0 to 1.
    max_iter : int, default=6
        Ridge regressions, each on values that the previous one predicts.
    epsilon : float, default=0.5
        Share of the steps of training walks that are taken at random; the others go to the least confident part.
    t_max : int, default=6
        Steps of training walks.
    alpha : float, default=10.0
        Ridge penalty.
    cv : int, "prefit" or sequence of Fold, default=5
        As in `IteratedPolicy`.
    random_state : int, RandomState instance or None, default=None

    Attributes
    ----------
    score_ : LinearScore
        The value Q of an addition.

    Notes
    -----
    After D. Weiss and B. Taskar, "Learning Adaptive Value of Information for Structured Prediction", NIPS 2013: the
    reward of an addition is the loss that it takes away; stopping is worth 0. Here additions are made part by part,
    and the regression is fitted Q-iteration: ``Q(S, a) = r - tradeoff * cost + gamma * max(0, max Q(S', .))``. It needs
    an inference a step.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import QLearningPolicy
    >>> X, y = make_chains(300, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:200], y[:200])
    >>> policy = QLearningPolicy(random_state=0).fit(model, X[:200], y[:200])
    >>> BudgetedPredictor(model, policy, budget=4).fit(X[200:]).mean_cost_ <= 4
    True
    """

    tradeoff: float = 0.3
    _: KW_ONLY
    gamma: float = 0.9
    max_iter: int = 6
    epsilon: float = 0.5
    t_max: int = 6
    alpha: float = 10.0
    cv: int | str | Sequence[Fold] = 5
    random_state: int | np.random.RandomState | None = None

    def _learn(self, folds: list[Fold], seeds: list[int]) -> None:
        rng = np.random.default_rng(seeds[0])
        moves = [move for objective in self._objectives(folds) for move in self._walk(objective, rng)]
        taken = np.concatenate([move.taken for move in moves])
        reward = np.concatenate([move.reward for move in moves])
        scaling = Scaling.of(taken)
        scaled = scaling(taken)
        self.score_ = LinearScore(np.zeros(taken.shape[1], dtype=np.float32), 0.0)
        for iteration in range(self.max_iter):
            later = np.concatenate([move.best(self.score_) for move in moves]) if iteration else np.zeros(len(reward))
            ridge = Ridge(alpha=self.alpha).fit(scaled, reward + self.gamma * later)
            self.score_ = LinearScore.unscaled(ridge.coef_, float(ridge.intercept_), scaling)

    def _walk(self, objective: Objective, rng: np.random.Generator) -> list[_Moves]:
        """Moves of all examples of a fold, a step at a time."""
        session, state = objective.fold.session, objective.fold.session.state() & False
        offsets, n_groups = np.asarray(session.offsets), state.shape[1]
        everyone, moves = np.arange(objective.n_examples), []
        value, rows = objective(state, everyone), rows_of(session, state, everyone, "complex")
        for _ in range(self.t_max):
            lacks = ~state
            explores = rng.random(len(everyone)) < self.epsilon
            doubt = -np.asarray(session.confidence(state), dtype=np.float64)
            example = np.repeat(everyone, np.diff(offsets))
            preference = np.where(explores[example], rng.random(len(doubt)), doubt)[:, None]
            preference = preference + 1e-9 * rng.random(lacks.shape)  # breaks ties at random
            items = offsets * n_groups
            first = (ranks(np.where(lacks, preference, -np.inf).ravel(), items) == 0).reshape(lacks.shape) & lacks
            part, group = np.nonzero(first)  # parts ascend, and so do their examples
            moved = example[part]
            taken = for_group(rows[part], group, n_groups)
            state[part, group] = True
            after = objective(state, everyone)
            rows = rows_of(session, state, everyone, "complex")
            parts, ends = parts_of(offsets, moved)
            moves.append(_Moves(taken, (value - after)[moved], rows[parts], ~state[parts], ends))
            value = after
        return moves


class _Moves(NamedTuple):
    """One addition to each of some examples: its row, its reward, and the example's rows after it."""

    taken: Rows
    reward: NDArray[np.float64]
    rows: Rows
    lacks: NDArray[np.bool_]
    ends: NDArray[np.int64]

    def best(self, score: LinearScore) -> NDArray[np.float64]:
        """Value of the best next addition to each example, or 0 for stopping."""
        if not len(self.reward):
            return np.empty(0)
        n_groups = self.lacks.shape[1]
        values = scores_by_group(score, self.rows, n_groups)
        best = np.where(self.lacks, values, 0.0).max(axis=1)
        return np.asarray(np.maximum(np.maximum.reduceat(best, self.ends[:-1]), 0.0))
