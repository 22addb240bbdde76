"""Landmarks: vectors that are optimized so that their kernel values predict the scores.

The certificate is valid for any estimate, so a stage may use any cheap function of a row. Support vectors are chosen to
separate the classes; many of them are needed to estimate a score, and a few optimized vectors estimate it better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from .units import Floats

#: Landmarks are optimized in blocks, with earlier blocks held fixed, so that every stage has optimized landmarks.
BLOCKS = (16, 16, 32, 64)
#: Iterations of L-BFGS for each block; more would overfit the plan rows.
STEPS = 50
RIDGE = 1e-5
#: Least number of rows to fit landmarks on.
LEAST_ROWS = 64


def rbf_landmarks(X: Floats, scores: Floats, weights: Floats, start: Floats, gamma: float) -> Floats:
    """Optimize landmarks for the estimates of the first stages.

    Minimizes the weighted squared error of the best linear estimate of the scores from ``exp(-gamma |x - v_j|^2)``
    over the landmarks v_j. The readout is solved for at every evaluation (variable projection), so that the gradient is
    with respect to the landmarks only.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Plan rows, in the space of the support vectors.
    scores : ndarray of shape (n, K)
    weights : ndarray of shape (n,)
    start : ndarray of shape (m, d)
        Initial landmarks: support vectors in their greedy order.
    gamma : float

    Returns
    -------
    ndarray of shape (m', d)
        At most ``sum(BLOCKS)`` landmarks, the first block first.
    """
    unit = _unit(X)
    rows = np.ascontiguousarray(X / unit, dtype=np.float32)
    start, gamma = start / unit, gamma * unit * unit
    share = (weights / weights.sum()).astype(np.float32)
    target = scores - weights @ scores / weights.sum()
    target = (target / np.maximum(np.sqrt(share @ target**2), np.finfo(float).tiny)).astype(np.float32)
    norms = np.einsum("nd,nd->n", rows, rows)
    found = np.empty((0, rows.shape[1]), dtype=np.float32)
    known = np.empty((len(rows), 0), dtype=np.float32)
    for size in BLOCKS:
        block = start[len(found) : len(found) + size]
        if len(block) == 0:
            break
        objective = _Objective(rows, norms, target, share, known, gamma)
        moved = minimize(
            objective, block.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": STEPS, "maxcor": 10}
        )
        landmarks = moved.x.reshape(block.shape).astype(np.float32)
        known = np.hstack([known, objective.values(landmarks)])
        found = np.vstack([found, landmarks])
    return found.astype(np.float64) * unit


def _unit(X: Floats) -> float:
    """Power of 16 near the root mean square of the features, by which they are divided for the optimizer."""
    largest = float(np.abs(X).max(initial=0.0))
    if largest == 0:
        return 1.0
    size = largest * float(np.sqrt(np.mean((X / largest) ** 2)))
    return float(16.0 ** round(np.log2(size) / 4))


class _Objective:
    """Weighted error of the best readout, and its gradient with respect to one block of landmarks."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        norms: NDArray[np.float32],
        target: NDArray[np.float32],
        share: NDArray[np.float32],
        known: NDArray[np.float32],
        gamma: float,
    ) -> None:
        self._rows, self._norms, self._target, self._share, self._known = rows, norms, target, share, known
        self._gamma = np.float32(gamma)

    def values(self, landmarks: NDArray[np.float32]) -> NDArray[np.float32]:
        """Kernel values (n, m)."""
        distance = self._rows @ landmarks.T
        distance *= -2
        distance += self._norms[:, None]
        distance += np.einsum("md,md->m", landmarks, landmarks)
        np.maximum(distance, 0, out=distance)
        distance *= -self._gamma
        np.exp(distance, out=distance)
        return np.asarray(distance)

    def __call__(self, flat: Floats) -> tuple[float, Floats]:
        landmarks = flat.reshape(-1, self._rows.shape[1]).astype(np.float32)
        kernel = self.values(landmarks)
        terms = np.hstack([self._known, kernel])
        terms -= self._share @ terms
        weighted = terms * self._share[:, None]
        gram = (weighted.T @ terms).astype(np.float64)
        gram[np.diag_indices_from(gram)] *= 1 + RIDGE
        gram[np.diag_indices_from(gram)] += 1e-9 * np.trace(gram) / len(gram) + 1e-12
        readout = np.linalg.solve(gram, (weighted.T @ self._target).astype(np.float64)).astype(np.float32)
        error = terms @ readout - self._target
        loss = float(self._share @ np.einsum("nk,nk->n", error, error))
        # d loss / d v_j = sum_i 2 w_i (error_i . readout_j) K_ij 2 gamma (x_i - v_j)
        pull = (error * self._share[:, None]) @ readout[-len(landmarks) :].T
        pull *= kernel
        pull *= 4 * self._gamma
        gradient = pull.T @ self._rows - pull.sum(axis=0)[:, None] * landmarks
        return loss, gradient.ravel().astype(np.float64)
