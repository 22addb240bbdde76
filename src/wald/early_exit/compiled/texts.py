"""Texts: labels and numbers by the engine, and by the wrapped model where the engine leaves them to it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...engine import NOTHING, Decisions, Status
from ...models import AdditiveModel
from ...models.protocols import Documents
from ...models.texts import FEW_TEXTS, EarlyStages
from ...plan import Plan
from ...sources import Source
from ...sources.texts import NoTextError
from .documents import early_stages
from .full_model import Codes, FullModel, Statuses, predict_wrapped

#: Number of texts of which a list is made at a time.
TEXTS = 16384


class Texts:
    """Answers rows that are texts, without the sparse rows between.

    Parameters
    ----------
    model : AdditiveModel
        With `texts`.
    plan : Plan
    full : FullModel
        The wrapped model.
    """

    def __init__(self, model: AdditiveModel, plan: Plan, full: FullModel) -> None:
        assert model.texts is not None
        self._model, self._plan, self._full, self._scores = model, plan, full, model.texts
        self._labels = tuple(model.classes)
        self._documents = Documents.of(model.terms)

    @cached_property
    def _labelled(self) -> _core.TextPlan | None:
        """What labels texts in the extension; None if its scores are read here, without stages."""
        plan, documents, n_outputs = self._plan, self._documents, self._scores.terms.n_outputs
        stages = EarlyStages.none(n_outputs)
        if documents is not None:
            stages = early_stages(documents, plan.terms, plan.early, *plan.thresholds())
        return self._scores.labelled(
            stages,
            self._model.decision,
            self._model.tie_margin,
            self._labels,
            n_stages=plan.n_stages,
            reach=0 if plan.evaluate_all else len(stages.looks),
            cost=plan.full_cost if documents is None else None,
        )

    def reads(self, n_stages: int) -> bool:
        """Whether rows that may leave at so many stages are read here."""
        return n_stages == 0 or self._documents is not None

    def prepare(self) -> None:
        """Build the table of words now, which the first prediction would build else."""
        self._labelled  # noqa: B018  # a cached property

    def decided(self, source: Source, n_stages: int, answer: bool, n_threads: int) -> Decisions | None:
        """Decide rows by some stages, or in full; None if the rows are no column of texts.

        Rows within rounding of a tie, and those that are no texts, are answered by the wrapped model. It raises its own
        error for a row that it does not take, to which the place is added.

        Parameters
        ----------
        source : Source
        n_stages : int
        answer : bool
            Whether the last of them gives its answer to what it leaves undecided.
        n_threads : int
        """
        found, start = NOTHING, 0
        for part in source.parts(TEXTS):
            texts = self._scores.vectorizer.rows_of(part)
            if texts is None or len(texts) != part.n_rows:
                return None
            decided = self._of_texts(texts, n_stages, answer, n_threads)
            codes, (_, paid, status) = decided
            left = np.flatnonzero(status == Status.HANDED_OVER)
            if len(left):
                codes[left], status[left] = self._handed_over(part, texts, left, start)
                if self._documents is not None:
                    paid[left] = np.where(paid[left] > 0, paid[left], [len(texts[i]) for i in left])
            if len(texts) == source.n_rows:
                return decided
            if start == 0:
                found = Decisions.of(*(np.empty(source.n_rows, dtype=each.dtype) for each in (codes, *decided.ledger)))
            found.put(slice(start, start + len(texts)), decided)
            start += len(texts)
        return found

    def _of_texts(self, texts: list[Any], n_stages: int, answer: bool, n_threads: int) -> Decisions:
        """Decide texts. Those that the engine does not settle are `HANDED_OVER`, without a label."""
        if self._labelled is not None:
            return Decisions.of(
                *self._labelled.decide(texts, n_stages, answer, 1 if len(texts) < FEW_TEXTS else n_threads)
            )
        n = len(texts)
        codes, sure = self._scores.codes(texts, self._model.decision, self._model.tie_margin, n_threads)
        status = np.where(sure, Status.FULL, Status.HANDED_OVER).astype(np.uint8)
        stages, paid = np.full(n, self._plan.n_stages, dtype=np.int32), np.full(n, self._plan.full_cost)
        return Decisions.of(codes, stages, paid, status)

    def _handed_over(
        self, part: Source, texts: list[Any], left: NDArray[np.intp], start: int
    ) -> tuple[Codes, Statuses]:
        codes, status = np.zeros(len(left), dtype=np.int32), np.full(len(left), Status.HANDED_OVER, dtype=np.uint8)
        takes = self._scores.vectorizer.takes
        odd = np.array([not takes(texts[i]) for i in left], dtype=bool)
        if odd.any():
            rows = left[odd]
            with self._located([(start + int(i), texts[i]) for i in rows]):
                codes[odd] = self._full.predict(part.take(rows))
        if not odd.all():
            codes[~odd] = self._full.at_ties(part.take(left[~odd]))
        return codes, status

    @contextmanager
    def _located(self, rows: list[tuple[int, Any]]) -> Iterator[None]:
        """Add the first of these rows that is no text to what the wrapped model raises."""
        try:
            yield
        except (AttributeError, TypeError, ValueError) as error:
            said = error.args
            _say_where(error, self._scores.vectorizer.row_kind, rows)
            if isinstance(error, AttributeError) and error.args != said:
                raise NoTextError(str(error)) from error
            raise

    def full_scores(self, source: Source, n_threads: int) -> NDArray[np.float64] | None:
        """Full scores, NaN for rows that the engine does not read; None if the rows are no column of texts."""
        found, start, takes = [], 0, self._scores.vectorizer.takes
        for part in source.parts(TEXTS):
            texts = self._scores.vectorizer.rows_of(part)
            if texts is None or len(texts) != part.n_rows:
                return None
            scores, errors = self._scores.scores(texts, n_threads)
            scores[~np.isfinite(errors)] = np.nan
            odd = [i for i in np.flatnonzero(~np.isfinite(errors)).tolist() if not takes(texts[i])]
            if odd:  # the wrapped model refuses them in its own words
                with self._located([(start + i, texts[i]) for i in odd]):
                    predict_wrapped(self._model, part.take(np.array(odd)))
            found.append(scores)
            start += len(texts)
        return np.concatenate(found)

    def numbers(self, method: str, source: Source, n_threads: int) -> NDArray[Any] | None:
        """What a method of the wrapped model returns, bit for bit; None if the engine does not know that."""
        if self._model.ruled or not self._scores.replays:
            return None
        texts = self._scores.vectorizer.rows_of(source)
        return None if texts is None else self._scores.numbers(method, texts, n_threads)

    @property
    def label_one(self) -> Callable[[Any, bool], Any]:
        """What gives the label of one text, or label and cost; None if the engine does not settle it."""
        return self._label_one if self._labelled is None else self._labelled.label

    def _label_one(self, x: Any, return_cost: bool) -> Any:
        if not self._scores.vectorizer.takes(x):
            return None
        codes, sure = self._scores.codes([x], self._model.decision, self._model.tie_margin, 1)
        if not sure[0]:
            return None
        label = self._labels[codes[0]]
        return (label, self._plan.full_cost) if return_cost else label

    def decided_one(self, n_stages: int, x: Any) -> tuple[int, int, float, int] | None:
        """Code, stage, cost and status of one text; None if the engine does not settle it."""
        if not self._scores.vectorizer.takes(x):
            return None
        found = self._of_texts([x], n_stages, False, 1).first
        return None if found[3] >= Status.HANDED_OVER else found


def _say_where(error: Exception, of: str, rows: list[tuple[int, Any]]) -> None:
    """Add the first row that is neither text nor bytes to an error that has a message alone."""
    found = next(((i, value) for i, value in rows if not isinstance(value, bytes)), None)
    if found is not None and len(error.args) == 1 and isinstance(error.args[0], str):
        i, value = found
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
        before = "" if isinstance(error, AttributeError) else f"{error.args[0].rstrip('.')}. "
        error.args = (f"{before}X must hold {of}: row {i} is {shown}.",)
