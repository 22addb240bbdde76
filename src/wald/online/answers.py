"""The answers of a trained online model: full scores, and labels from as many features as it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtri
from sklearn.linear_model._base import LinearClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _core
from ..stopping.core.validation import require_option
from .parameters import AttentionParameters
from .rows import learner_rows


class AttentiveModel(LinearClassifierMixin, AttentionParameters):
    """What `AttentiveClassifier` trains: a compiled learner for each binary problem, and answers from these."""

    problems_: list[Any]

    @property
    def _averages(self) -> bool:
        return bool(self.average)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Full scores ``X @ coef_.T + intercept_``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Binary: positive for ``classes_[1]``. Otherwise one score per class, each against the rest.
        """
        check_is_fitted(self)
        return np.asarray(super().decision_function(X))

    def predict(self, X: Any, *, attention: str = "full", return_cost: bool = False) -> Any:
        """Labels, from full scores or from as many features as it takes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows.
        attention : {"full", "conditional"}, default="full"
            "conditional": stop reading a dense row once the sign of its score is clear: when the score, as predicted
            from the features seen, is further from 0 than `delta`'s quantile (`max_stop_error`'s with ``delta="auto"``)
            of the prediction's error on audited examples. No certificate goes with it; `wald.EarlyExitClassifier` gives
            one. Sparse rows, and rows of a model that kept no audited examples, are read in full.
        return_cost : bool, default=False
            Also return the number of features read in each row, summed over the binary problems.

        Returns
        -------
        ndarray of shape (n_samples,), or a tuple of two
            Labels, and with ``return_cost`` the costs.
        """
        check_is_fitted(self)
        if self._reads_in_full(attention) or sparse.issparse(X):
            labels = super().predict(X)
            if not return_cost:
                return labels
            per_row = np.diff(X.tocsr().indptr) if sparse.issparse(X) else np.full(len(labels), self.n_features_in_)
            return labels, per_row * len(self.problems_)
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_all_finite=False, reset=False)
        rows, width = self._rows(X), self._prediction_width()
        judged = [p.learner.judge(rows, self._averages, width) for p in self.problems_]
        labels = self._labels_of(np.stack([margins for margins, _ in judged]))
        return (labels, np.sum([seen for _, seen in judged], axis=0)) if return_cost else labels

    def _code(self, k: int) -> int:
        return 1 if len(self.problems_) == 1 else k

    def _rows(self, X: Any) -> _core.Rows:
        problem = self.problems_[0]
        # The squared norms of passive-aggressive learning are the only sums that are not linear.
        summed = problem.settings["rule"].startswith("pa")
        return learner_rows(X, problem.dtype, problem.learner.n_columns, summed)

    def _reads_in_full(self, attention: str) -> bool:
        """Check the attention of a prediction; True for full scores."""
        require_option(f"{type(self).__name__}.predict", "attention", attention, ("full", "conditional"))
        return attention == "full"

    def _prediction_width(self) -> float:
        """Return the distance from 0, in standard deviations of its error, that a predicted score must have."""
        delta = self.max_stop_error if isinstance(self.delta, str) else self.delta
        return max(0.0, float(-ndtri(delta)))

    def _labels_of(self, margins: NDArray[np.float64]) -> NDArray[Any]:
        """Labels for margins of shape (n_problems, n_samples)."""
        codes = (margins[0] > 0).astype(np.intp) if len(margins) == 1 else margins.argmax(axis=0)
        return np.asarray(self.classes_[codes])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
