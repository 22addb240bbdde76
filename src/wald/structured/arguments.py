"""Checks of the arguments that sessions share."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["checked_examples", "checked_state"]


def checked_state(state: ArrayLike | None, shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return a state as an array, or one that has every group; raise ValueError unless it has this shape."""
    if state is None:
        return np.ones(shape, dtype=bool)
    array = np.asarray(state)
    if array.dtype != bool or array.shape != shape:
        raise ValueError(f"state must be a boolean array of shape {shape}. Got {array.dtype}, shape {array.shape}.")
    return array


def checked_examples(examples: ArrayLike | None) -> NDArray[np.int64] | None:
    """Return indices of examples as int64, None for all; raise ValueError unless they are 1-D whole numbers."""
    if examples is None:
        return None
    chosen = np.asarray(examples)
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise ValueError(f"examples must be a 1-D array of indices. Got {chosen.dtype}, shape {chosen.shape}.")
    return np.ascontiguousarray(chosen, dtype=np.int64)
