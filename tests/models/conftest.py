"""Helpers of the tests of `wald.models`."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification

from wald.models import LinearTerms, decompose
from wald.sources import source_of


def rows(n_classes=2, dtype=np.float64, n_rows=300, seed=0, n_features=8):
    X, y = make_classification(
        n_rows,
        n_features,
        n_informative=5,
        n_redundant=2,
        n_classes=n_classes,
        class_sep=0.6,
        random_state=seed,
    )
    return (X * 3 + np.arange(n_features)).astype(dtype), y


def error(model, X):
    """A safe bound of the difference between the wrapped model's own scores and ours."""
    roundoff = model.working_precision(getattr(X, "dtype", np.float64))
    seen = X if model.preprocessing is None else model.preprocessing.transform(source_of(X))
    if isinstance(model.terms, LinearTerms):
        values = np.abs(model.terms.values(seen))
        bound = values @ model.terms.coef_bound.T + model.terms.intercept_bound
        return 2 * model.terms.depth * roundoff * bound.max(axis=1)
    values = np.abs(model.terms.values(seen))
    bound = (values + 1) @ np.abs(model.terms.coef).T + np.abs(model.terms.intercept)
    return 1000 * roundoff * bound.max(axis=1)


def check_same_labels(estimator, X, min_clear=0.97, **options):
    """Check that our codes are the estimator's labels, for all rows that rounding cannot change."""
    model = decompose(estimator, **options)
    assert model.changed() is None
    seen = X if model.preprocessing is None else model.preprocessing.transform(source_of(X))
    scores = model.terms.scores(seen)
    codes, confidence = model.decision.answers(scores), model.decision.distances(scores)
    np.testing.assert_array_equal(codes, model.decision.answers(scores))
    assert codes.dtype == np.int32
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels = np.asarray(estimator.predict(X))
    clear = np.abs(confidence) > error(model, X) + model.tie_margin
    assert clear.mean() >= min_clear
    np.testing.assert_array_equal(model.classes[codes][clear], labels[clear])
    return model


@pytest.fixture(name="error", scope="session")
def _error():
    return error


@pytest.fixture(name="rows", scope="session")
def _rows():
    return rows


@pytest.fixture(name="check_same_labels", scope="session")
def _check_same_labels():
    return check_same_labels
