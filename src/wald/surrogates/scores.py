"""Scores of terms by wald's engine, as what a surrogate says."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..models import Terms
from ..models.packing import pack
from ..sources import Source, source_of

Floats = NDArray[np.float64]


class Scores:
    """Scores of terms, of which each takes what those before it give.

    Parameters
    ----------
    terms : sequence of Terms
    bound : float, default=inf
        Scores of a larger size count as this; of rows whose numbers are too large for the engine, as 0.
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
        if self.shared is None:
            return self._bounded(self._scores(0, source, n_threads))
        return self.of_prepared(self.prepared(source, n_threads), n_threads)

    @property
    def shared(self) -> Hashable | None:
        """The first terms if there are others: scores with the same first terms may have their values in common."""
        return self._terms[0] if len(self._terms) > 1 else None

    def prepared(self, source: Source, n_threads: int) -> Floats:
        """Scores of the first terms."""
        return self._scores(0, source, n_threads)

    def of_prepared(self, prepared: Floats, n_threads: int) -> Floats:
        """Scores of rows, of which those of the first terms are known."""
        found = prepared
        for step in range(1, len(self._terms)):
            found = self._scores(step, source_of(found), n_threads)
        return self._bounded(found)

    def _scores(self, step: int, rows: Source, n_threads: int) -> Floats:
        found: Floats = self._packed[step].scores(rows, _exactly, n_threads, self._single[step])[0]
        return found

    def _bounded(self, found: Floats) -> Floats:
        found = np.where(np.isnan(found), 0.0, found)
        return found if self._bound == np.inf else np.clip(found, -self._bound, self._bound)

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
