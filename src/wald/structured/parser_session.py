"""Work on sentences with a dependency parser, state by state."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .conll import Treebank
from .session import ExampleSession


class ParserSession(ExampleSession):
    """Sentences that a parser works on: which words have the costly features, and the trees that this gives.

    It is used like a `ChainSession`, which has an example.
    Sentences are read, and their arcs scored by the cheap group, when the session opens; an arc's costly score is
    computed once, when a state first needs it. A state, a boolean array (n_words, 1), says which words' arcs have the
    group ``"words"``: the arcs that the word is the modifier of or, for a parser with ``group_by="head"``, the head of.
    An arc from the root always belongs to its modifier. With ``examples``, an array of different sentences' indices,
    answers are for the words of these sentences only, in this order, and only these are worked on.
    """

    def __init__(self, core: _core.ParserSession, offsets: NDArray[np.int64], n_costly: int, as_lists: bool) -> None:
        super().__init__(offsets, n_costly, as_lists)
        self._core = core

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Time spent so far on each group, over all threads: (n_groups,).

        The cheap one's includes reading the words and listing the arcs; both include adding up the weights.
        """
        return np.array(self._core.seconds[: 1 + self._n_costly])

    @property
    def extracted(self) -> NDArray[np.int64]:
        """Words that each group was extracted for so far: (n_groups,)."""
        return np.array([self.offsets[-1], self._core.extracted][: 1 + self._n_costly], dtype=np.int64)

    def codes(self, y: Any) -> NDArray[np.int32]:
        """Heads (n_words,) of a treebank, or of one array per sentence, or as they are; -1 where none is given."""
        if isinstance(y, Treebank):
            heads = y.heads
        else:
            rows = [np.asarray(row).reshape(-1) for row in y]
            heads = np.concatenate(rows) if rows else np.empty(0, np.int32)
        if heads.shape != (self.offsets[-1],) or (heads.size and heads.dtype.kind not in "iu"):
            raise ValueError(f"y must have one head for each of the {self.offsets[-1]} words. Got {heads.shape}.")
        return heads.astype(np.int32)

    def decode(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.int32]:
        """Heads (n_words,) of the best tree of every sentence under a state; 0 is the root."""
        return self._core.decode(self._bits(self.state(state)), self._chosen(examples))

    def confidence(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Margin of the score of a word's arc over that of the word's best other arc, or 0: (n_words,).

        These are scores of arcs, not of trees: where the tree needs another arc than the word's best one, confidence
        is 0. It is 16 for words that have no other arc: the only word of a sentence, and those whose head the pruner
        decided.
        """
        return np.maximum(self.evidence(state, examples)[:, 0], 0)

    def part_features(self) -> NDArray[np.float32]:
        """Features of every word that need no parsing: (n_words, d).

        Indicators of its tag and of the coarse tags of the words before and behind it, the logarithm of the number of
        its arcs, and the margin of its best arc over the next one by the cheap scores, 16 if it is the only one.
        """
        return self._core.features()

    def evidence(self, state: ArrayLike, examples: ArrayLike | None = None) -> NDArray[np.float32]:
        """Features of every word from parsing under a state: (n_words, 10).

        In this order: the score of its arc minus that of its best other arc, negative where the tree required it, -16
        at least; the probability of its head and the entropy, in nats, over its heads, by the exponentials of their
        scores; the number of other heads with a score within 2 of the best one; whether the head is the root, and
        whether it stands before the word; the logarithm of the distance; the number of the word's dependents; the first
        of these numbers for the head, and the smallest one among the dependents, 16 where there is no such word.
        """
        return self._core.evidence(self._bits(self.state(state)), self._chosen(examples))
