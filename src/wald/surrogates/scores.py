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
    """Scores of terms, of which each takes what those before it give.

    Parameters
    ----------
    terms : sequence of Terms
    bound : float, default=inf
        Scores of a larger size count as this.
    """

    def __init__(self, *terms: Terms, bound: float = np.inf) -> None:
        self._terms, self._bound = terms, bound
        # float32 takes a kernel machine half of the time
        self._single = ["float32" in each.planning.precisions for each in terms]
        self._packed = [
            pack(each, precision="float32" if single else "float64")
            for each, single in zip(terms, self._single, strict=True)
        ]

    def __call__(self, source: Source, n_threads: int) -> Floats:
        """Scores of rows, (n_rows, n_outputs)."""
        rows: Any = source
        for packed, single in zip(self._packed, self._single, strict=True):
            rows = packed.scores(rows, _exactly, n_threads, single)[0]
        found: Floats = np.clip(rows.astype(np.float64), -self._bound, self._bound)
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return _scores, (self._terms, self._bound)

    @property
    def parts(self) -> tuple[tuple[Terms, ...], float]:
        """The terms and the bound, of which the same can be made."""
        return self._terms, self._bound


def _scores(terms: tuple[Terms, ...], bound: float) -> Scores:
    return Scores(*terms, bound=bound)


def _exactly(dtype: Any) -> float:
    """Unit roundoff of a model of no other arithmetic."""
    return 0.0
