"""Random models of tree libraries for the tests of their readers."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import make_classification


def random_data(
    rng: np.random.Generator, n_classes: int, nan: bool = False
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows, labels and other rows; sometimes of few distinct values."""
    X, y = make_classification(
        400,
        8,
        n_informative=5,
        n_classes=n_classes,
        n_clusters_per_class=1,
        flip_y=0.1,
        random_state=int(rng.integers(2**31)),
    )
    X = X * 10.0 ** rng.integers(-3, 4, 8)
    if rng.random() < 0.4:
        X = np.round(X)
    if nan:
        X[rng.random(X.shape) < 0.1] = np.nan
    others = np.concatenate([X * 1.01, rng.normal(size=X.shape) * np.nanstd(X, axis=0), np.round(X)])
    return X, y, others


def check_reader(model: Any, X: np.ndarray, own: np.ndarray | None) -> None:
    """Check that scores have the bits of the model's own, and that labels are the model's own."""
    from wald.models import decompose

    read = decompose(model)
    assert read.changed() is None
    scores = read.terms.scores(X)
    if own is not None:
        np.testing.assert_array_equal(scores, np.asarray(own, dtype=np.float64).reshape(len(X), -1))
    codes, labels = read.decision.answers(scores), np.asarray(model.predict(X)).ravel()
    confidence = np.abs(read.decision.distances(scores))
    largest = np.abs(scores).max(axis=1)
    handed_over = (read.tie_margin > 0) & (confidence <= 2 * read.tie_margin) | (largest > read.decision.saturation)
    wrong = np.asarray(read.classes)[codes].ravel() != labels
    assert not (wrong & ~handed_over).any()
    assert handed_over.mean() < 0.05
