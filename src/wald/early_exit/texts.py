"""Texts in full: labels and numbers by the engine, and by the wrapped model where the engine leaves them to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import Status
from ..models import AdditiveModel
from ..sources import Source
from ..sources.texts import texts_of
from .full_model import Codes, FullModel, Statuses

#: Number of texts of which a list is made at a time.
TEXTS = 16384


class Texts:
    """Answers rows that are texts, without the sparse rows between.

    Parameters
    ----------
    model : AdditiveModel
        With `texts`.
    full : FullModel
        The wrapped model.
    """

    def __init__(self, model: AdditiveModel, full: FullModel) -> None:
        assert model.texts is not None
        self._model, self._full, self._scores = model, full, model.texts
        self._labels = tuple(model.classes)

    def prepare(self) -> None:
        """Build the table of words now, which the first prediction would build else."""
        self._scores.prepare()

    def decided(self, source: Source, n_threads: int) -> tuple[Codes, Statuses] | None:
        """Codes and status of all rows; None if they are no column of texts.

        Rows within rounding of a tie, and those that are no texts, are answered by the wrapped model. It raises its own
        error for a row that it does not take, to which the place is added.
        """
        codes, status = np.zeros(source.n_rows, dtype=np.int32), np.full(source.n_rows, Status.FULL, dtype=np.uint8)
        start = 0
        for part in source.parts(TEXTS):
            texts = texts_of(part)
            if texts is None or len(texts) != part.n_rows:
                return None
            some = slice(start, start + len(texts))
            codes[some], sure = self._scores.codes(texts, self._model.decision, self._model.tie_margin, n_threads)
            left = np.flatnonzero(~sure)
            if len(left):
                codes[start + left], status[start + left] = self._handed_over(part, texts, left, start)
            start += len(texts)
        return codes, status

    def _handed_over(self, part: Source, texts: list[Any], left: NDArray[np.intp], start: int) -> tuple[Codes, Status]:
        codes = np.zeros(len(left), dtype=np.int32)
        odd = np.array([not isinstance(texts[i], str) for i in left], dtype=bool)
        if odd.any():
            rows = left[odd]
            try:
                codes[odd] = self._full.predict(part.take(rows))
            except (AttributeError, TypeError, ValueError) as error:
                _say_where(error, [(start + int(i), texts[i]) for i in rows])
                raise
        if not odd.all():
            codes[~odd] = self._full.at_ties(part.take(left[~odd]))
        return codes, Status.HANDED_OVER

    def numbers(self, method: str, source: Source, n_threads: int) -> NDArray[Any] | None:
        """What a method of the wrapped model returns, bit for bit; None if the engine does not know that."""
        if self._model.ruled or not self._scores.replays:
            return None
        texts = texts_of(source)
        return None if texts is None else self._scores.numbers(method, texts, n_threads)

    def label_one(self, cost: float, x: Any, return_cost: bool) -> Any:
        """The label of one text, or label and cost; None if the engine does not settle it."""
        if type(x) is not str:
            return None
        codes, sure = self._scores.codes([x], self._model.decision, self._model.tie_margin, 1)
        if not sure[0]:
            return None
        label = self._labels[codes[0]]
        return (label, cost) if return_cost else label


def _say_where(error: Exception, rows: list[tuple[int, Any]]) -> None:
    """Add the first row that is neither text nor bytes to an error that has a message alone."""
    found = next(((i, value) for i, value in rows if not isinstance(value, bytes)), None)
    if found is not None and len(error.args) == 1 and isinstance(error.args[0], str):
        i, value = found
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
        error.args = (f"{error.args[0].rstrip('.')}. X must hold texts: row {i} is {shown}.",)
