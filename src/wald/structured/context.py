"""Where parts stand: what extractors that ask for it are given besides the parts."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sequences import Sequences


@dataclass(frozen=True, eq=False)
class Context:
    """Places of some parts in their sequences: the second argument of an extractor that has one.

    Attributes
    ----------
    positions : int64 ndarray of shape (n,)
        Place of each part in its sequence, from 0 on.
    sequences : list of length n
        The whole sequence of each part: a list of all of its parts or, where these are numbers, an array.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.structured.extractors import Context
    >>> words = ["the", "dog", "barks"]
    >>> context = Context(np.array([0, 2]), [words, words])
    >>> context.at(-1), context.at(1)
    ([None, 'dog'], ['dog', None])
    """

    positions: NDArray[np.int64]
    sequences: list[Any]

    def at(self, offset: int) -> list[Any]:
        """The parts that stand so many places after each, or before it if negative; None beyond the ends."""
        places = (self.positions + offset).tolist()
        return [
            sequence[place] if 0 <= place < _length(sequence) else None
            for place, sequence in zip(places, self.sequences, strict=True)
        ]


def _length(sequence: Any) -> int:
    return len(sequence) if isinstance(sequence, list) else int(sequence.shape[0])


def wants_context(function: Any) -> bool:
    """Whether a function takes a second argument, or one that is called context."""
    try:
        given = list(signature(function).parameters.values())
    except (TypeError, ValueError):  # of some functions that are written in C
        return False
    first = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    needed = [each for each in given if each.kind in first and each.default is Parameter.empty]
    return len(needed) >= 2 or any(each.name == "context" and each.kind in first for each in given[1:2])


def context_of(sequences: Sequences, parts: NDArray[np.int64]) -> Context:
    """The places of parts, given by their numbers among all."""
    offsets = sequences.offsets
    owners = np.searchsorted(offsets, parts, side="right") - 1
    source = sequences.parts if sequences.named is None else sequences.named
    whole = {i: source[offsets[i] : offsets[i + 1]] for i in np.unique(owners).tolist()}
    return Context(parts - offsets[owners], [whole[i] for i in owners.tolist()])
