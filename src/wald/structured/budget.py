"""Prediction under a budget or a risk: a model, a policy, and the threshold that meets the budget or risk."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from ..outputs.structures import LOSSES, Loss
from ..stopping.core.validation import require_fraction, require_option
from ..utils.reals import require_real
from .certificate import StructureCertificate
from .certified_answers import certify_policy
from .chain import ChainClassifier
from .costs import checked_budget, given_costs, largest_spend, measured_costs, spent_on
from .features import ExtractionError, LazyFeatures
from .given import settled_labels
from .per_part import checked_longest
from .policies.base import Policy, check_policy
from .policies.baselines import Constant
from .policies.crossfit import extracted_once, taken
from .policies.driver import Acquired, Allowance, acquire, answers_of, cost_of, limit_extractors
from .protocol import Session, StructuredModel
from .sequences import lasting, with_empty, without_empty


@dataclass(eq=False, repr=False)
class BudgetedPredictor(BaseEstimator):
    """Predict with a structured model whose policy buys costly groups for the parts that deserve them.

    Parameters
    ----------
    model : StructuredModel
        Fitted.
    policy : Policy
        Fitted for this model.
    budget : float, default=None
        Mean cost of a part, its cheap group included, in the units of ``feature_costs``. Give either a budget or a
        risk.
    risk : float, default=None
        Largest mean loss of a part, compared with everything bought; strictly between 0 and 1. As little is bought as
        the certificate allows; see `certify_structures`.
    confidence : float, default=0.95
        Probability, over the draw of the certificate's examples, with which the risk is kept.
    loss : {"disagreement", "clipped gap", "gap"}, default="disagreement"
        Loss of a part, or of spans where the model has constraints on them; see `Structures` of `wald.outputs`. All but
        the first need labels in `fit`.
    max_parts : int, default=None
        With a risk, longer examples get everything. The smaller this number, the fewer examples a certificate needs.
        None: the length of the longest example that places the thresholds.
    certificate_fraction : float, default=0.8
        With a risk, share of the examples that the certificate is computed from; the others place the thresholds to
        test.
    feature_costs : array-like of shape (K + 1,), dict or "time", default=None
        Cost of each group for one part, the cheap one first; a dict has them by name. None: the model's
        ``group_costs_``. "time": microseconds, measured by `fit`, of extraction, policy and every inference; what costs
        more than it saves is then left out, so that no budget makes predictions slower than everything bought.
    spend : {"mean", "each"}, default="mean"
        "mean": the mean over examples meets the budget, and parts that need groups most get them. "each": every example
        stays within the budget on its own.
    random_state : int, RandomState instance or None, default=None
        With a risk, draws the examples that the certificate is computed from.

    Attributes
    ----------
    threshold_ : float
        Parts get a group if their priority for it lies above.
    mean_cost_ : float
        Mean cost of a part on the examples that `fit` saw: the largest one not above the budget. With a risk, the mean
        is over the certificate's examples.
    group_costs_ : float64 ndarray of shape (K + 1,)
        Cost of each group for one part. With ``feature_costs="time"``, the first one includes policy and inferences.
    mode_ : {"policy", "everything", "nothing"}
        "policy": the policy decides. Where it cannot pay off, every part gets all groups ("everything"), or none
        ("nothing").
    certificate_ : StructureCertificate
        The promise that goes with a risk; with a budget, nothing is promised.
    max_parts_ : int or None
        The parameter in force; None without a risk.
    n_calls_, seconds_
        As those of `ChainClassifier`, of this `fit`.

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

    With a risk, as much is bought as the certificate needs:

    >>> X, y = make_chains(1500, random_state=0)
    >>> safe = BudgetedPredictor(model, UniformPolicy().fit(model), risk=0.05, random_state=0).fit(X[150:])
    >>> print(safe.certificate_)
    disagreement with all features <= 5 % of parts with 95 % confidence: 270 in 6 369 parts of 1 080 examples
    """

    model: StructuredModel
    policy: Policy
    _: KW_ONLY
    budget: float | None = None
    risk: float | None = None
    confidence: float = 0.95
    loss: Loss = "disagreement"
    max_parts: int | None = None
    certificate_fraction: float = 0.8
    feature_costs: ArrayLike | dict[str, float] | str | None = None
    spend: str = "mean"
    random_state: int | np.random.RandomState | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose the threshold.

        Parameters
        ----------
        X
            Examples as the model takes them, which neither model nor policy learned from.
        y
            True answers, with a risk whose loss needs them.
        """
        before = spent_on(self.model)
        check_policy(self.policy, self.model)
        X, y = lasting(X), settled_labels(y)
        require_option(type(self).__name__, "spend", self.spend, ("mean", "each"))
        if self.risk is not None:
            self._certify(X, y)
        else:
            self._spend(X)
        took = spent_on(self.model) - before
        self.n_calls_, self.seconds_ = took[0].astype(np.int64), took[1]
        return self

    def _spend(self, X: Any) -> None:
        self.certificate_ = StructureCertificate.none("a budget was given, not a risk")
        self.max_parts_: int | None = None
        if self.feature_costs is not None and isinstance(self.feature_costs, str):
            X = extracted_once(self.model, X)  # measuring buys everything; plain functions would be called once more
        session = self.model.open(X)
        self.mode_ = "policy"
        self.group_costs_, without = costs_of(self, X)
        budget = checked_budget(self.budget, without)
        if isinstance(self.feature_costs, str):
            if budget >= without.sum():
                self.mode_, self.group_costs_ = "everything", without
            elif budget < self.group_costs_[0]:
                self.mode_, self.group_costs_ = "nothing", without
        each = Allowance(budget - self.group_costs_[0], self.group_costs_[1:])
        self.allowance_ = each if self.spend == "each" else None
        if self.mode_ == "policy" and self.allowance_ is None:
            self.threshold_, self.mean_cost_ = threshold_within(self, session, budget)
        else:  # with an allowance, no example's budget can go to another, so all of it is spent
            self.threshold_ = np.inf if self.mode_ == "nothing" else -np.inf
            self.mean_cost_ = mean_cost(self, session, self.threshold_)

    def predict(
        self,
        X: Any,
        *,
        return_cost: bool = False,
        return_state: bool = False,
        deadline: float | None = None,
        timeout: float | None = None,
    ) -> Any | tuple[Any, ...]:
        """Answers, one per example, as the model gives them.

        Parameters
        ----------
        X
            As in `fit`. A list may have empty ones, or none: an empty example has an empty answer, and costs nothing.
        return_cost, return_state : bool, default=False
            Also return what each example cost, and what was bought.
        deadline : float, default=None
            Seconds of wall clock from the call. Groups are bought in pieces, the highest priorities first, until the
            next piece would take too long; a deadline that has passed already gives the answers of the cheap group.
            The certificate does not cover losses from what the deadline keeps from being bought. The clock is read
            between calls of the extractors: a call that hangs overruns it, unless there is a timeout. A call of another
            thread, for a costly group, is waited for until the deadline at most.
        timeout : float, default=None
            Seconds that one call of a costly group's extractor may take, for models that are a `ChainClassifier`; with
            a deadline, a call ends at the deadline at the latest. A call that takes longer is abandoned in its thread,
            nothing more is bought, and the answers use what was bought before. The certificate does not cover losses
            from the timeout. An extractor that keeps Python's global lock cannot be abandoned.

        Returns
        -------
        answers : list
            In the model's form: labels as its `fit` was given them, lists or arrays; heads as lists if a parser learned
            from lists, else as arrays.
        cost : float64 ndarray of shape (n_examples,), if ``return_cost``
            Cost of all parts of an example together, the cheap group included.
        state : bool ndarray of shape (n_parts, K), if ``return_state``

        Raises
        ------
        ExtractionError
            If an extractor of a costly group fails; it has the answers without what failed.
        """
        start = time.perf_counter()
        check_is_fitted(self, "threshold_")
        check_policy(self.policy, self.model)
        require_real("deadline", deadline)
        require_real("timeout", timeout)
        if deadline is not None and np.isnan(deadline):
            raise ValueError("deadline must be a number of seconds. Got NaN.")
        if timeout is not None and not timeout > 0:  # also refuses NaN
            raise ValueError(f"timeout must be a positive number of seconds, or None. Got {timeout!r}.")
        X, _, present = without_empty(X)
        answers: list[Any] = []
        cost = np.zeros(len(present))
        state = np.zeros((0, len(self.group_costs_) - 1), dtype=bool)
        if present.any():
            session = self.model.open(X)
            until = None if deadline is None else start + deadline
            if timeout is not None:
                limit_extractors(self.model, session, timeout, until)
            elif isinstance(features := getattr(session, "features", None), LazyFeatures):
                features.until = until
            try:
                found = acquired(self, session, self.threshold_, until=until)
            except ExtractionError as error:
                error.answers = with_empty(error.answers, present, self._no_answer)
                raise
            answers, state = answers_of(session, found.codes), found.state
            cost[present] = cost_of(state, np.asarray(session.offsets), self.group_costs_)
        answers = with_empty(answers, present, self._no_answer)
        out = [answers, *([cost] if return_cost else []), *([state] if return_state else [])]
        return out[0] if len(out) == 1 else tuple(out)

    def _no_answer(self) -> Any:
        chain = getattr(self.model, "chain_", self.model)  # a tagger's
        if isinstance(chain, ChainClassifier):
            return chain.predict([[]])[0]
        lists = getattr(self.model, "_as_lists", True)
        return [] if lists else np.empty(0, dtype=np.int32)

    def _certify(self, X: Any, y: Any) -> None:
        owner = type(self).__name__
        if self.budget is not None or self.spend != "mean":
            raise ValueError(f"{owner} takes either a risk= or a budget= and how to spend it. Got both.")
        for name in ("risk", "confidence", "certificate_fraction"):
            require_fraction(owner, name, getattr(self, name))
        require_option(owner, "loss", self.loss, LOSSES)
        checked_longest(owner, np.empty(0, dtype=np.int64), self.max_parts)
        self.mode_, self.allowance_ = "policy", None
        X = extracted_once(self.model, X)
        self.group_costs_, without = costs_of(self, X)
        names = ("risk", "confidence", "loss", "max_parts", "certificate_fraction", "random_state")
        how: dict[str, Any] = {name: getattr(self, name) for name in names}
        self.certificate_, members = certify_policy(self.model, self.policy, X, y, **how)
        self.threshold_, self.max_parts_ = self.certificate_.threshold, self.certificate_.max_parts
        self.mean_cost_ = mean_cost(self, self.model.open(taken(X, members)), self.threshold_)
        if self.threshold_ == -np.inf or self.mean_cost_ >= without.sum():  # buying everything loses nothing
            self.mode_, self.group_costs_ = "everything", without
            self.threshold_, self.mean_cost_ = -np.inf, float(without.sum())


