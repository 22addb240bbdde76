"""A linear score of rows, with rows scaled as they were when it was learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import LinearSVC

from .evidence import Rows


@dataclass(frozen=True, eq=False)
class LinearScore:
    """``weights @ row + bias``, summed row by row so that a row's score does not depend on the rows beside it."""

    weights: NDArray[np.float32]
    bias: float

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Scores (n,)."""
        if rows.shape[1] != len(self.weights):
            raise ValueError(f"The policy has {len(self.weights)} weights, for rows of {rows.shape[1]} features.")
        return np.asarray(np.einsum("ij,j->i", rows, self.weights) + np.float64(self.bias), dtype=np.float64)

    @classmethod
    def unscaled(cls, weights: NDArray[np.float64], bias: float, scaling: Scaling) -> Self:
        """Convert a score of scaled rows into one of raw rows."""
        raw = weights / scaling.spread
        return cls(raw.astype(np.float32), float(bias - scaling.mean @ raw))


@dataclass(frozen=True, eq=False)
class Scaling:
    """Means and standard deviations of rows; a constant feature has spread infinity, and so no weight."""

    mean: NDArray[np.float64]
    spread: NDArray[np.float64]

    @classmethod
    def of(cls, rows: Rows) -> Self:
        """Measure rows."""
        mean, spread = rows.mean(axis=0, dtype=np.float64), rows.std(axis=0, dtype=np.float64)
        return cls(mean, np.where(spread > 1e-6 * (1 + np.abs(mean)), spread, np.inf))

    def __call__(self, rows: Rows) -> NDArray[np.float64]:
        """Scale rows."""
        return np.asarray((rows - self.mean) / self.spread)


def weighted_svm(
    rows: Rows, wanted: NDArray[np.bool_], weight: NDArray[np.float64], C: float, seed: int
) -> LinearScore:
    """The weighted linear SVM (squared hinge) of each row alone: a structural SVM over a graph without edges.

    Raises ValueError if all rows with a weight have the same label.
    """
    counted = weight > 0
    rows, wanted, weight = rows[counted], wanted[counted], weight[counted]
    if not wanted.any() or wanted.all():
        raise ValueError("every part has the same pseudo-label")
    scaling = Scaling.of(rows)
    svm = LinearSVC(C=C / weight.sum(), dual=False, random_state=seed)
    svm.fit(scaling(rows), wanted, sample_weight=weight)
    return LinearScore.unscaled(svm.coef_[0], float(svm.intercept_[0]), scaling)
