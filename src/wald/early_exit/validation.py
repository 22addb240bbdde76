"""Validation of input rows: names and number of features are recorded in `fit` and checked later."""

from __future__ import annotations

import warnings
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..engine.frames import numbers_of
from ..engine.rows import n_rows_of, take
from ..models import AdditiveModel
from .full_model import predict_wrapped


def validate_fit_rows(estimator: BaseEstimator, X: Any) -> Any:
    """Let an estimator record names and number of features of the rows of `fit`, and return the rows."""
    X = readable(X)
    if _is_raw(X):
        return X
    if sparse.issparse(X):
        X = X.tocsr()
    elif not (hasattr(X, "shape") and len(X.shape) == 2):
        X = as_array(X, dtype=None)
    validate_data(estimator, X, skip_check_array=True)
    return X


def require_accepted(model: AdditiveModel, X: Any) -> None:
    """Predict one row of `fit`, so that the estimator raises for wrong names, their order or their number."""
    if n_rows_of(X) > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that X lacks
            predict_wrapped(model, take(X, np.arange(1)))


def readable(X: Any) -> Any:
    """Convert Arrow arrays of strings, which vectorizers cannot read, to NumPy arrays; return other rows unchanged."""
    if isinstance(X, np.ndarray | list | tuple) or hasattr(X, "shape"):
        return X
    arrow = nw.dependencies.get_pyarrow()
    if arrow is not None and isinstance(X, arrow.Array | arrow.ChunkedArray):
        texts = np.empty(len(X), dtype=object)
        texts[:] = X.to_pylist()
        return texts
    return X


def _is_raw(X: Any) -> bool:
    """Whether X holds strings or dicts for a vectorizer instead of numbers."""
    if isinstance(X, list | tuple):
        return len(X) > 0 and isinstance(X[0], str | bytes | dict)
    if len(getattr(X, "shape", ())) != 1 or not hasattr(X, "dtype"):
        return False
    if nw.dependencies.is_polars_series(X):
        return not X.dtype.is_numeric()
    return getattr(X.dtype, "kind", None) in ("O", "U", "S", "T")


def as_array(X: Any, **checks: Any) -> Any:
    """Convert nested lists and the like to an array; add a hint to scikit-learn's error if X is not a table."""
    if isinstance(X, str | bytes):
        raise TypeError(f"X must be rows of features. Got one {type(X).__name__}: for one row use predict_one.")
    try:
        return check_array(X, ensure_all_finite=False, input_name="X", **checks)
    except TypeError:  # a missing value of another kind than None, or an object that is no number
        return numbers_of(np.asarray(X, dtype=object))
    except ValueError as error:
        message = str(error)
        if message.startswith(("Expected 2D array", "Expected a 2-dimensional")):
            one = " For one row, use predict_one(x) or predict([x])."
        elif message.startswith("Found array with dim"):
            one = ""
        elif "inhomogeneous" in message:
            one = " Its rows have different lengths."
        else:
            raise
        shape = f" of shape {X.shape}" if hasattr(X, "shape") else ""
        raise ValueError(
            "X must be a table: one row for each thing to classify, one column for each feature. Got "
            f"{type(X).__name__}{shape}.{one}\n{message}"
        ) from None
