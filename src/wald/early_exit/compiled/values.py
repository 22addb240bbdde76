"""Answers that are values: what the wrapped estimator's `predict` makes of scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine import CompiledTerms, Decisions, Packed, Status
from ...models import AdditiveModel
from ...sources import Source
from .full_model import predict_wrapped
from .rows import check_finite


class Values:
    """Values in place of scores.

    Parameters
    ----------
    model : AdditiveModel
        Its links have a `predict`.
    packed : Packed
        Its terms.
    """

    def __init__(self, model: AdditiveModel, packed: Packed) -> None:
        assert model.links.predict is not None
        self._model, self._link = model, model.links.predict
        self._number = None if model.links.value_link is None else model.links.value_link.number
        self._scores_of_one: Callable[[Any], Any] | None = None
        if model.preprocessing is None and isinstance(packed, CompiledTerms):
            self._scores_of_one = packed.core.scores_of_one

    def of(self, scores: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.intp]]:
        """Values of rows by their full scores, and which rows the engine refused: their values have no meaning."""
        finite = np.isfinite(scores)
        refused = np.zeros(0, dtype=np.intp) if finite.all() else np.flatnonzero(~finite.all(axis=1))
        if len(refused):  # the way back from a transformed target may refuse such scores
            scores = scores.copy()
            scores[refused] = 0.0
        return np.asarray(self._link(scores)), refused

    def in_full(self, source: Source, scores: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[np.uint8]]:
        """Values and status of rows; the wrapped model answers rows that the engine refused, or raises."""
        values, refused = self.of(scores)
        status = np.full(len(scores), Status.FULL, dtype=np.uint8)
        if len(refused):
            rows = source.take(refused)
            if self._model.preprocessing is None:
                check_finite(self._model, rows)
            values[refused], status[refused] = predict_wrapped(self._model, rows), Status.HANDED_OVER
        return values, status

    def early(self, decided: Decisions) -> NDArray[Any]:
        """Values of rows by the scores that decided them; those of unsettled rows have no meaning."""
        settled = decided.ledger.settled
        scores = np.zeros((len(settled), self._model.decision.n_outputs))
        scores[settled] = decided.codes[settled].reshape(-1, scores.shape[1])  # without any: codes of no shape
        return np.array(self._link(scores))

    def none(self) -> NDArray[Any]:
        """The values of no rows, which have the shape and the dtype of those of others."""
        with np.errstate(all="ignore"):
            return np.asarray(self._link(np.zeros((1, self._model.decision.n_outputs))))[:0]

    def one(self, x: Any) -> Any:
        """The value of one row, an array that the engine reads in place; None for everything else."""
        scores = None if self._scores_of_one is None else self._scores_of_one(x)
        if scores is None:
            return None
        if type(scores) is float and self._number is not None:
            return self._number(scores) if math.isfinite(scores) else None
        row = scores if isinstance(scores, list) else [scores]
        return self._link(np.array([row]))[0] if all(map(math.isfinite, row)) else None

    def of_score(self, score_one: Callable[[Any, bool], Any], x: Any, with_cost: bool) -> Any:
        """The value of one row, or value and cost, by a function to its score; None if this gives none."""
        found = score_one(x, with_cost)
        if found is None:
            return None
        value = self._link(np.array([[found[0] if with_cost else found]]))[0]
        return (value, found[1]) if with_cost else value
