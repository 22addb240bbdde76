"""Counts of audits and disagreements as they are given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

#: Counts of audits, or sums of their losses: one number, or one for each answer that the full model gives.
Counts = float | Sequence[float] | npt.NDArray[Any]
#: The largest count.
MOST = 2**63 - 1
#: Audits and disagreements by an answer's code; None is an answer that is not known.
ByAnswer = Mapping[int | None, tuple[int, float]]


def whole_counts(what: str, given: npt.ArrayLike) -> list[int]:
    """One count, or those of the stages or answers, as integers."""
    counts = np.atleast_1d(np.asarray(given)).tolist()
    if not all(isinstance(count, int) or (isinstance(count, float) and count.is_integer()) for count in counts):
        raise ValueError(f"{what} must be whole numbers. Got {given!r}.")
    if any(abs(count) > MOST for count in counts):
        raise ValueError(f"{what} must be numbers of 64 bits. Got {given!r}.")
    return [int(count) for count in counts]


def losses_of(given: Counts) -> list[float]:
    """One sum of losses, or those of the answers."""
    losses = np.atleast_1d(np.asarray(given)).tolist()
    if not all(isinstance(lost, int | float) and math.isfinite(lost) for lost in losses):
        raise ValueError(f"disagreements must be finite numbers. Got {given!r}.")
    return [number(lost) for lost in losses]


def number(lost: float) -> float:
    """A sum of losses; as an integer where it is whole."""
    return int(lost) if lost == int(lost) else float(lost)
