"""Nearest centroid classifiers: the nearest centroid has the largest linear score ``2 <x, c> - |c|^2``."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.neighbors import NearestCentroid
from sklearn.utils.validation import check_is_fitted

from ..reading import Decompose, Family, Reading
from .largest import first_of_largest

CENTROID_MODELS: tuple[type, ...] = (NearestCentroid,)

#: The rounding bound holds for rows whose values are at most this multiple of the largest value of a centroid.
LARGEST_ROW = 2.0**26


def read_centroids(model: Any, decompose: Decompose) -> Reading:
    """Read a fitted ``NearestCentroid`` with equal priors and Euclidean distances; the first of the nearest wins.

    Its `predict` compares ``|x|^2 - 2 <x, c> + |c|^2``, or the square roots. The first summand is the same for every
    centroid and matters only by its rounding error, which is relative to ``|x|^2``. A bound of the form
    ``|x| @ coef_bound`` covers this error as long as no value of a row exceeds `LARGEST_ROW` times the largest
    absolute value of a centroid, since then ``x_j^2 <= LARGEST_ROW * largest * |x_j|``.

    Raises
    ------
    TypeError
        If the metric is not Euclidean, or the priors differ.
    """
    check_is_fitted(model)
    if model.metric != "euclidean":
        raise TypeError(
            f"NearestCentroid with metric={model.metric!r} is not supported: no linear score has the order of such "
            "distances. Use metric='euclidean'."
        )
    n_classes = len(model.classes_)
    prior = getattr(model, "class_prior_", None)  # tested as in its own predict
    if prior is not None and not np.isclose(prior, 1 / n_classes).all():
        raise TypeError(
            "NearestCentroid with unequal priors is not supported: its scores are squares of rounded roots. Use "
            "priors='uniform', or LinearDiscriminantAnalysis, which takes priors."
        )
    centroids = np.array(model.centroids_, dtype=np.float64)
    if not np.isfinite(centroids).all():
        raise ValueError("A centroid of this NearestCentroid is not finite. Fit it on finite rows.")
    squares = np.array([math.fsum(centroid * centroid) for centroid in centroids])
    # Products and their sums round a value at most n_features times, the sum of the three summands twice, and a square
    # root and the comparison of square roots three times.
    terms, decision = first_of_largest(
        coef=2.0 * centroids,
        intercept=-squares,
        coef_bound=2.0 * np.abs(centroids) + LARGEST_ROW * np.abs(centroids).max(initial=0.0),
        intercept_bound=squares,
        depth=centroids.shape[1] + 6,
    )
    return Reading(terms, decision, np.dtype(model.centroids_.dtype), row_by_row="sparse")


FAMILY = Family(
    CENTROID_MODELS,
    ("predict",),
    ("centroids_", "class_prior_", "classes_", "metric"),
    read_centroids,
    thresholds=False,
)
