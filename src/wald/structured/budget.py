"""Prediction under a budget: a model, a policy, and the threshold that makes the mean cost meet the budget."""

from __future__ import annotations

import time
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
    costs : array-like of shape (K + 1,), dict or "time", default=None
        Cost of each group for one part, the cheap one first; a dict has them by name. None: the model's
        ``group_costs_``. "time": microseconds, measured by `fit`, of extraction, policy and every inference; what costs
        more than it saves is then left out, so that no budget makes predictions slower than everything bought.
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
        Of each group for one part. With ``costs="time"``, the first one counts policy and inferences, too.
    mode_ : {"policy", "everything", "nothing"}
        Who decides. Without a policy, where it cannot pay, every part gets all groups, or none.

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
        costs: ArrayLike | dict[str, float] | str | None = None,
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
        session = self.model.open(X)
        self.mode_ = "policy"
        if isinstance(self.costs, str):
            require_option(type(self).__name__, "costs", self.costs, ("time",))
            self.costs_, without = self._measured(X)
            budget = self._checked_budget(without)
            if budget >= without.sum():
                self.mode_, self.costs_ = "everything", without
            elif budget < self.costs_[0]:
                self.mode_, self.costs_ = "nothing", without
        else:
            self.costs_ = self._checked_costs()
            budget = self._checked_budget(self.costs_)
        self.allowance_ = Allowance(budget - self.costs_[0], self.costs_[1:]) if self.spend == "each" else None
        if self.mode_ != "policy":
            self.threshold_ = -np.inf if self.mode_ == "everything" else np.inf
            self.spend_ = self._mean_cost(session, self.threshold_)
        elif self.allowance_ is not None:  # money that cannot move is spent wherever it does not hurt
            self.threshold_ = -np.inf
            self.spend_ = self._mean_cost(session, self.threshold_)
        else:
            self.threshold_, self.spend_ = self._largest_spend(session, budget)
        return self

    def predict(
        self, X: Any, *, return_cost: bool = False, return_state: bool = False, deadline: float | None = None
    ) -> Any | tuple[Any, ...]:
        """Answers, one per example, as the model gives them.

        Parameters
        ----------
        X
            Examples as the model takes them.
        return_cost : bool, default=False
            Also return what each example cost.
        return_state : bool, default=False
            Also return what was bought.
        deadline : float, default=None
            Seconds of wall clock from the call. Groups are bought in pieces, the highest priorities first, until the
            next piece would take too long; a deadline that has passed already gives the answers of the cheap group.

        Returns
        -------
        answers : list
        cost : float64 ndarray of shape (n_examples,), if ``return_cost``
            Of all parts of an example together, the cheap group included.
        state : bool ndarray of shape (n_parts, K), if ``return_state``

        Raises
        ------
        AcquisitionError
            If an extractor of a costly group fails; it has the answers without what failed.
        """
        start = time.perf_counter()
        check_is_fitted(self, "threshold_")
        check_policy(self.policy, self.model)
        if deadline is not None and np.isnan(deadline):
            raise ValueError("deadline must be a number of seconds. Got NaN.")
        session = self.model.open(X)
        found = self._acquire(session, self.threshold_, until=None if deadline is None else start + deadline)
        out = [answers_of(session, found.codes)]
        if return_cost:
            out.append(cost_of(found.state, np.asarray(session.offsets), self.costs_))
        if return_state:
            out.append(found.state)
        return out[0] if len(out) == 1 else tuple(out)

    def _acquire(
        self, session: Session, threshold: float, *, until: float | None = None, decode: bool = True
    ) -> Acquired:
        policy = self.policy if self.mode_ == "policy" else _Constant()
        return acquire(policy, session, threshold, self.allowance_, until=until, decode=decode)

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

    def _measured(self, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Microseconds a part: with the policy, its time and all inferences in the first entry; and without."""
        session = self.model.open(X)
        everything = session.state()
        start, before = time.perf_counter(), float(np.asarray(session.seconds).sum())
        session.decode(everything)
        inference = time.perf_counter() - start - (float(np.asarray(session.seconds).sum()) - before)
        each = 1e6 * np.asarray(session.seconds) / np.asarray(session.extracted)
        n_examples = len(np.asarray(session.offsets)) - 1
        first = self.policy.priority(session, everything & False, np.arange(n_examples))
        runs = [acquire(self.policy, session, float(np.median(first))).seconds for _ in range(3)]
        overhead = float(np.median([run["policy"] + run["inference"] for run in runs]))
        alone, with_policy = each.copy(), each.copy()
        alone[0] += 1e6 * inference / len(everything)
        with_policy[0] += 1e6 * overhead / len(everything)
        return with_policy, alone

    def _checked_budget(self, costs: NDArray[np.float64]) -> float:
        cheap, full = float(costs[0]), float(costs.sum())
        if self.budget is None:
            raise ValueError("BudgetedPredictor needs a budget=, the mean cost of a part.")
        if not cheap <= self.budget <= full * (1 + 1e-12):  # also refuses NaN
            raise ValueError(
                f"budget must lie between {cheap:.6g} a part, the cost of the cheap group, and {full:.6g}, that of all "
                f"groups. Got {self.budget!r}."
            )
        return float(self.budget)


class _Constant(Policy):
    """Everything or nothing, as the threshold says."""

    def priority(self, session: Session, state: Any, examples: NDArray[np.int64]) -> NDArray[np.float64]:
        lengths = np.diff(np.asarray(session.offsets))[examples]
        return np.zeros((int(lengths.sum()), state.shape[1]))
