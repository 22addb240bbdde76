"""Rows that are served to a model behind surrogates: asked about as far as they get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..calls import CallError, PartialAnswer
from ..engine import Decisions, Status
from ..sources import LazyRows
from .looks import Looks, Prepared
from .units import Floats, Ints

T = TypeVar("T")


class LazyAnswers:
    """Rows of `OpaqueTerms` whose columns are asked for when they are needed.

    Parameters
    ----------
    looks : Looks
    rows : Prepared
        The raw rows.
    n_threads : int
    heard : list, optional
        Rows that the model had answered when a later call failed, and its answers.
    """

    dtype = np.dtype(np.float64)

    def __init__(
        self,
        looks: Looks,
        rows: Prepared,
        n_threads: int,
        heard: list[tuple[NDArray[np.intp], NDArray[np.int32]]] | None = None,
    ) -> None:
        self._looks, self._raw, self._threads, self._heard = looks, rows, n_threads, [] if heard is None else heard
        self.shape = rows.n_rows, looks.width

    def __getitem__(self, rows: Any) -> LazyAnswers:
        if isinstance(rows, np.ndarray) and len(rows) == self.shape[0]:
            return self  # rows come in their order, and all of them are asked for
        return LazyAnswers(self._looks, self._raw.take(rows), self._threads, self._heard)

    def columns(self, terms: Ints) -> Floats:
        """Some columns of all rows. An error about a call names rows of all; what the model has answered is kept."""
        return self._asked(lambda: self._looks.of_prepared(self._raw, terms, self._threads))

    def codes(self) -> NDArray[np.int32]:
        """The model's answers to all rows, with the same errors."""
        return self._asked(lambda: self._looks.codes(self._raw.source))

    def _asked(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except CallError as error:
            own, source, rows = self._looks.answered(error), self._raw.source, self._raw.numbers
            if own is not None:
                self._heard.append((rows[own[0]], own[1]))
            if not isinstance(source, LazyRows):
                error.renumber(rows)
            elif own is not None:
                error.renumber(source.numbers)
            raise

    def put_answers(self, codes: NDArray[np.int32], status: NDArray[np.uint8]) -> None:
        """Write what the model had answered before it failed."""
        for rows, answers in self._heard:
            codes[rows], status[rows] = answers, Status.FULL

    def carried(self, decided: Decisions) -> PartialAnswer:
        """What an error carries of decisions."""
        settled, labels = decided.ledger.settled, np.asarray(self._looks.model.classes_).take(decided.codes)
        return PartialAnswer(labels, settled, np.where(settled, decided.ledger.paid, 0.0), decided)
