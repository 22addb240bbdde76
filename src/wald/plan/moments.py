"""First and second moments of terms and full scores, from which orders and readouts are computed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: The weight of confidences so many widths away is the floor: larger numbers would only overflow.
FAR = 40.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted means and covariances of ``U`` terms and ``K`` outputs.

    Attributes
    ----------
    term_mean : ndarray of shape (U,)
    output_mean : ndarray of shape (K,)
    terms : ndarray of shape (U, U)
        Covariance of the terms.
    outputs : ndarray of shape (U, K)
        Covariance of every term with every output.
    output_variance : ndarray of shape (K,)
    """

    term_mean: Floats
    output_mean: Floats
    terms: Floats
    outputs: Floats
    output_variance: Floats


def gather_moments(
    chunks: Iterator[tuple[Floats, Floats, Floats]], n_terms: int, n_outputs: int, n_weightings: int
) -> list[Moments]:
    """Moments under several weightings of the same rows, in one pass over the rows.

    Parameters
    ----------
    chunks : iterator of (terms (n, U), outputs (n, K), weights (n_weightings, n))
    n_terms, n_outputs, n_weightings : int

    Returns
    -------
    list of Moments
        One for each weighting.
    """
    width = n_terms + n_outputs
    gram = np.zeros((n_weightings, width, width))
    first = np.zeros((n_weightings, width))
    total = np.zeros(n_weightings)
    origin: Floats | None = None
    for terms, outputs, weights in chunks:
        both = np.hstack([terms, outputs])
        if origin is None:
            origin = both.mean(axis=0)  # a shift near the mean avoids cancellation in covariances
        both -= origin
        for w in range(n_weightings):
            scaled = both * np.sqrt(weights[w])[:, None]
            gram[w] += scaled.T @ scaled
            first[w] += weights[w] @ both
            total[w] += weights[w].sum()
    if origin is None:
        raise ValueError("there are no rows to take moments of")
    return [_centred(gram[w], first[w], total[w], origin, n_terms) for w in range(n_weightings)]


def _centred(gram: Floats, first: Floats, total: float, origin: Floats, n_terms: int) -> Moments:
    mean = first / total
    covariance = gram / total - np.outer(mean, mean)
    mean = mean + origin
    return Moments(
        term_mean=mean[:n_terms],
        output_mean=mean[n_terms:],
        terms=covariance[:n_terms, :n_terms],
        outputs=covariance[:n_terms, n_terms:],
        output_variance=np.diag(covariance)[n_terms:].copy(),
    )


def row_chunks(n_rows: int, row_bytes: int, limit: int = 96 << 20) -> Iterator[slice]:
    """Slices of rows whose terms fit into ``limit`` bytes."""
    step = max(1, min(n_rows, limit // max(1, row_bytes)))
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))


def boundary_weights(confidence: Floats, width: float = 0.7, floor: float = 0.1) -> Floats:
    """Weights that count rows near the decision boundary more: ``exp(-c^2 / 2 h^2) + floor``.

    ``h`` is ``width`` times the median of the full model's confidence ``c`` (n,), so that the weights do not depend on
    the unit of the scores.
    """
    scale = width * max(float(np.median(confidence)), np.finfo(float).tiny)
    if np.isinf(scale):  # there is one class only, and nothing is near
        return np.full(len(confidence), floor)
    weights: Floats = np.exp(-0.5 * (np.minimum(confidence, FAR * scale) / scale) ** 2) + floor
    return weights
