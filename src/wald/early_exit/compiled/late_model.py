"""A costly model that is asked late: for the rows that the surrogates before it leave undecided."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine import AtEnd, Cascade, Decisions
from ...models.opaque import LazyAnswers, Looks, Prepared
from ...sources import Source


class LateModel:
    """Answers rows by surrogates, and by the model where they are not sure; see `LateSteps` for the methods.

    Parameters
    ----------
    looks : Looks
    cascade : Cascade
        Stages on their columns.
    """

    def __init__(self, looks: Looks, cascade: Cascade) -> None:
        self._looks, self._cascade = looks, cascade

    def columns_by_stage(self) -> list[NDArray[np.intp]] | None:
        """None: whoever is asked gets whole rows."""
        return None

    def require_rows_alone(self, source: Source, together: NDArray[np.floating[Any]]) -> None:
        """Nothing to compare: what surrogates say is certified, and not what they should say."""

    def predict(
        self,
        source: Source,
        n_stages: int,
        at_end: AtEnd,
        n_threads: int,
        whole: Callable[[Source], Decisions],
    ) -> Decisions:
        """Decide raw rows by the first stages, and by the model."""
        return self._decided(source, n_stages, at_end, n_threads)

    def in_full(self, source: Source, n_threads: int) -> Decisions:
        """Ask the model about all rows."""
        return self._decided(source, 0, "full", n_threads)

    def _decided(self, source: Source, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        return self._cascade.predict(LazyAnswers(self._looks, Prepared(source), n_threads), n_stages, at_end, n_threads)
