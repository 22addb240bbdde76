"""Scores and probabilities of the wrapped estimator, in full: by the engine where that has the same bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from ..engine.threads import effective_threads
from .full_model import as_met
from .locating import locate
from .records import as_frame, as_table, read_records, read_row, require_records
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

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_one(self, x: Any) -> NDArray[Any]:
        """Probabilities of one row, in full; of tree ensembles in microseconds.

        Parameters
        ----------
        x : array-like of shape (n_features,), or dict from feature name to value
            As for `predict_one`.

        Returns
        -------
        ndarray of shape (n_classes,)
            Of tree ensembles the row of `predict_proba`, bit for bit. Other models answer for this row alone, and their
            matrix products may round it otherwise than among other rows.

        Raises
        ------
        ValueError, TypeError
            If ``x`` is not one row of the model's features.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> row = {"d": X[0, 3], "a": X[0, 0], "b": X[0, 1], "c": X[0, 2]}
        >>> bool((fast.predict_proba_one(row) == model.predict_proba(frame[:1])[0]).all())
        True
        """
        predictor = self._ready()
        model, link = predictor.model, predictor.model.links.predict_proba
        if link is not None:
            row, is_table = read_row(self, model, x)
            table = row if is_table else row[None]
            try:
                scores = predictor.scores(table, 1)
            except (ValueError, TypeError) as error:
                locate(error, table, model, model.schema.names)
                raise
            if not np.isnan(scores).any():  # the estimator raises its own error for values that it refuses
                return np.asarray(link(scores)[0])
        return np.asarray(self.estimator_.predict_proba(as_met(model, as_table(self, model, x)))[0])

    @available_if(_wrapped_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba_records(self, records: Sequence[Mapping[str, Any]]) -> NDArray[Any]:
        """Probabilities of rows that are given as dicts, in full.

        Parameters
        ----------
        records : sequence of dict
            As for `predict_records`.

        Returns
        -------
        ndarray of shape (n_records, n_classes)

        Raises
        ------
        ValueError, TypeError
            As `predict_records`.

        Examples
        --------
        >>> import pandas as pd
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.ensemble import HistGradientBoostingClassifier
        >>> from sklearn.frozen import FrozenEstimator
        >>> from wald import EarlyExitClassifier
        >>> X, y = make_classification(500, 4, random_state=0)
        >>> frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
        >>> model = HistGradientBoostingClassifier(max_iter=10).fit(frame, y)
        >>> fast = EarlyExitClassifier(FrozenEstimator(model), risk=0).fit()
        >>> records = frame[:3].to_dict("records")
        >>> bool((fast.predict_proba_records(records) == model.predict_proba(frame[:3])).all())
        True
        """
        predictor = self._ready()
        model, link = predictor.model, predictor.model.links.predict_proba
        require_records(records, "predict_proba_one", "predict_proba")
        if len(records) == 0:
            return np.empty((0, len(model.classes)))
        rows = read_records(self, model, records, "records[{}]".format)
        try:
            if link is not None:
                scores = predictor.scores(rows, effective_threads(self.n_jobs))
                if not np.isnan(scores).any():
                    return np.asarray(link(scores))
            rows = as_frame(self, model, rows)
            return np.asarray(self.estimator_.predict_proba(as_met(model, rows)))
        except (ValueError, TypeError) as error:
            locate(error, rows, model, model.schema.names, "record")
            raise

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
