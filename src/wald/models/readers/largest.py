"""Models with one score for each class, of which the largest wins, and the first of equals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..decision import Decision
from ..linear import LinearTerms

__all__ = ["first_of_largest"]


def first_of_largest(
    coef: NDArray[np.float64],
    intercept: NDArray[np.float64],
    coef_bound: NDArray[np.float64],
    intercept_bound: NDArray[np.float64],
    depth: int,
) -> tuple[LinearTerms, Decision]:
    """Build terms for a model that has one score per class, for two classes, too, and answers by argmax.

    Of two scores, the second wins when it is larger, and the first when they are equal. That is the sign of
    their difference, in floating point as well. Each of the two scores rounds by itself, so that what the
    difference may be off by is the sum of both bounds.

    Parameters
    ----------
    coef : float64 ndarray of shape (n_classes, n_features)
        Weights.
    intercept : float64 ndarray of shape (n_classes,)
        Intercepts.
    coef_bound, intercept_bound : float64 ndarrays of the shapes of `coef` and `intercept`
        Bounds as `LinearTerms` has them.
    depth : int
        Number of roundings that a value goes through in the wrapped model.

    Returns
    -------
    terms : LinearTerms
        One output for two classes, one per class for more.
    decision : Decision
        Sign for two classes, argmax for more.
    """
    if len(coef) > 2:
        weights, start = np.array(coef, dtype=np.float64), np.array(intercept, dtype=np.float64)
        return LinearTerms(weights, start, None, coef_bound, intercept_bound, depth), Decision("argmax", len(coef))
    terms = LinearTerms(
        coef=np.asarray(coef[1:] - coef[:1], dtype=np.float64),
        intercept=np.asarray(intercept[1:] - intercept[:1], dtype=np.float64),
        coef_bound=coef_bound.sum(axis=0, keepdims=True),
        intercept_bound=intercept_bound.sum(keepdims=True),
        depth=depth + 1,  # the differences here are rounded themselves
    )
    return terms, Decision("sign", 2)
