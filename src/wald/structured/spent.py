"""What a `fit` has spent on the extractors of a model."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from .groups import FeatureGroup

T = TypeVar("T", bound=Callable[..., Any])


def counted(fit: T) -> T:
    """Give an object whose ``model`` has feature groups ``n_calls_`` and ``seconds_``: what its `fit` took."""

    @wraps(fit)
    def fit_and_count(self: Any, *given: Any, **named: Any) -> Any:
        before = _spent(self.model)
        found = fit(self, *given, **named)
        took = _spent(self.model) - before
        self.n_calls_, self.seconds_ = took[0].astype(np.int64), took[1]
        return found

    return fit_and_count  # type: ignore[return-value]  # a function of the same parameters


def _groups(model: Any) -> list[FeatureGroup]:
    """The feature groups that a model was given, which may lack those of its own."""
    given = getattr(model, "feature_groups", None)
    return [group for group in given or () if isinstance(group, FeatureGroup)]


def _spent(model: Any) -> NDArray[np.float64]:
    """Parts that each extractor was asked about so far, and the seconds that this took: (2, n_groups)."""
    by_name = {group.name: group for group in _groups(model)}
    spent = [getattr(by_name.get(name), "kept", None) for name in model.group_names_]
    return np.array(
        [[0 if one is None else one.counts.rows for one in spent], [0 if one is None else one.seconds for one in spent]]
    )
