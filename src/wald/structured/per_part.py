"""Tests of a part's mean loss on whole examples, whose parts may depend on each other."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..stopping.core.betting import betting_p_value, largest_log_growth
from ..stopping.core.validation import require_fraction, require_integer

Failure = Literal["too few examples", "too much loss"]

#: Numbers of examples above this are computed by a formula.
_MANY = 1_000_000


def examples_needed(n_parts: ArrayLike, *, risk: float, confidence: float = 0.95, max_parts: int | None = None) -> int:
    """Number of examples that a promise needs even if none of them has a loss.

    Parameters
    ----------
    n_parts : array-like of int
        Lengths of examples like those to come.
    risk, confidence : float
        Strictly between 0 and 1.
    max_parts : int, optional
        As for `certify_structures`; by default the longest of the given lengths.

    Returns
    -------
    int
        The number of examples, if the given lengths are repeated as often as needed. Beyond a million, a lower bound
        that is too small by a few per cent at most.

    Raises
    ------
    ValueError
        For parameters out of range.

    Examples
    --------
    >>> examples_needed([8], risk=0.01), examples_needed([8], risk=0.001)
    (302, 3025)
    >>> examples_needed([2, 8, 14], risk=0.01), examples_needed([2, 8, 14], risk=0.01, max_parts=10)
    (528, 378)
    """
    owner = "examples_needed"
    require_fraction(owner, "risk", risk)
    require_fraction(owner, "confidence", confidence)
    n = checked_lengths(owner, n_parts)
    if len(n) == 0:
        raise ValueError(f"The 'n_parts' of {owner} must hold at least one example.")
    return PartTest(risk, confidence, checked_longest(owner, n, max_parts)).enough_examples(n)


@dataclass(frozen=True)
class PartTest:
    """The test of a mean loss of a part, or of another unit, on examples of at most so many parts."""

    risk: float
    confidence: float
    max_parts: int

    def passes(self, gaps: NDArray[np.float64], n_parts: NDArray[Any]) -> bool:
        """Return True if the examples reject, at level 1 - `confidence`, a mean loss of a part above `risk`."""
        level = 1.0 - self.confidence
        return bool(betting_p_value(self._padded(gaps, n_parts), self.risk, level=level) <= level)

    def failure(self, n_parts: NDArray[Any]) -> Failure:
        """Return why `passes` is false: too few examples to pass even without a loss, or else too much loss."""
        return "too much loss" if self.passes(np.zeros(len(n_parts)), n_parts) else "too few examples"

    def enough_examples(self, n: NDArray[Any]) -> int:
        """Number of examples with these numbers of parts, or of other units, as `examples_needed` gives it."""
        growth = float(largest_log_growth(self._padded(np.zeros(len(n)), n), self.risk).mean())
        few = max(1, math.ceil(-math.log1p(-self.confidence) / growth))
        if few > _MANY:
            return few
        low, high = few - 1, few  # low examples are too few: bets cannot grow faster
        while not self.passes(np.zeros(high), np.resize(n, high)):
            low, high = high, high + max(1, high // 16)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.passes(np.zeros(middle), np.resize(n, middle)) else (middle, high)
        return high

    def _padded(self, gaps: NDArray[np.float64], n_parts: NDArray[Any]) -> NDArray[np.float64]:
        """Losses of at most 1 whose mean is above `risk` if and only if that of the parts is.

        Each example is padded to `max_parts` parts with parts of loss `risk`. A longer example has no gap, and its loss
        here is below `risk`.
        """
        return np.asarray((gaps + self.risk * (self.max_parts - n_parts)) / self.max_parts)


def checked_lengths(owner: str, n_parts: ArrayLike) -> NDArray[np.int64]:
    """Lengths of examples, or ValueError."""
    n = np.asarray(n_parts)
    if n.ndim != 1 or (n.size and (n.dtype.kind not in "iu" or n.min() < 1)):
        raise ValueError(f"The 'n_parts' of {owner} must be a 1-D array of integers of at least 1.")
    return n.astype(np.int64)


def checked_longest(owner: str, n_parts: NDArray[np.int64], max_parts: Any) -> int:
    """`max_parts`, or the longest length, or ValueError."""
    if max_parts is None:
        return int(n_parts.max(initial=1))
    require_integer(owner, "max_parts", max_parts, 1)
    return int(max_parts)
