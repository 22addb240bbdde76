"""The parameters of early-exit estimators, and their validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.frozen import FrozenEstimator
from sklearn.utils import get_tags

from ...models import AdditiveModel, fitted_for_good
from ...models.reading import Kind
from ...models.refusals import refusal
from ...stopping import Rule
from ...stopping.core.risks import Risk, largest, require_risk
from .former import takes_former_names
from .planner import Planner, is_share, planner_of

#: The early-exit estimator of each kind of models, and how messages speak of such a model.
SHELLS: dict[Kind, str] = {
    "classifier": "EarlyExitClassifier",
    "outlier detector": "EarlyExitOutlierDetector",
    "regressor": "EarlyExitRegressor",
    "ranker": "EarlyExitRanker",
}
NAMES: dict[Kind, str] = {
    "classifier": "a classifier",
    "outlier detector": "an outlier detector",
    "regressor": "a regressor",
    "ranker": "a ranker",
}


class Parameters:
    """The parameters of an early-exit estimator; see `EarlyExitClassifier`."""

    _watch: tuple[float, str] | None = None  # arguments of `watched`, for the plan to come

    @takes_former_names
    def __init__(
        self,
        estimator: Any,
        *,
        bands: Sequence[float] | None = None,
        risk: Risk = 0.001,
        confidence: float = 0.95,
        feature_costs: ArrayLike | Mapping[str, float] | None = None,
        feature_groups: Mapping[str, Sequence[int | str]] | None = None,
        planner: Planner | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.bands = bands
        self.risk = risk
        self.confidence = confidence
        self.feature_costs = feature_costs
        self.feature_groups = feature_groups
        self.planner = planner
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def promised_risk(self) -> Risk:
        """The risk by labels of the model."""
        return self.risk


def checked_rule(given: Parameters) -> Rule:
    """Check the parameters and return the stopping rule."""
    require_risk(given.risk)
    if not is_share(given.confidence):
        raise ValueError(f"confidence must be a number above 0 and below 1. Got {given.confidence!r} instead.")
    return planner_of(given).checked_rule(largest(given.promised_risk))


def require_estimator(estimator: Any) -> None:
    """Refuse what is neither an estimator of scikit-learn's kind nor a booster."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    if isinstance(inner, type) or not (hasattr(inner, "get_params") or fitted_for_good(inner) is not None):
        raise refusal(inner)


def with_input_tags(tags: Any, estimator: Any) -> Any:
    """Tags of an estimator, which takes the rows that the wrapped one takes.

    Parameters
    ----------
    tags : sklearn.utils.Tags
        They are changed.
    estimator : estimator or booster
        The wrapped one.
    """
    inner = get_tags(fitted_for_good(estimator) or estimator)
    tags.input_tags.sparse = inner.input_tags.sparse
    tags.input_tags.allow_nan = inner.input_tags.allow_nan
    tags.input_tags.string = inner.input_tags.string
    return tags


def require_kind(model: AdditiveModel, kind: Kind) -> None:
    """Refuse a model that another early-exit estimator takes."""
    if model.kind != kind:
        leaf = model.estimator if model.leaf is None else model.leaf
        name = type(getattr(leaf, "booster", leaf)).__name__ if fitted_for_good(leaf) else type(leaf).__name__
        raise TypeError(f"{name} is {NAMES[model.kind]}: wrap it in {SHELLS[model.kind]}.")


def require_counted(n_splits: int | str, rule: Rule, risk: float | None) -> None:
    """Refuse several splits where nothing is certified by counting."""
    if not isinstance(n_splits, str) and n_splits > 1 and (risk is None or rule.needs.lossless):
        raise ValueError(
            f"n_splits={n_splits} needs a promise that is certified by counting: a risk above 0 and a rule that is not "
            "lossless. Use n_splits=1 or 'auto'."
        )
