"""Rows at the door: names and number of features, taken from the rows of `fit` and asked of all later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ._rows import has_names


def admitted(owner: Any, X: Any) -> Any:
    """Take names and number of features from the rows of `fit`."""
    if _is_raw(X):
        return X
    if sparse.issparse(X):
        X = X.tocsr()
    elif not (hasattr(X, "shape") and len(X.shape) == 2):
        X = check_array(X, dtype=None, ensure_all_finite=False)
    validate_data(owner, X, skip_check_array=True)
    return X


def checked(owner: Any, X: Any) -> Any:
    """Check names and number of features of rows to be answered."""
    n_features = getattr(owner, "n_features_in_", None)
    if n_features is None:
        return X
    names = getattr(owner, "feature_names_in_", None)
    if type(X) is np.ndarray and X.ndim == 2 and X.shape[1] == n_features and names is None:
        return X
    if names is not None and has_names(X, names):
        return X
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "shape"):
        X = check_array(X, dtype=[np.float64, np.float32], ensure_all_finite=False, ensure_min_samples=0)
    elif len(X.shape) != 2:
        check_array(X)  # says what is wrong
    validate_data(owner, X, reset=False, skip_check_array=True)
    return X


def _is_raw(X: Any) -> bool:
    """Whether X holds no numbers yet: texts for a vectorizer."""
    if isinstance(X, np.ndarray):
        return X.ndim == 1 and X.dtype.kind in "OUS"
    return isinstance(X, list | tuple) and len(X) > 0 and isinstance(X[0], str | bytes | dict)
