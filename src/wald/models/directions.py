"""Linear surrogates: directions whose dot products with a row predict the scores.

In a kernel machine, such a dot product costs about as much as one kernel evaluation. The certificate is valid for any
estimate, whatever its source.
"""

from __future__ import annotations

import numpy as np

from .units import Floats


def linear_surrogates(X: Floats, scores: Floats, weights: Floats, n_directions: int) -> Floats:
    """Fit directions by weighted ridge regression of the scores (N, K) on the rows (N, d).

    If the K directions are more than `n_directions`, the leading principal components of their fitted values are kept.

    Returns
    -------
    ndarray of shape (n_directions, d)
    """
    total = weights.sum()
    centred = (X - weights @ X / total) * np.sqrt(weights)[:, None]
    target = (scores - weights @ scores / total) * np.sqrt(weights)[:, None]
    target = target / np.maximum(np.sqrt((target**2).mean(axis=0)), np.finfo(float).tiny)
    gram = centred.T @ centred
    gram[np.diag_indices_from(gram)] += 1e-2 * np.trace(gram) / len(gram) + np.finfo(float).tiny
    directions = np.linalg.solve(gram, centred.T @ target)
    if directions.shape[1] > n_directions:
        _, _, components = np.linalg.svd(centred @ directions, full_matrices=False)
        directions = directions @ components[:n_directions].T
    lengths = np.maximum(np.sqrt(np.einsum("dk,dk->k", directions, directions)), np.finfo(float).tiny)
    return np.ascontiguousarray((directions / lengths).T)
