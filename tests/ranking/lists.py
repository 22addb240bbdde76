"""Made-up lists of rows, and a ranker of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wald import EarlyExitRanker

K = 5


def lists(n_groups: int, size: int = 40, seed: int = 0) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Rows, their relevance, and the keys of their groups."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_groups * size, 8)).astype(np.float32)
    worth = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.3 * rng.normal(size=len(X))
    return X, np.clip(np.round(worth), 0, 3).astype(int), np.repeat(np.arange(n_groups), size)


@cache
def ranker(n_trees: int = 60, leaves: int = 15) -> Any:
    """A fitted LGBMRanker."""
    lightgbm = pytest.importorskip("lightgbm")
    X, y, groups = lists(50)
    model = lightgbm.LGBMRanker(n_estimators=n_trees, num_leaves=leaves, verbose=-1, n_jobs=1)
    return model.fit(X, y, group=np.bincount(groups))


@cache
def fast(risk: float = 0.05) -> EarlyExitRanker:
    """A ranker that exits early; tests must not change it."""
    X, y, groups = lists(200, seed=1)
    return EarlyExitRanker(ranker(), k=K, risk=risk, random_state=0, n_jobs=1).fit(X, y, groups=groups)


def first(scores: NDArray[Any], k: int = K) -> NDArray[np.intp]:
    """Rows of one list, the best first, rows of equal scores in their order."""
    return np.argsort(-scores, kind="stable")[:k]
