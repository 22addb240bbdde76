"""Regressors of a transformed target: the values of the inner regressor, transformed back."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.utils.validation import check_is_fitted

from .links import Links, Method
from .model import AdditiveModel
from .reading import Reading
from .units import Floats
from .watch import Watch


def target_model(estimator: TransformedTargetRegressor) -> Any:
    """The fitted regressor inside; raise TypeError for a subclass with its own predict."""
    check_is_fitted(estimator)
    if type(estimator).predict is not TransformedTargetRegressor.predict:
        raise TypeError(f"{type(estimator).__name__} has its own predict. Wrap an estimator that keeps scikit-learn's.")
    return estimator.regressor_


def with_target_back(estimator: TransformedTargetRegressor, inner: AdditiveModel) -> AdditiveModel:
    """The model of the regressor inside, with the values that the estimator around it gives.

    Parameters
    ----------
    estimator : TransformedTargetRegressor
    inner : AdditiveModel
        Of its ``regressor_``.

    Raises
    ------
    TypeError
        If the inner model has no values.
    """
    values = inner.links.predict
    if values is None:
        name = type(inner.leaf).__name__
        raise TypeError(f"TransformedTargetRegressor around {name} is not supported: it needs a regressor.")
    watch = Watch([(estimator, "regressor_"), (estimator, "transformer_")], inside=(inner.watch,))
    inside = None
    if inner.links.value_link is not None:
        inside = Reading(inner.terms, inner.decision, inner.dtype, links=inner.links, kind=inner.kind)
    links = Links(predict=partial(_back, estimator, values))
    return replace(inner, estimator=estimator, links=links, watch=watch, inside=inside)


def _back(estimator: Any, values: Method, scores: Floats) -> NDArray[Any]:
    """As ``TransformedTargetRegressor.predict`` goes on from the values of its regressor."""
    found = values(scores)
    if len(found) == 0:
        return found
    back = np.asarray(estimator.transformer_.inverse_transform(found.reshape(-1, 1) if found.ndim == 1 else found))
    flat = estimator._training_dim == back.ndim - 1 and back.shape[1] == 1
    return back.squeeze(axis=1) if flat else back
