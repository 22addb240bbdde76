"""The classical learners, written out in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Learnt:
    """Weights and intercept after every row, and their average over the rows."""

    w: np.ndarray
    b: float
    mean_w: np.ndarray
    mean_b: float
    n_updates: int
    n_read: int = 0


def learn(rule, X, y, *, epochs=1, rate=1.0, intercept=True, weight=None, begin=0, shrinking=False):
    """Learn row by row; y holds -1 and 1. The average begins with row ``begin``, counted from 1."""
    w, b = np.zeros(X.shape[1]), 0.0
    sum_w, sum_b, sum_c, n_updates, t = np.zeros(X.shape[1]), 0.0, 0.0, 0, 0
    unchanged, n_read = np.zeros(len(X), dtype=bool), 0
    for epoch in range(epochs):
        for i in range(len(X)):
            t += 1
            skipped = shrinking and epoch % 5 != 0 and unchanged[i]
            c = 1.0 if weight is None else weight[i]
            margin = y[i] * (X[i] @ w + b)
            if rule == "perceptron":
                step = rate if margin <= 0 else 0.0
            elif rule == "pegasos":
                step = 1 / (rate * t) if margin < 1 else 0.0
                w, b = (1 - 1 / t) * w, (1 - 1 / t) * b
            else:
                norm = X[i] @ X[i]
                loss = max(0.0, 1 - margin)
                step = loss / (norm + 0.5 / rate) if rule == "PA-II" else loss / norm if norm > 0 else 0.0
                step = min(step, rate) if rule == "PA-I" else step
            if not skipped:
                n_read += 1
                unchanged[i] = step == 0
            if step > 0 and c > 0 and not skipped:
                n_updates += 1
                w = w + c * step * y[i] * X[i]
                b = b + c * step * y[i] * intercept
            share = (t >= begin) * (t if rule == "pegasos" else 1)
            sum_w, sum_b, sum_c = sum_w + share * w, sum_b + share * b, sum_c + share
    if sum_c == 0:
        return Learnt(w, b, w, b, n_updates, n_read)
    return Learnt(w, b, sum_w / sum_c, sum_b / sum_c, n_updates, n_read)


def boost(H, y, *, potential="logistic", negligible=0.1, learning_rate=1.0, epochs=1, intercept=True, weight=None):
    """Online boosting on the votes H of hypotheses, one row after the other; y holds -1 and 1."""
    rate, threshold = learning_rate / H.shape[1], -np.log(negligible)
    if potential == "logistic":
        threshold += np.log1p(-negligible)
    w, b, n_updates = np.zeros(H.shape[1]), 0.0, 0
    sum_w, sum_b = np.zeros(H.shape[1]), 0.0
    for _ in range(epochs):
        for i in range(len(H)):
            c = 1.0 if weight is None else weight[i]
            margin = y[i] * (H[i] @ w + b)
            if margin < threshold and c > 0:
                importance = 1 / (1 + np.exp(margin)) if potential == "logistic" else min(1.0, np.exp(-margin))
                n_updates += 1
                w = w + rate * importance * c * y[i] * H[i]
                b = b + rate * importance * c * y[i] * intercept
            sum_w, sum_b = sum_w + w, sum_b + b
    n = epochs * len(H)
    return Learnt(w, b, sum_w / n, sum_b / n, n_updates)


def walk_problem(rng, n_rows=3000, n_features=96, signal=0.35):
    """Labels with many weak features, whose values lie on a grid, so that float64 sums are exact in any order."""
    y = np.where(rng.random(n_rows) < 0.4, 1, -1)
    X = rng.normal(size=(n_rows, n_features)) + signal * y[:, None] * rng.random(n_features)
    return np.round(X * 64) / 64, y
