"""Columns of texts in a ColumnTransformer, of which a sum gets what each text adds to each score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..sources import Source
from ..sources.texts import texts_in
from .functions import ColumnFunction, OfScore, PartOfSum
from .known_values import flat
from .later import nothing_later
from .pieces import Piece

Floats = NDArray[np.float64]

#: Number of texts of which a list is made at a time.
TEXTS = 16384


class TextScorer(Protocol):
    """What texts add to the scores of a linear model."""

    def scores(self, texts: list[Any], n_threads: int = 1) -> tuple[Floats, Floats]:
        """Scores (n_texts, n_outputs), NaN for what is no text, and bounds of their errors (n_texts,)."""


#: From the steps of a text column, the columns that they write, the weight of these, and the number of columns of other
#: transformers, to what scores texts. None if a step is not known to the last token.
TextReader = Callable[[list[Any], slice, float | None, int], TextScorer | None]


class TextColumn(PartOfSum):
    """A fitted vectorizer of a ColumnTransformer, with the steps behind it, as a function from a text to scores.

    One column is written for each score, and a last one for the bound of their errors.

    Parameters
    ----------
    name : str
    transformer : transformer
    column : int
        Number of the raw column that it reads.
    span : slice
        The columns that it writes.
    scorer : TextScorer
    n_outputs : int
        Number of scores.
    """

    together = True

    def __init__(
        self, name: str, transformer: Any, column: int, span: slice, scorer: TextScorer, n_outputs: int
    ) -> None:
        self.name, self.transformer, self.columns, self.later = name, transformer, [column], nothing_later(span)
        self._scorer, self._n_outputs = scorer, n_outputs

    @classmethod
    def of(cls, piece: Piece, others: int, read: TextReader, n_outputs: int) -> TextColumn | None:
        """Read a transformer of texts; None if it is none that is known.

        Parameters
        ----------
        piece : Piece
            That gets one column.
        others : int
            Number of columns that other transformers write.
        read : callable
        n_outputs : int
        """
        name, transformer, _ = piece.part
        scorer = read(flat(transformer), piece.span, piece.weight, others)
        return None if scorer is None else cls(name, transformer, piece.reads[0], piece.span, scorer, n_outputs)

    @property
    def sources(self) -> list[int]:
        """The raw column of each column that a sum reads."""
        return self.columns * (self._n_outputs + 1)

    def functions(self, first: int) -> list[ColumnFunction] | None:
        """What it adds to a sum as functions of its columns, which are those from number `first` on."""
        later, n = self.later, self._n_outputs
        every, none = later.first + later.kept, np.empty(0, dtype=np.int64)
        return [OfScore(first + k, k if k < n else None, none if k else every) for k in range(n + 1)]

    def numbers_of(self, text: str) -> list[float]:
        """All columns of one text."""
        scores, errors = self._scorer.scores([text])
        numbers: list[float] = [*scores[0].tolist(), *errors.tolist()]
        return numbers

    def reader(
        self, source: Source, places: list[int], rows: NDArray[np.int64] | None = None, n_threads: int = 1
    ) -> Callable[[int], NDArray[Any]] | None:
        """What gives the k-th column, as all of them at once; parameters as for `Tables`."""
        n_rows = source.n_rows if rows is None else len(rows)
        found = np.empty((self._n_outputs + 1, n_rows))
        for start in range(0, n_rows, TEXTS):
            some = slice(start, min(start + TEXTS, n_rows))
            texts = texts_in(source, places[0], some if rows is None else rows[some])
            scores, errors = self._scorer.scores(texts, n_threads)
            found[:-1, some], found[-1, some] = scores.T, errors
        return found.__getitem__
