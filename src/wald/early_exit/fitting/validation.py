"""Validation of the rows of `fit`: their names and their number of columns are recorded, and checked later."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from ...models import AdditiveModel
from ...sources import RawSource, Source, source_of
from ..compiled.full_model import predict_wrapped


def validate_fit_rows(estimator: BaseEstimator, X: Any) -> Source:
    """Let an estimator record names and number of features of the rows of `fit`, and return their source."""
    source = source_of(X)
    if not isinstance(source, RawSource) or source.n_columns is not None:
        validate_data(estimator, source.header if source.is_named else source, skip_check_array=True)
    return source


def require_accepted(model: AdditiveModel, source: Source) -> None:
    """Predict one row of `fit`, so that the estimator raises for wrong names, their order or their number."""
    if source.n_rows > 0:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names that X lacks
            predict_wrapped(model, source.take(slice(1)))
