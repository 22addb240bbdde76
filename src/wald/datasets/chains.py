"""Synthetic sequences whose labels follow a Markov chain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_chains(
    n_sequences: int = 100,
    *,
    n_classes: int = 4,
    n_features: int = 8,
    mean_length: int = 6,
    noise: float = 1.0,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.int64]]]:
    """Draw sequences whose labels follow a Markov chain and whose parts are noisy versions of a mean for each label.

    Parameters
    ----------
    n_sequences, n_classes, n_features : int
    mean_length : int, default=6
        Lengths are 1 plus a Poisson variable.
    noise : float, default=1.0
        Standard deviation around the means, which are themselves standard normal.
    random_state : int, RandomState instance or None, default=None

    Returns
    -------
    X : list of float64 ndarray of shape (length, n_features)
    y : list of int64 ndarray of shape (length,)

    Examples
    --------
    >>> X, y = make_chains(3, random_state=0)
    >>> len(X), X[0].shape[1], X[0].shape[0] == len(y[0])
    (3, 8, True)
    """
    if min(n_sequences, n_classes, n_features, mean_length) < 1:
        raise ValueError("n_sequences, n_classes, n_features and mean_length must be at least 1.")
    if not noise >= 0:
        raise ValueError(f"noise must not be negative. Got {noise!r}.")
    rng = check_random_state(random_state)
    means = rng.normal(size=(n_classes, n_features))
    steps = rng.dirichlet(np.full(n_classes, 0.5), size=n_classes).cumsum(axis=1)
    X, y = [], []
    for length in 1 + rng.poisson(mean_length - 1, size=n_sequences):
        labels = np.empty(length, dtype=np.int64)
        labels[0] = rng.randint(n_classes)
        for t in range(1, length):
            labels[t] = min(np.searchsorted(steps[labels[t - 1]], rng.uniform()), n_classes - 1)
        X.append(means[labels] + noise * rng.normal(size=(length, n_features)))
        y.append(labels)
    return X, y
