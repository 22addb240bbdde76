"""The base of policies, which rank the parts of examples by how much they deserve each costly group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ...stopping.core.validation import require_between, require_integer, require_option, require_positive
from ...utils.undo import all_or_nothing
from ..protocol import Session, State, StructuredModel
from .crossfit import Fold, crossfit
from .evidence import rows_of, scores_by_group
from .scores import LinearScore
from .targets import Objective

#: What parameters may be, whichever policy has them, besides None where that is their default.
_RANGES: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("tradeoff", "tau", "alpha"), (require_between, 0)),
    **dict.fromkeys(("pace", "gamma", "epsilon"), (require_between, 0, 1)),
    **dict.fromkeys(("n_rounds", "max_iter", "t_max"), (require_integer, 1)),
    "n_states": (require_integer, 0),
    "C": (require_positive,),
}


class Policy(BaseEstimator):
    """A policy; the base of all of them.

    A driver computes priorities, buys what lies above a threshold, and repeats under the new state, until nothing is
    bought or `n_rounds` is reached. `BudgetedPredictor`, not the policy, chooses the threshold for a budget.

    Attributes
    ----------
    n_rounds : int or None
        Number of times that priorities are computed at most; None: as long as something is bought.
    pace : float
        Share of an example's (part, group) pairs above the threshold that a round buys, rounded up, the highest
        priorities first; the last round buys all of them. 0: one pair at a time.
    model_ : StructuredModel
        The model that the policy was fitted for.

    See Also
    --------
    wald.structured.BudgetedPredictor : Predict with a model and a policy.
    """

    n_rounds: int | None = 1
    pace: float = 1.0
    model_: StructuredModel

    #: Values of the parameters that have a few; and which of three seeds draws the folds.
    options: ClassVar[dict[str, tuple[str, ...]]] = {}
    fold_seed: ClassVar[int] = 0
    # Of policies that learn:
    tradeoff: float
    cv: int | str | Sequence[Fold]
    random_state: Any

    def fit(self, model: StructuredModel, X: Any = None, y: Any = None, *, groups: ArrayLike | None = None) -> Self:
        """Learn from examples, for a model.

        Parameters
        ----------
        model : StructuredModel
            Fitted.
        X, y
            Examples as the model takes them, and their true answers: those that the model learned from, unless
            ``cv="prefit"`` or there is no ``y``. Without ``y``, losses are differences from the answers with everything
            bought. Policies without a ``cv`` learn nothing, and need neither.
        groups : array-like of shape (n_examples,), default=None
            Examples of the same group stay in one fold.
        """
        self._check(model, y)
        with all_or_nothing(self):
            self.model_ = model
            if hasattr(self, "cv"):
                if X is None:
                    raise TypeError(f"{type(self).__name__}.fit needs X, examples to learn from. Got None.")
                seeds = check_random_state(self.random_state).randint(2**31 - 1, size=3).tolist()
                seed = seeds[self.fold_seed]
                self._learn(crossfit(model, X, y, cv=self.cv, groups=groups, random_state=seed), seeds)
        return self

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Priorities of the parts for the groups under a state.

        Parameters
        ----------
        session : Session
            A session of the fitted model.
        state : bool ndarray of shape (n_parts, K)
            State of all parts of the session.
        examples : int64 ndarray
            The examples in question.

        Returns
        -------
        float64 ndarray of shape (n_parts of these examples, K)
            Larger values deserve more; values of groups that the state already has are ignored. An example's rows
            depend on that example alone.
        """
        raise NotImplementedError

    def _check(self, model: Any, y: Any) -> None:
        """Raise unless the model is of use, and all parameters are in range."""
        owner = type(self).__name__
        if not isinstance(model, StructuredModel):
            raise TypeError(
                f"{owner}.fit needs a fitted structured model, with group_names_, group_costs_, open, loss and "
                f"predict. Got {type(model).__name__}."
            )
        if len(model.group_names_) < 2:
            raise ValueError(f"A policy needs a model with a costly group. Got groups {list(model.group_names_)}.")
        for name, value in self.get_params(deep=False).items():
            if name in self.options:
                require_option(owner, name, value, self.options[name])
            elif name in _RANGES and not (value is None and getattr(type(self), name) is None):
                check, *bounds = _RANGES[name]
                check(owner, name, value, *bounds)

    def _learn(self, folds: list[Fold], seeds: list[int]) -> None:
        """Learn from examples that are held out. A policy with a `fit` of its own has no need of it."""
        raise NotImplementedError

    def _objectives(self, folds: list[Fold]) -> list[Objective]:
        prices = np.asarray(self.model_.group_costs_, dtype=np.float64)[1:]
        return [Objective(fold, float(self.tradeoff), prices / prices.sum()) for fold in folds]


class Stepwise(Policy):
    """A policy that buys one (part, group) at a time: the one with the best score, which all groups share."""

    n_rounds = None
    pace = 0.0
    score_: LinearScore

    def priority(self, session: Session, state: State, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of additions; see `Policy.priority`."""
        return scores_by_group(self.score_, rows_of(session, state, examples, "complex"), state.shape[1])


def check_policy(policy: Any, model: Any) -> None:
    """Raise unless a policy is fitted, and for this very model."""
    if not isinstance(policy, Policy):
        raise TypeError(f"policy must be one of wald.structured.policies. Got {type(policy).__name__}.")
    check_is_fitted(policy, "model_")
    if policy.model_ is not model:
        raise ValueError(
            f"{type(policy).__name__} was fitted for another model: call policy.fit(model, X, y) with the model that "
            "predicts. A copy is another model; pickle the two together."
        )
