"""Scores of terms by wald's engine, as what a surrogate says."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import Terms
from ..models.packing import pack
from ..sources import Source

Floats = NDArray[np.float64]


class Scores:
    """Scores of terms.

    Parameters
    ----------
    terms : Terms
    bound : float, default=inf
        Scores of a larger size count as this.
    unknown : float, default=nan
        Counts for scores of rows whose numbers are too large for the engine, or of which no more is known.
    """

    def __init__(self, terms: Terms, bound: float = np.inf, unknown: float = np.nan) -> None:
        self._terms, self._bound, self._unknown = terms, bound, unknown
        self._single = "float32" in terms.planning.precisions  # takes a kernel machine half of the time
        self._packed = pack(terms, precision="float32" if self._single else "float64")

    def __call__(self, source: Source, n_threads: int) -> Floats:
        """Scores of rows, (n_rows, n_outputs)."""
        found: Floats = self._packed.scores(source, _exactly, n_threads, self._single)[0]
        if self._bound < np.inf:
            found = np.clip(found, -self._bound, self._bound)
        if not np.isnan(self._unknown):
            found = np.where(np.isnan(found), self._unknown, found)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return Scores, (self._terms, self._bound, self._unknown)


def _exactly(dtype: Any) -> float:
    """Unit roundoff of a model of no other arithmetic."""
    return 0.0
