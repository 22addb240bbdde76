"""Arcs of single sentences, and their scores by one group of features."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .conll import Treebank
from .parser_settings import arcs

#: Names of the groups, the cheap one first.
GROUPS = ("tags", "words")


class ArcScores:
    """Methods of a parser that list and score the arcs of a sentence."""

    _model: _core.ParserModel

    def arcs(self, sentences: Treebank, index: int) -> NDArray[np.int32]:
        """Return the arcs of one sentence that all groups score.

        Parameters
        ----------
        sentences : Treebank
            Any sentences.
        index : int
            Which of them.

        Returns
        -------
        ndarray of int32, shape (n_arcs, 2)
            Heads (0 is the root) and modifiers, modifier by modifier.
        """
        self._ready()
        heads, modifiers = self._model.arcs(sentences.core, index, **arcs(self))
        return np.stack([heads, modifiers], axis=1)

    def arc_scores(self, sentences: Treebank, index: int, group: str, arcs: ArrayLike) -> NDArray[np.float32]:
        """Score chosen arcs of one sentence by one group of features.

        Parameters
        ----------
        sentences : Treebank
            Any sentences.
        index : int
            Which of them.
        group : {"tags", "words", "pruner"}
            An arc's score is the sum of its scores by tags and words. The pruner's, for a parser that has one, are
            logarithms of odds.
        arcs : array-like of int, shape (n_arcs, 2)
            Heads (0 is the root) and modifiers.

        Returns
        -------
        ndarray of float32, shape (n_arcs,)
        """
        self._ready()
        known = (*GROUPS, "pruner") if self._model.prunes else GROUPS
        if group not in known:
            raise ValueError(f"group must be one of {known}. Got {group!r} instead.")
        pairs = np.asarray(arcs, dtype=np.int32)
        if pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"arcs must have shape (n_arcs, 2). Got {pairs.shape} instead.")
        heads, modifiers = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        return self._model.arc_scores(sentences.core, index, known.index(group), heads, modifiers)

    def _ready(self) -> None:
        """Raise unless the parser is fitted and its parameters are valid."""
        raise NotImplementedError
