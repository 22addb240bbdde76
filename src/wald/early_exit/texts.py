"""Texts: labels and numbers by the engine, and by the wrapped model where the engine leaves them to it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engine import NOTHING, Decisions, Status
from ..models import AdditiveModel
from ..models.protocols import Documents
from ..models.texts import EarlyStages
from ..plan import Plan
from ..sources import Source
from ..utils.exits import exits
from .documents import early_stages
from .full_model import Codes, FullModel, Statuses

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
        #: The stages of a plan that reads texts in parts.
        self.stages: EarlyStages | None = None
        documents = Documents.of(model.terms)
        if documents is not None:
            self.stages = early_stages(documents, plan.early, *plan.thresholds())

    def reads(self, n_stages: int) -> bool:
        """Whether rows that may leave at so many stages are read here."""
        return n_stages == 0 or self.stages is not None

    def prepare(self) -> None:
        """Build the table of words now, which the first prediction would build else."""
        self._scores.prepare()

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
            codes, (stages, paid, status) = decided
            left = np.flatnonzero(status == Status.HANDED_OVER)
            if len(left):
                codes[left], status[left] = self._handed_over(part, texts, left, start)
                stages[left] = self._plan.n_stages
                if self.stages is not None:
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
        model, output, n = self._model, self._model.decision, len(texts)
        if self.stages is None:
            codes, sure = self._scores.codes(texts, output, model.tie_margin, n_threads)
            status = np.where(sure, Status.FULL, Status.HANDED_OVER).astype(np.uint8)
            return Decisions.of(
                codes, np.full(n, self._plan.n_stages, dtype=np.int32), np.full(n, self._plan.full_cost), status
            )
        some = self.stages.first(n_stages, answer)
        scores, errors, reached, characters, whole = self._scores.walk(texts, some, n_threads)
        sure, early = np.ones(n, dtype=bool), np.flatnonzero(~whole)
        codes, status = np.zeros(n, dtype=np.int32), np.full(n, Status.FULL, dtype=np.uint8)
        if len(early):
            stage = reached[early]
            codes[early], margins = output.judged(scores[early])
            low = some.low[stage] if output.two_sided else None
            leaves, above = exits(margins, low, some.high[stage])
            if output.two_sided:
                codes[early] = np.where(leaves, above, codes[early])
            status[early] = np.where(leaves, Status.EARLY, Status.OUT_OF_BUDGET)
        full = np.flatnonzero(whole)
        if len(full):
            codes[full], sure[full] = self._settled(scores[full], errors[full])
            reached[full] = self._ended(reached[full], codes[full], some)
        status[~sure] = Status.HANDED_OVER
        return Decisions.of(codes, reached, characters.astype(np.float64), status)

    def _settled(self, scores: NDArray[np.float64], errors: NDArray[np.float64]) -> tuple[Codes, NDArray[np.bool_]]:
        """Codes of full scores, and whether each is the wrapped model's own for sure."""
        output, tie_margin = self._model.decision, self._model.tie_margin
        if tie_margin == 0 and not errors.any():  # these are the model's own scores
            return output.answers(scores), np.ones(len(scores), dtype=bool)
        with np.errstate(invalid="ignore"):
            codes, sure = output.settled(scores, errors + tie_margin)
        return codes.astype(np.int32), sure & np.isfinite(errors) & np.isfinite(scores).all(axis=1)

    def _ended(self, reached: Codes, codes: Codes, some: EarlyStages) -> Codes:
        """Where texts leave that were read whole: at the first stage behind their end that lets their answer leave."""
        n, n_all = len(some.looks), self._plan.n_stages
        opened = [some.high < np.inf] * len(self._labels)
        if self._model.decision.two_sided:
            opened[0] = some.low > -np.inf
        behind = np.full((len(opened), n + 1), n_all, dtype=np.int32)
        for of_code, is_open in zip(behind, opened, strict=True):
            for t in reversed(range(n)):
                of_code[t] = t if is_open[t] else of_code[t + 1]
        found: Codes = behind[codes, reached]
        return found

    def _handed_over(
        self, part: Source, texts: list[Any], left: NDArray[np.intp], start: int
    ) -> tuple[Codes, Statuses]:
        codes, status = np.zeros(len(left), dtype=np.int32), np.full(len(left), Status.HANDED_OVER, dtype=np.uint8)
        takes = self._scores.vectorizer.takes
        odd = np.array([not takes(texts[i]) for i in left], dtype=bool)
        if odd.any():
            rows = left[odd]
            try:
                codes[odd] = self._full.predict(part.take(rows))
            except (AttributeError, TypeError, ValueError) as error:
                _say_where(error, self._scores.vectorizer.row_kind, [(start + int(i), texts[i]) for i in rows])
                raise
        if not odd.all():
            codes[~odd] = self._full.at_ties(part.take(left[~odd]))
        return codes, status

    def numbers(self, method: str, source: Source, n_threads: int) -> NDArray[Any] | None:
        """What a method of the wrapped model returns, bit for bit; None if the engine does not know that."""
        if self._model.ruled or not self._scores.replays:
            return None
        texts = self._scores.vectorizer.rows_of(source)
        return None if texts is None else self._scores.numbers(method, texts, n_threads)

    def label_one(self, n_stages: int, x: Any, return_cost: bool) -> Any:
        """The label of one text, or label and cost; None if the engine does not settle it."""
        found = self.decided_one(n_stages, x)
        if found is None:
            return None
        code, _, paid, _ = found
        label = self._labels[code]
        return (label, paid) if return_cost else label

    def decided_one(self, n_stages: int, x: Any) -> tuple[int, int, float, int] | None:
        """Code, stage, cost and status of one text; None if the engine does not settle it."""
        if not self._scores.vectorizer.takes(x):
            return None
        output, plan = self._model.decision, self._plan
        if self.stages is None:
            codes, sure = self._scores.codes([x], output, self._model.tie_margin, 1)
            return (int(codes[0]), plan.n_stages, plan.full_cost, int(Status.FULL)) if sure[0] else None
        # all stages, or none
        some = self.stages if n_stages == len(self.stages.looks) else self.stages.first(n_stages, False)
        scores, errors, stages, characters, whole = self._scores.walk([x], some)
        paid = float(characters[0])
        if not whole[0]:
            above = scores[0, 0] > some.high[stages[0]] if output.two_sided else scores[0].argmax()
            return int(above), int(stages[0]), paid, int(Status.EARLY)
        codes, sure = self._settled(scores, errors)
        if not sure[0]:
            return None
        return int(codes[0]), int(self._ended(stages, codes, some)[0]), paid, int(Status.FULL)


def _say_where(error: Exception, of: str, rows: list[tuple[int, Any]]) -> None:
    """Add the first row that is neither text nor bytes to an error that has a message alone."""
    found = next(((i, value) for i, value in rows if not isinstance(value, bytes)), None)
    if found is not None and len(error.args) == 1 and isinstance(error.args[0], str):
        i, value = found
        shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
        error.args = (f"{error.args[0].rstrip('.')}. X must hold {of}: row {i} is {shown}.",)
