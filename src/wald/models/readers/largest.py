"""Models with one score per class that predict by argmax."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...outputs import Labels
from ..linear import LinearTerms
from ..reading import of_classes


def first_of_largest(
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    coef_bound: NDArray[np.float64],
    intercept_bound: NDArray[np.float64],
    depth: int,
) -> tuple[LinearTerms, Labels]:
    """Terms and decision of a model with one score per class, even for two classes, that predicts by argmax.

    With two classes, the second wins if its score is larger, and the first otherwise. That is the sign of the
    difference of the scores, in floating point, too. Both scores are rounded, so that the error bound of the difference
    is the sum of their bounds.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_classes, n_features)
        Weights.
    intercept : float64 ndarray of shape (n_classes,)
        Intercepts.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`
        Bounds as in `LinearTerms`.
    depth : int
        Number of roundings that a value passes through in the wrapped model.

    Returns
    -------
    terms : LinearTerms
        One output for two classes, one per class for more.
    decision : Labels
        Sign for two classes, argmax for more.
    """
    if len(coef) > 2:
        weights, start = np.array(coef, dtype=np.float64), np.array(intercept, dtype=np.float64)
        return LinearTerms(weights, start, None, coef_bound, intercept_bound, depth), of_classes(len(coef))
    terms = LinearTerms(
        coef=np.asarray(coef[1:] - coef[:1], dtype=np.float64),
        intercept=np.asarray(intercept[1:] - intercept[:1], dtype=np.float64),
        coef_bound=coef_bound.sum(axis=0, keepdims=True),
        intercept_bound=intercept_bound.sum(keepdims=True),
        depth=depth + 1,  # the differences here are rounded themselves
    )
    return terms, of_classes(2)