def acquired(predictor: BudgetedPredictor, session: Session, threshold: float, **how: Any) -> Acquired:
    """What a predictor buys in a session above a threshold; ``how`` is for `acquire`."""
    policy = predictor.policy if predictor.mode_ == "policy" else Constant()
    return acquire(policy, session, threshold, predictor.allowance_, max_parts=predictor.max_parts_, **how)


def mean_cost(predictor: BudgetedPredictor, session: Session, threshold: float) -> float:
    """Mean cost of a part with what a predictor buys above a threshold."""
    state, costs = acquired(predictor, session, threshold, decode=False).state, predictor.group_costs_
    return float(costs[0] + state.mean(axis=0) @ costs[1:])


def threshold_within(predictor: BudgetedPredictor, session: Session, budget: float) -> tuple[float, float]:
    """Return the threshold whose spend comes closest to the budget from below, and this spend."""
    nothing, everything = float(predictor.group_costs_[0]), float(predictor.group_costs_.sum())
    if budget >= everything:
        return -np.inf, everything
    policy, everyone = predictor.policy, np.arange(len(np.asarray(session.offsets)) - 1)
    first = np.unique(policy.priority(session, session.state() & False, everyone))
    spend = partial(mean_cost, predictor, session)
    return largest_spend(spend, first, budget, (np.inf, nothing), policy.n_rounds == 1)


def costs_of(predictor: BudgetedPredictor, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Costs of the groups with the policy at work, and without."""
    if not isinstance(predictor.feature_costs, str):
        costs = given_costs(predictor.model, predictor.feature_costs)
        return costs, costs
    require_option(type(predictor).__name__, "feature_costs", predictor.feature_costs, ("time",))
    return measured_costs(predictor.model, predictor.policy, X)
