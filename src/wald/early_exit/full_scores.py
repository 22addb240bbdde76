"""Scores and probabilities of the wrapped estimator, in full: by the engine where that has the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from ..engine.threads import effective_threads
from .full_model import as_met
from .rows import refuse_half_precision
from .validation import validate_rows


def _wrapped_has(method: str) -> Any:
    def check(self: FullScores) -> bool:
        wrapped = getattr(self, "estimator_", self.estimator)
        getattr(wrapped, method)  # raises the wrapped estimator's own AttributeError
        return True

    return check


class FullScores:
    """Methods of a wrapper that return the wrapped estimator's own scores, where it has them.

    The scores of tree ensembles come from the engine, which adds the same numbers in the same order: they have the
    bits of the estimator's own, and probabilities differ by one unit in the last place at most. All other scores come
    from the estimator itself.
    """

    estimator: Any
    estimator_: Any
    n_jobs: Any

    # available_if has no types
    @available_if(_wrapped_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own scores, in full."""
        return self._in_full("decision_function", X)

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own probabilities, in full."""
        return self._in_full("predict_proba", X)

    @available_if(_wrapped_has("predict_log_proba"))  # type: ignore[untyped-decorator]
    def predict_log_proba(self, X: Any) -> NDArray[Any]:
        """The wrapped estimator's own log-probabilities, in full."""
        return self._in_full("predict_log_proba", X)

    def _in_full(self, method: str, X: Any) -> NDArray[Any]:
        predictor = self._ready()
        X = validate_rows(self, X)
        refuse_half_precision(predictor.model, X)
        link = getattr(predictor.model.links, method, None)
        if link is not None:
            scores = predictor.scores(X, effective_threads(self.n_jobs))
            if not np.isnan(scores).any():  # the estimator raises its own error for values that it refuses
                return np.asarray(link(scores))
        return np.asarray(getattr(self.estimator_, method)(as_met(predictor.model, X)))

    def _ready(self) -> Any:
        """Raise unless the wrapper is fitted and the estimator unchanged."""
        raise NotImplementedError
