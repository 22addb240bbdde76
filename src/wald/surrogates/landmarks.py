"""Landmarks: rows to which others are compared, along the directions in which rows differ most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..models import Terms
from ..models.made import gaussian_sum, linear_map, single_map
from ..sources import source_of
from .scores import Scores
from .surrogate import Surrogate

Floats = NDArray[np.float64]

#: Numbers of landmarks of the two sizes, and the largest share of the rows that they may be.
SIZES, MOST_OF_ROWS = (500, 2000), 0.5
#: Largest number of directions (the engine takes as many at a time), and rows in which they are found.
DIRECTIONS, ROWS = 32, 4000
#: Directions are computed in float32 if its rounding moves rows by at most this share of how they differ.
SHARE_ROUNDED = 1e-4
#: Widths of the kernel that are tried, as numbers divided by the median squared distance, each twice the one before.
SHARPNESS = (0.5, 1.0, 2.0, 4.0)
#: Pairs of rows of which the median distance is taken.
PAIRS = 1000
#: What is added to the diagonal, as shares of its mean that are tried.
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3)
#: Share of the rows that choose among what is tried.
CHECKED = 1 / 3
#: Rows of which kernel values are held at a time.
AT_ONCE = 4096


def landmarks(
    rows: NDArray[Any],
    codes: NDArray[np.int32],
    rng: np.random.Generator,
    n_threads: int,
    probabilities: Floats | None = None,
) -> list[Surrogate]:
    """Learn sums over landmarks, of a Gaussian kernel of distances along the main directions.

    The weights are those of least squares, of the probability of each answer that occurs, or else of an indicator. Its
    width and what regularizes the weights are those that leave the smallest error on a third of the rows; then all rows
    are fitted. Projections and kernels are those of wald's engine, so that what is said of a row does not depend on the
    others.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Finite numbers.
    codes : int32 ndarray of shape (n_rows,)
    rng : numpy.random.Generator
    n_threads : int
    probabilities : float64 ndarray of shape (n_rows, n_codes) or None, default=None

    Returns
    -------
    list of Surrogate
        Of one size if there are few rows; empty if rows do not differ. They share the projection.
    """
    projection = _projection(rows[rng.permutation(len(rows))[:ROWS]].astype(np.float64))
    if projection is None:
        return []
    Z = Scores(projection)(source_of(rows), n_threads)
    pairs = rng.integers(len(Z), size=(2, PAIRS))
    median = float(np.median(((Z[pairs[0]] - Z[pairs[1]]) ** 2).sum(axis=1)))
    if not median > 0:
        return []
    order, most = rng.permutation(len(Z)), int(MOST_OF_ROWS * len(Z))
    known = np.unique(codes)
    wanted = (codes[:, None] == known).astype(np.float64) if probabilities is None else probabilities[:, known]
    tried: tuple[float, ...] = SHARPNESS
    found: list[Surrogate] = []
    for n in [n for n in SIZES if n <= most] or [max(1, most)]:
        sharpness, terms = _of_size(n, Z[order], wanted[order], tried, median)
        found.append(Surrogate(terms, name=f"{n} landmarks", ask=Scores(projection, terms)))
        tried = (sharpness, 2 * sharpness)  # more landmarks may be narrower
    return found


def _projection(some: Floats) -> Terms | None:
    """The main directions of rows as terms; None if rows do not differ."""
    centre = some.mean(axis=0)
    scale = np.ones(some.shape[1])
    if some.shape[1] <= DIRECTIONS:  # columns of few have units of their own
        spread = some.std(axis=0)
        scale = np.where(spread > 0, 1.0 / np.where(spread > 0, spread, 1.0), 0.0)
    _, sizes, axes = linalg.svd((some - centre) * scale, full_matrices=False)
    kept = axes[:DIRECTIONS][sizes[:DIRECTIONS] > 1e-9 * max(sizes[0], 1e-300)]
    if len(kept) == 0:
        return None
    weights = kept * scale
    rounded = np.finfo(np.float32).eps * np.abs(weights) @ np.abs(some).max(axis=0)
    exact = rounded.max() > SHARE_ROUNDED * sizes[0] / np.sqrt(len(some))
    return (linear_map if exact else single_map)(weights, -weights @ centre)


@dataclass(frozen=True)
class _Sums:
    """Sums over rows: products of kernel values, these times what is wanted, and the squares of what is wanted."""

    values: Floats
    targets: Floats
    size: float

    @classmethod
    def of(cls, terms: Terms, Z: Floats, wanted: Floats) -> _Sums:
        values, targets = np.zeros((terms.n_terms, terms.n_terms)), np.zeros((terms.n_terms, wanted.shape[1]))
        for start in range(0, len(Z), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            each = terms.values(Z[part])
            values += each.T @ each
            targets += each.T @ wanted[part]
        return cls(values, targets, float((wanted**2).sum()))

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.values + other.values, self.targets + other.targets, self.size + other.size)

    def weights(self, ridge: float) -> Floats:
        """Least squares."""
        square = self.values.copy()
        square[np.diag_indices_from(square)] += ridge * np.trace(square) / len(square)
        found: Floats = linalg.solve(square, self.targets, assume_a="pos", overwrite_a=True)
        return found

    def error(self, weights: Floats) -> float:
        """Sum of squared errors of weights."""
        fitted = float((weights * (self.values @ weights)).sum())
        return self.size - 2.0 * float((weights * self.targets).sum()) + fitted


def _of_size(n: int, Z: Floats, wanted: Floats, sharpness: tuple[float, ...], median: float) -> tuple[float, Terms]:
    """A sum over the first n rows, and the sharpness of its kernel."""
    vectors = np.ascontiguousarray(Z[:n])
    n_fitted = max(n, len(Z) - int(CHECKED * len(Z)))  # landmarks are near themselves: they choose nothing
    found: list[tuple[float, float, float, _Sums]] = []
    for each in sharpness:
        terms = gaussian_sum(vectors, each / median, np.zeros((wanted.shape[1], n)))
        fitted, checked = (_Sums.of(terms, Z[some], wanted[some]) for some in (slice(n_fitted), slice(n_fitted, None)))
        errors = {ridge: checked.error(fitted.weights(ridge)) for ridge in RIDGES}
        ridge = min(errors, key=errors.__getitem__)
        found.append((errors[ridge], each, ridge, fitted + checked))
    _, best, ridge, sums = min(found, key=lambda one: one[0])
    return best, gaussian_sum(vectors, best / median, sums.weights(ridge).T)
