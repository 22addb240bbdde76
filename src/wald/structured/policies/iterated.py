"""The default policy: buy where the answer is probably wrong, decode again, and repeat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..protocol import Session, State
from .base import Policy
from .crossfit import Fold
from .evidence import Rows, known_of, rows_of
from .scores import BoostedTrees


@dataclass(eq=False, repr=False)
class IteratedPolicy(Policy):
    """Rank parts by the probability that their answer is wrong given what was bought so far; buy, decode, rank again.

    Parameters
    ----------
    target : {"wrong", "differs"}, default="wrong"
        The predicted event: a part's answer is not the true one, or, without labels, not the one that the model gives
        with everything bought.
    n_rounds : int, default=3
        Number of times that parts are ranked.
    pace : float, default=0.5
        Share of the parts above the threshold that an example buys in a round before the last; better answers there may
        make buying for their neighbours unnecessary.
    n_states : int, default=2
        Random states of every example that the trees learn from, besides the one in which nothing is bought.
    max_iter : int, default=100
        Boosted trees.
    cv : int, "prefit" or sequence of Fold, default=5
        Folds for the predictions that the trees learn from. "prefit": the model did not learn from the examples, and is
        used as it is, as always when `fit` gets no labels. Folds that `crossfit` returned are used as they are: several
        policies may share them.
    random_state : int, RandomState instance or None, default=None
        Draws folds and states.

    Attributes
    ----------
    trees_ : BoostedTrees
        Log odds of the target.
    repaired_ : float64 ndarray of shape (K,)
        Share of the parts with the target that lose it when the group is bought for every part. With several groups,
        priorities are weighted by this share, and by the group's cost.

    See Also
    --------
    OneShotPolicy : Decide once, with a linear classifier.

    Notes
    -----
    The method is this library's own. Trees learn by log loss on cross-fitted predictions, from parts that lack a group,
    with `evidence` of both kinds; a priority is the logarithm of the probability.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import IteratedPolicy
    >>> X, y = make_chains(600, noise=1.5, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:400], y[:400])
    >>> policy = IteratedPolicy(random_state=0).fit(model, X[:400], y[:400])
    >>> fast = BudgetedPredictor(model, policy, budget=4).fit(X[400:500])
    >>> fast.mean_cost_ <= 4
    True
    """

    target: str = "wrong"
    _: KW_ONLY
    n_rounds: int | None = 3
    pace: float = 0.5
    n_states: int = 2
    max_iter: int = 100
    cv: int | str | Sequence[Fold] = 5
    random_state: int | np.random.RandomState | None = None

    options: ClassVar = {"target": ("wrong", "differs")}
    fold_seed: ClassVar[int] = 1

    def _check(self, model: Any, y: Any) -> None:
        super()._check(model, y)
        if y is None and self.target == "wrong":
            raise ValueError("target='wrong' needs y. Without labels, use target='differs'.")

    def _learn(self, folds: list[Fold], seeds: list[int]) -> None:
        rng = np.random.default_rng(seeds[0])
        rows, events, repaired = [], [], []
        for fold in folds:
            nothing = fold.session.state() & False
            for state in [nothing, *(random_state(fold.session, rng) for _ in range(self.n_states))]:
                described, event = self._described(fold, state)
                rows.append(described)
                events.append(event)
            repaired.append(self._repairs(fold, nothing))
        self.trees_ = BoostedTrees(np.concatenate(rows), np.concatenate(events), self.max_iter, seeds[2])
        self.repaired_ = np.clip(np.sum(repaired, axis=0)[1:] / max(np.sum(repaired, axis=0)[0], 1), 1e-3, 1)

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Log probabilities, weighted by the share that a group repairs over its cost; see `Policy.priority`."""
        chances = self.trees_.chances(known_of(session, state, examples))
        worth = np.log(self.repaired_ / np.asarray(self.model_.group_costs_, dtype=np.float64)[1:])
        return np.asarray(chances[:, None] + (worth - worth.max()))

    def _event(self, fold: Fold, codes: NDArray[np.int32]) -> NDArray[np.bool_]:
        if self.target == "wrong":
            return np.asarray(fold.loss(codes) > 0)
        return np.asarray(codes != fold.everything)

    def _described(self, fold: Fold, state: State) -> tuple[Rows, NDArray[np.bool_]]:
        """Rows and events of the parts that lack a group and whose truth is known."""
        requested = np.any(~state, axis=1)
        if fold.truth is not None:
            requested &= fold.truth >= 0
        everyone = np.arange(len(fold.session.offsets) - 1)
        event = self._event(fold, fold.session.decode(state))
        return rows_of(fold.session, state, everyone, "complex")[requested], event[requested]

    def _repairs(self, fold: Fold, nothing: State) -> NDArray[np.int64]:
        """Count the parts that have the target with nothing bought, and those that lose it with each group."""
        event = self._event(fold, fold.session.decode(nothing))
        out = [np.count_nonzero(event)]
        for group in range(nothing.shape[1]):
            state = nothing.copy()
            state[:, group] = True
            out.append(np.count_nonzero(event & ~self._event(fold, fold.session.decode(state))))
        return np.array(out)


def random_state(session: Session, rng: np.random.Generator) -> State:
    """Draw a state as for training chains: each example has its own probability, a tenth of them nothing."""
    offsets = np.asarray(session.offsets)
    lengths = offsets[1:] - offsets[:-1]
    share = rng.random(len(lengths)) * (rng.random(len(lengths)) >= 0.1)
    return np.asarray(rng.random(session.state().shape) < np.repeat(share, lengths)[:, None])
