"""Landmarks: rows to which others are compared, along the directions in which rows differ most."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..models import Terms
from ..models.made import gaussian_sum, linear_map
from ..sources import source_of
from .scores import Scores
from .surrogate import Surrogate

Floats = NDArray[np.float64]

#: Numbers of landmarks of the two sizes, and the largest share of the rows that they may be.
SIZES, MOST_OF_ROWS = (500, 2000), 0.5
#: Largest number of directions, and rows in which they are found.
DIRECTIONS, ROWS = 30, 4000
#: Width of the kernel: this number divided by the median squared distance.
SHARPNESS = 3.0
#: Pairs of rows of which the median distance is taken.
PAIRS = 1000
#: What is added to the diagonal, as a share of its mean.
RIDGE = 1e-4


def landmarks(
    rows: NDArray[Any], codes: NDArray[np.int32], rng: np.random.Generator, n_threads: int
) -> list[Surrogate]:
    """Learn sums over landmarks, of a Gaussian kernel of distances along the main directions.

    The weights are those of least squares, of an indicator of each answer. Projections and kernels are those of wald's
    engine, so that what is said of a row does not depend on the others.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Finite numbers.
    codes : int32 ndarray of shape (n_rows,)
    rng : numpy.random.Generator
    n_threads : int

    Returns
    -------
    list of Surrogate
        Of one size if there are few rows; empty if rows do not differ.
    """
    projection = _projection(rows, rng)
    if projection is None:
        return []
    Z = Scores(projection)(source_of(rows), n_threads)
    pairs = rng.integers(len(Z), size=(2, PAIRS))
    median = float(np.median(((Z[pairs[0]] - Z[pairs[1]]) ** 2).sum(axis=1)))
    if not median > 0:
        return []
    most = int(MOST_OF_ROWS * len(Z))
    sizes = [n for n in SIZES if n <= most] or [max(1, most)]
    order = rng.permutation(len(Z))
    return [_of_size(Z, codes, order[:n], SHARPNESS / median, projection) for n in sizes]


def _projection(rows: NDArray[Any], rng: np.random.Generator) -> Terms | None:
    """The main directions as terms; None if rows do not differ."""
    some = rows[rng.permutation(len(rows))[:ROWS]].astype(np.float64)
    centre = some.mean(axis=0)
    scale = np.ones(rows.shape[1])
    if rows.shape[1] <= DIRECTIONS:  # columns of few have units of their own
        spread = some.std(axis=0)
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    _, sizes, axes = linalg.svd((some - centre) * scale, full_matrices=False)
    kept = axes[:DIRECTIONS][sizes[:DIRECTIONS] > 1e-9 * max(sizes[0], 1e-300)]
    if len(kept) == 0:
        return None
    weights = kept * scale
    return linear_map(weights, -weights @ centre)


def _of_size(
    Z: Floats, codes: NDArray[np.int32], chosen: NDArray[np.intp], gamma: float, projection: Terms
) -> Surrogate:
    """A sum over some landmarks."""
    present = np.unique(codes)
    vectors = np.ascontiguousarray(Z[chosen])
    values = gaussian_sum(vectors, gamma, np.zeros((len(present), len(chosen)))).values(Z)
    square = values.T @ values
    square[np.diag_indices_from(square)] += RIDGE * np.trace(square) / len(square)
    weights = linalg.solve(square, values.T @ (codes[:, None] == present), assume_a="pos")
    terms = gaussian_sum(vectors, gamma, weights.T)
    return Surrogate(terms, name=f"{len(chosen)} landmarks", ask=Scores(projection, terms))
