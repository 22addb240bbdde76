"""Prediction under a budget: a model, a policy, and the threshold that makes the mean cost meet the budget."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from wald.stopping.validation import require_option
from wald.structured.policies.base import Policy, check_policy
from wald.structured.policies.driver import Acquired, Allowance, acquire, answers_of, cost_of
from wald.structured.protocol import Session, StructuredModel

#: Bisections of the threshold, once its place among the first priorities is known.
_BISECTIONS = 12


class BudgetedPredictor(BaseEstimator):
    """Predict with a structured model whose policy buys costly groups for the parts that deserve them.

    Parameters
    ----------
    model : StructuredModel
        Fitted.
    policy : Policy
        Fitted for this model.
    budget : float
        Mean cost of a part, its cheap group included, in the units of ``costs``.
    costs : array-like of shape (K + 1,) or dict, default=None
        Cost of each group for one part, the cheap one first; a dict has them by name. None: the model's
        ``group_costs_``.
    spend : {"mean", "each"}, default="mean"
        Whether the examples' mean meets the budget, and money goes where it is needed most; or every example stays
        within the budget on its own, stopping before it.

    Attributes
    ----------
    threshold_ : float
        Parts get a group if their priority for it lies above.
    spend_ : float
        Mean cost of a part on the examples that `fit` saw: the largest one not above the budget.
    costs_ : float64 ndarray of shape (K + 1,)

    Raises
    ------
    ValueError, TypeError
        From `fit`: if the policy was fitted for another model, costs are not positive, or the budget is below the cost
        of the cheap group or above that of all groups.

    Examples
    --------
    >>> from wald.datasets import make_chains
    >>> from wald.structured import BudgetedPredictor, ChainClassifier, FeatureGroup
    >>> from wald.structured.policies import UniformPolicy
    >>> X, y = make_chains(200, random_state=0)
    >>> groups = [FeatureGroup("half", lambda parts: parts[:, ::2], cost=1), FeatureGroup("all", cost=9)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(X[:100], y[:100])
    >>> fast = BudgetedPredictor(model, UniformPolicy().fit(model), budget=4).fit(X[100:150])
    >>> labels, cost = fast.predict(X[150:], return_cost=True)
    >>> len(labels), cost.shape
    (50, (50,))
    """

    def __init__(
        self,
        model: StructuredModel,
        policy: Policy,
        *,
        budget: float | None = None,
        costs: ArrayLike | dict[str, float] | None = None,
        spend: str = "mean",
    ) -> None:
        self.model = model
        self.policy = policy
        self.budget = budget
        self.costs = costs
        self.spend = spend

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the threshold.

        Parameters
        ----------
        X
            Examples as the model takes them, which neither model nor policy learned from.
        y : None
            Not needed.

        Returns
        -------
        self
        """
        check_policy(self.policy, self.model)
        require_option(type(self).__name__, "spend", self.spend, ("mean", "each"))
        self.costs_ = self._checked_costs()
        budget = self._checked_budget()
        session = self.model.open(X)
        self.allowance_ = Allowance(budget - self.costs_[0], self.costs_[1:]) if self.spend == "each" else None
        if self.allowance_ is not None:  # money that cannot move is spent wherever it does not hurt
            self.threshold_ = -np.inf
            self.spend_ = self._mean_cost(session, self.threshold_)
        else:
            self.threshold_, self.spend_ = self._largest_spend(session, budget)
        return self

    def predict(self, X: Any, *, return_cost: bool = False, return_state: bool = False) -> Any | tuple[Any, ...]:
        """Answers, one per example, as the model gives them.

        Parameters
        ----------
        X
            Examples as the model takes them.
        return_cost : bool, default=False
            Also return what each example cost.
        return_state : bool, default=False
            Also return what was bought.

        Returns
        -------
        answers : list
        cost : float64 ndarray of shape (n_examples,), if ``return_cost``
            Of all parts of an example together, the cheap group included.
        state : bool ndarray of shape (n_parts, K), if ``return_state``
        """
        check_is_fitted(self, "threshold_")
        check_policy(self.policy, self.model)
        session = self.model.open(X)
        found = self._acquire(session, self.threshold_)
        out = [answers_of(session, found.codes)]
        if return_cost:
            out.append(cost_of(found.state, np.asarray(session.offsets), self.costs_))
        if return_state:
            out.append(found.state)
        return out[0] if len(out) == 1 else tuple(out)

    def _acquire(self, session: Session, threshold: float, *, decode: bool = True) -> Acquired:
        return acquire(self.policy, session, threshold, self.allowance_, decode=decode)

    def _mean_cost(self, session: Session, threshold: float) -> float:
        state = self._acquire(session, threshold, decode=False).state
        return float(self.costs_[0] + state.mean(axis=0) @ self.costs_[1:])

    def _largest_spend(self, session: Session, budget: float) -> tuple[float, float]:
        """The threshold whose spend comes closest to the budget from below, and this spend."""
        everything = float(self.costs_.sum())
        if budget >= everything:
            return -np.inf, everything
        n_examples = len(np.asarray(session.offsets)) - 1
        first = np.unique(self.policy.priority(session, session.state() & False, np.arange(n_examples)))
        best = (np.inf, float(self.costs_[0]))
        low, high = -1, len(first) - 1  # buying above first[high] fits, above first[low] does not
        while high - low > 1:
            middle = (low + high) // 2
            spend = self._mean_cost(session, float(first[middle]))
            if spend <= budget:
                high, best = middle, (float(first[middle]), spend)
            else:
                low = middle
        if self.policy.n_rounds == 1:
            return best
        below = float(first[low]) if low >= 0 else float(first[0]) - 1.0
        above = best[0] if np.isfinite(best[0]) else float(first[-1]) + 1.0
        for _ in range(_BISECTIONS):  # priorities of later rounds lie between
            threshold = (below + above) / 2
            spend = self._mean_cost(session, threshold)
            if spend <= budget:
                above, best = threshold, max(best, (threshold, spend), key=lambda b: b[1])
            else:
                below = threshold
        return best

    def _checked_costs(self) -> NDArray[np.float64]:
        names = list(self.model.group_names_)
        costs: Any = self.model.group_costs_ if self.costs is None else self.costs
        if isinstance(costs, dict):
            if set(costs) != set(names):
                raise ValueError(f"costs must have a cost for each of {names}. Got {sorted(costs)}.")
            costs = [costs[name] for name in names]
        try:
            found = np.asarray(costs, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise TypeError(f"costs must be numbers, one for each of {names}. Got {costs!r}.") from error
        if found.shape != (len(names),):
            raise ValueError(f"costs must have one entry for each of {names}. Got shape {found.shape}.")
        if not (np.isfinite(found).all() and (found[1:] > 0).all() and found[0] >= 0):
            raise ValueError(
                f"costs must be finite, those of costly groups positive. Got {found.tolist()} for {names}."
            )
        return found

    def _checked_budget(self) -> float:
        cheap, full = float(self.costs_[0]), float(self.costs_.sum())
        if self.budget is None:
            raise ValueError("BudgetedPredictor needs a budget=, the mean cost of a part.")
        if not cheap <= self.budget <= full * (1 + 1e-12):  # also refuses NaN
            raise ValueError(
                f"budget must lie between {cheap:.6g} a part, the cost of the cheap group, and {full:.6g}, that of all "
                f"groups. Got {self.budget!r}."
            )
        return float(self.budget)
