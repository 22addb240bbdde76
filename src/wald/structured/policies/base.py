"""The base of policies, which rank the parts of examples by how much they deserve each costly group."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..protocol import Session, State, StructuredModel


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

    #: Whether priorities need an answer of the model, which is then counted as an inference.
    needs_inference: ClassVar[bool] = False

    def fit(self, model: StructuredModel, X: Any, y: Any = None) -> Self:
        """Learn from examples, for a model.

        Parameters
        ----------
        model : StructuredModel
            Fitted.
        X, y
            Examples as the model takes them, and their true answers, where the policy needs them.

        Returns
        -------
        self
        """
        raise NotImplementedError

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

    def _remember(self, model: Any) -> None:
        if not isinstance(model, StructuredModel):
            raise TypeError(
                f"{type(self).__name__}.fit needs a fitted structured model, with group_names_, group_costs_, open, "
                f"loss and predict. Got {type(model).__name__}."
            )
        if len(model.group_names_) < 2:
            raise ValueError(f"A policy needs a model with a costly group. Got groups {list(model.group_names_)}.")
        self.model_ = model


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
