"""`Above`: which numbers lie above a threshold, as a model itself asks before it scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import binarize
from sklearn.utils import assert_all_finite
from sklearn.utils.validation import validate_data

#: Bytes of numbers that are compared at a time, so that they stay in the cache.
AT_ONCE = 1 << 18


class Above(BaseEstimator):
    """What `sklearn.preprocessing.binarize` gives, in a byte for each number, as a part of a model.

    Parameters
    ----------
    threshold : float
    model : str
        Name of the model, for messages.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.steps.above import Above
    >>> Above(1.5, "BernoulliNB").transform(np.array([[1.0, 1.5, 2.0]]))
    array([[0, 0, 1]], dtype=uint8)
    """

    def __init__(self, threshold: float, model: str) -> None:
        self.threshold, self.model = threshold, model

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any = None) -> Above:
        """Nothing is learned."""
        return self

    def transform(self, X: Any) -> Any:
        """An array of bytes, or a CSR matrix; raises what the model raises for numbers that are not finite."""
        X = validate_data(self, X, accept_sparse="csr", reset=False, ensure_all_finite=False)
        if type(self.threshold) not in (int, float) or X.dtype.kind not in "biuf" or X.dtype == np.longdouble:
            return binarize(X, threshold=self.threshold)
        if sparse.issparse(X):
            if self.threshold < 0:
                return binarize(X, threshold=self.threshold)  # raises
            assert_all_finite(X.data, estimator_name=self.model, input_name="X")
            above = (X.data > self.threshold).astype(np.float32 if X.dtype == np.float32 else np.float64)
            return sparse.csr_matrix((above, X.indices, X.indptr), shape=X.shape)
        found, step = np.empty(X.shape, dtype=bool), max(1, AT_ONCE // max(1, X.itemsize * X.shape[1]))
        for start in range(0, len(X), step):
            rows = X[start : start + step]
            if rows.dtype.kind != "f":
                rows = rows.astype(np.float64)
            elif not np.isfinite(rows).all():
                assert_all_finite(rows, estimator_name=self.model, input_name="X")
            np.greater(rows, self.threshold, out=found[start : start + step])
        return found.view(np.uint8)
