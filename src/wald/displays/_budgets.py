"""The numbers of the displays of budgets: what a policy spends and loses on examples."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..stopping.core.validation import require_fraction, require_not_negative, require_option
from ..structured.budget import BudgetedPredictor, acquired, costs_of, threshold_within
from ..structured.costs import given_costs
from ..structured.policies.base import Policy, check_policy
from ..structured.policies.crossfit import Fold
from ..structured.policies.driver import Acquired, Allowance, acquire
from ._source import Floats

#: How many settings are measured where no budgets are given.
_TRIED = 13
#: How often time is measured; the median counts.
_REPEATS = 3
#: Resamples that are computed at a time.
_AT_ONCE = 50


@dataclass(frozen=True, eq=False)
class Point:
    """Examples at one setting: what they cost, and what each of them lost, summed over its parts."""

    cost: float
    loss: Floats


class Work:
    """Examples, a policy that buys features for them, and the answers that its answers are compared with.

    Parameters
    ----------
    predictor : BudgetedPredictor or Policy
        Fitted.
    X
        Examples as the model takes them.
    y
        Their true answers; None: the answers with everything bought.
    against : {"share", "cost", "time"}
        The quantity on the cost axis.
    caller : str
        For errors.
    """

    def __init__(self, predictor: Any, X: Any, y: Any, against: str, caller: str) -> None:
        self.X, self.against, self.caller = X, against, caller
        self.in_use, self.serving = _serving(predictor, X, caller)
        self.model, self.costs = self.serving.model, self.serving.group_costs_
        if hasattr(X, "__len__") and len(X) == 0:
            raise ValueError(f"{caller} needs at least one example. X has none.")
        self.fold = Fold.open(self.model, X, y)
        self.session = self.fold.session
        self.n_parts = np.diff(np.asarray(self.session.offsets)).astype(np.int64)
        self.cheap_loss = self._lost(np.array(self.session.decode(self.session.state() & False)))
        self.full_loss = self._lost(self.fold.everything)

    def points(self, budgets: ArrayLike | None) -> list[Point]:
        """Points of the curve, the cheapest first."""
        found = [self._point(*setting) for setting in self._settings(budgets)]
        return sorted(found, key=lambda point: point.cost)

    def point_in_use(self) -> Point | None:
        """Measure a predictor at its own threshold; None for a policy."""
        used = self.in_use
        return None if used is None else self._measured(lambda session: acquired(used, session, used.threshold_), used)

    def _settings(self, budgets: ArrayLike | None) -> list[tuple[float, Allowance | None]]:
        cheap, full = float(self.costs[0]), float(self.costs.sum())
        wanted = np.linspace(cheap, full, _TRIED) if budgets is None else np.asarray(budgets, dtype=np.float64)
        if wanted.ndim != 1 or not len(wanted) or not ((wanted >= cheap) & (wanted <= full * (1 + 1e-12))).all():
            raise ValueError(
                f"The 'budgets' parameter of {self.caller} must hold mean costs of a part between {cheap:.6g}, the "
                f"cost of the cheap group, and {full:.6g}, that of all groups. Got {budgets!r}."
            )
        if self.serving.spend == "each":
            return [(-np.inf, Allowance(float(b) - cheap, self.costs[1:])) for b in wanted]
        if budgets is not None:
            return [(threshold_within(self.serving, self.session, float(b))[0], None) for b in wanted]
        everyone = np.arange(len(self.n_parts))
        first = self.serving.policy.priority(self.session, self.session.state() & False, everyone)
        shares = np.quantile(first, np.linspace(0.0, 1.0, _TRIED)[1:-1], method="lower")
        return [(float(threshold), None) for threshold in np.unique([-np.inf, *shares, np.inf])]

    def _point(self, threshold: float, allowance: Allowance | None) -> Point:
        longest, policy = self.serving.max_parts_, self.serving.policy
        return self._measured(lambda session: acquire(policy, session, threshold, allowance, max_parts=longest))

    def _measured(self, serve: Any, predictor: BudgetedPredictor | None = None) -> Point:
        if self.against == "time":
            runs = [_timed(self.model.open(self.X), serve) for _ in range(_REPEATS)]
            microseconds = 1e6 * float(np.median([seconds for seconds, _ in runs])) / self.n_parts.sum()
            return Point(float(microseconds), self._lost(runs[0][1].codes))
        found = serve(self.session)
        if self.against == "share":
            return Point(float(found.state.mean()), self._lost(found.codes))
        costs = (predictor or self.serving).group_costs_
        return Point(float(costs[0] + found.state.mean(axis=0) @ costs[1:]), self._lost(found.codes))

    def _lost(self, codes: NDArray[np.int32]) -> Floats:
        unlike = (codes != self.fold.everything).astype(np.float64)
        part = unlike if self.fold.truth is None else self.fold.loss(codes)
        return np.asarray(np.add.reduceat(part, np.asarray(self.session.offsets)[:-1]), dtype=np.float64)


def require_budgeted(predictor: Any, caller: str) -> BudgetedPredictor:
    """Return the predictor if it is a fitted one."""
    if not isinstance(predictor, BudgetedPredictor):
        raise TypeError(f"{caller} needs a fitted BudgetedPredictor. Got {type(predictor).__name__} instead.")
    check_is_fitted(predictor, "threshold_")
    check_policy(predictor.policy, predictor.model)
    return predictor


def policy_name(predictor: Any) -> str:
    """Class name of the policy."""
    return type(predictor.policy if isinstance(predictor, BudgetedPredictor) else predictor).__name__


def certified_bound(predictor: BudgetedPredictor, has_truth: bool) -> float | None:
    """Certified bound of the loss that is drawn, or None; without truth only a bound of disagreement counts."""
    certificate = predictor.certificate_
    if certificate.status != "certified" or certificate.void is not None or certificate.unit != "part":
        return None  # the losses that are drawn are those of parts
    return float(certificate.risk) if has_truth or certificate.loss == "disagreement" else None


def check_curve(caller: str, against: str, measure: str, confidence: float, n_resamples: int) -> None:
    """Raise ValueError unless the parameters of a curve are valid."""
    require_option(caller, "against", against, ("share", "cost", "time"))
    require_option(caller, "measure", measure, ("accuracy", "loss"))
    require_fraction(caller, "confidence", confidence)
    require_not_negative(caller, "n_resamples", n_resamples)


def wrong_answers(caller: str, name: str, truth: list[NDArray[Any]], answers: Any) -> Floats:
    """Number of wrong answers of each example."""
    given = [np.asarray(labels) for labels in answers]
    if [labels.shape for labels in given] != [labels.shape for labels in truth]:
        raise ValueError(f"The {name!r} parameter of {caller} must hold one answer for each part of y_true.")
    return np.array([np.count_nonzero(a != b) for a, b in zip(given, truth, strict=True)], dtype=np.float64)


def bootstrap(
    losses: Floats, n_parts: NDArray[np.int64], confidence: float, n_resamples: int, random_state: Any
) -> NDArray[np.float64]:
    """Percentile intervals of the mean loss of a part, examples drawn with replacement.

    Parameters
    ----------
    losses : float64 ndarray of shape (n_points, n_examples)
        Losses of each example, summed over its parts. All points use the same resamples.
    n_parts : int64 ndarray of shape (n_examples,)
    confidence : float
    n_resamples : int
    random_state : int, RandomState instance or None

    Returns
    -------
    float64 ndarray of shape (n_points, 2)
    """
    random, n = check_random_state(random_state), len(n_parts)
    means = []
    for first in range(0, n_resamples, _AT_ONCE):
        times = random.multinomial(n, np.full(n, 1 / n), size=min(_AT_ONCE, n_resamples - first))
        means.append((losses @ times.T) / (times @ n_parts))
    tail = (1 - confidence) / 2
    return np.asarray(np.quantile(np.hstack(means), [tail, 1 - tail], axis=1).T)


def _serving(predictor: Any, X: Any, caller: str) -> tuple[BudgetedPredictor | None, BudgetedPredictor]:
    """The predictor, if it is one, and a copy of it whose policy decides, whatever mode the predictor chose."""
    if isinstance(predictor, Policy):
        check_is_fitted(predictor, "model_")
        alone = BudgetedPredictor(predictor.model_, predictor)
        alone.group_costs_, alone.max_parts_ = given_costs(predictor.model_, alone.feature_costs), None
        alone.mode_, alone.allowance_ = "policy", None
        return None, alone
    if not isinstance(predictor, BudgetedPredictor):
        raise TypeError(f"{caller} needs a fitted BudgetedPredictor or policy. Got {type(predictor).__name__} instead.")
    serving = copy.copy(require_budgeted(predictor, caller))
    if serving.mode_ != "policy":  # its costs leave the policy out
        serving.group_costs_, _ = costs_of(serving, X)
    serving.mode_, serving.allowance_ = "policy", None
    return predictor, serving


def _timed(session: Any, serve: Any) -> tuple[float, Acquired]:
    """Seconds of features, policy and inferences, from the opening on."""
    found: Acquired = serve(session)
    return float(np.asarray(session.seconds).sum()) + found.seconds["policy"] + found.seconds["inference"], found
