"""Concatenated values of some examples' parts: example ``i`` has those from ``ends[i]`` to ``ends[i + 1]``."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ... import _core

Ends = NDArray[np.int64]


def parts_of(offsets: Ends, examples: NDArray[np.int64]) -> tuple[NDArray[np.int64], Ends]:
    """Indices of some examples' parts, and where each example's begin and end among them."""
    return _core.parts_of(np.ascontiguousarray(offsets, dtype=np.int64), np.ascontiguousarray(examples, dtype=np.int64))


def owner(ends: Ends) -> NDArray[np.int64]:
    """Index of the example that each value belongs to."""
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


def ranks(values: NDArray[np.float64], ends: Ends) -> NDArray[np.int64]:
    """Place of each value within its example, 0 for the largest; of equal ones the first comes first."""
    order = np.lexsort((-values, owner(ends)))
    out = np.empty(len(values), dtype=np.int64)
    out[order] = np.arange(len(values)) - np.repeat(ends[:-1], np.diff(ends))
    return out


def counts(which: NDArray[np.bool_], ends: Ends) -> NDArray[np.int64]:
    """Count the true values within each example."""
    return np.add.reduceat(which, ends[:-1], dtype=np.int64)
