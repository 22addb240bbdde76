"""Layouts and containers that hold the same rows: functions from an array to each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

Container = Callable[[Any], Any]

#: Dense and sparse, for learners that read both.
DENSE_AND_CSR: list[Container] = [np.asarray, sparse.csr_matrix]

#: Every layout in which the engine reads a matrix in memory.
LAYOUTS: dict[str, Container] = {"C": np.ascontiguousarray, "F": np.asfortranarray, "CSR": sparse.csr_array}


def stream_containers(X: Any, n_narrow: int) -> dict[str, Any]:
    """Rows in every container that online learners read, and rows of few features; the CSR has small values as 0."""
    return {
        "float64": X,
        "float32": X.astype(np.float32),
        "csr": sparse.csr_matrix(np.where(np.abs(X) > 0.5, X, 0)),
        "narrow": np.ascontiguousarray(X[:, :n_narrow]),
    }
