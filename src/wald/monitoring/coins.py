"""Independent coins for served rows: which of them are audited."""

from __future__ import annotations

import math
import secrets
from typing import Any

import numpy as np
import numpy.typing as npt


class Coins:
    """One coin per row, whatever the row holds, from a counter-based generator.

    Only the gaps between heads are drawn, so that a row costs nothing where audits are rare.

    Parameters
    ----------
    rate : float
        Probability of heads, in [0, 1].
    seed : int or None, default=None
        None takes one from the operating system.
    """

    def __init__(self, rate: float, seed: int | None = None) -> None:
        self.rate = rate
        self._random = np.random.Generator(np.random.Philox(secrets.randbits(64) if seed is None else seed))
        self._tails = self._gap()

    def next(self) -> bool:
        """Toss one coin."""
        if self._tails > 0:
            self._tails -= 1
            return False
        self._tails = self._gap()
        return True

    def heads(self, n: int) -> npt.NDArray[np.int64]:
        """Toss `n` coins; returns the places of heads, in increasing order."""
        found: list[int] = []
        while self._tails < n - (found[-1] + 1 if found else 0):
            found.append((found[-1] + 1 if found else 0) + int(self._tails))
            self._tails = self._gap()
        self._tails -= n - (found[-1] + 1 if found else 0)
        return np.array(found, dtype=np.int64)

    def _gap(self) -> float:
        """Number of tails before the next heads."""
        if self.rate <= 0.0:
            return math.inf
        return float(self._random.geometric(self.rate) - 1)


def require_audits(audit_rate: Any, on_broken: Any) -> None:
    """Raise ValueError or TypeError unless the parameters of audits are valid."""
    if isinstance(audit_rate, bool) or not isinstance(audit_rate, int | float | np.floating | np.integer):
        raise TypeError(f"audit_rate must be None or a number from 0 to 1. Got {type(audit_rate).__name__}.")
    if not 0.0 <= audit_rate <= 1.0:
        raise ValueError(f"audit_rate must be from 0 to 1: the share of the rows that are audited. Got {audit_rate}.")
    if on_broken not in ("warn", "full"):
        raise ValueError(f"on_broken must be 'warn' or 'full'. Got {on_broken!r}.")
