"""`Keys`: which of the known categories of a column each cell equals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..sources.cells import Cells

#: States after those of the known categories, in this order.
STATES = ("UNKNOWN", "NONE", "NAN", "NA", "OTHER")
UNKNOWN, NONE, NAN, NA, OTHER = range(len(STATES))


class Keys:
    """The known categories of a column, and which of them a cell equals.

    Parameters
    ----------
    known : list of str, or ndarray of float64 or int64
    """

    def __init__(self, known: list[str] | NDArray[Any]) -> None:
        self.known = known
        self.is_text = not isinstance(known, np.ndarray)
        self.n_known = len(known)
        self.n_states = self.n_known + len(STATES)
        self._index = {value: i for i, value in enumerate(known if isinstance(known, list) else known.tolist())}

    def take(self, cells: Cells, values: NDArray[Any], refused: NDArray[np.bool_]) -> tuple[NDArray[Any], int]:
        """The value of each cell's state, and the first row whose state is refused, or -1."""
        states = np.array([self.state_of(value) for value in cells.objects()], dtype=np.intp)
        wrong = np.flatnonzero(refused[states])
        return values[states], int(wrong[0]) if len(wrong) else -1

    def state_of(self, value: Any) -> int:
        """The state of one object."""
        base = self.n_known
        if value is None:
            return base + NONE
        if type(value).__name__ == "NAType":
            return base + NA
        if isinstance(value, float | np.floating) and value != value:
            return base + NAN
        if isinstance(value, str):
            return self._index.get(value, base + UNKNOWN) if self.is_text else base + OTHER
        if self.is_text or isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
            return base + OTHER
        value = value.item() if isinstance(value, np.generic) else value
        return self._index.get(value, base + (OTHER if value in (np.inf, -np.inf) else UNKNOWN))
