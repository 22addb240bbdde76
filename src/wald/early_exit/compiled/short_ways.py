"""Short ways to an answer: rows that the engine reads in place, without a source around them or a ledger for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from .texts import Texts
from .values import Values

#: Code, stage, cost and status of a row.
Decided = tuple[int, int, float, int]


def _nothing(*_: Any) -> None:
    """Stand for a short way that there is not."""


@dataclass(frozen=True, eq=False)
class ShortWays:
    """What answers rows at once; each gives None for rows that need more than the engine.

    Attributes
    ----------
    label : callable
        From a row or text, and whether the cost is wanted, to its label or value, or to this and the cost.
    row, text : callable
        From a row of an array, or a text, to code, stage, cost and status.
    codes : callable
        From the rows of an array, and a number of threads, to their codes.
    """

    label: Callable[[Any, bool], Any] = _nothing
    row: Callable[[Any], Decided | None] = _nothing
    text: Callable[[Any], Decided | None] = _nothing
    codes: Callable[[Any, int], NDArray[np.int32] | None] = _nothing

    @classmethod
    def of_texts(cls, texts: Texts, n_stages: int) -> ShortWays:
        """Labels of single texts."""
        return cls(label=texts.label_one, text=partial(texts.decided_one, n_stages))

    @classmethod
    def of_arrays(
        cls,
        calls: _core.FixedCalls,
        faster: Callable[[Any], bool] | None,
        tied: Callable[[Any, int], NDArray[np.int32]] | None,
    ) -> ShortWays:
        """Labels of rows of arrays.

        `faster`: for which rows this is the fastest way; None: for all. `tied`: codes of rows whose scores are within
        rounding of a tie; None if the engine does not evaluate rows in full.
        """
        codes = _nothing if tied is None else partial(_codes, calls.codes, faster, tied)
        return cls(calls.label, calls.decided, codes=codes)

    @classmethod
    def of_values(cls, calls: _core.FixedCalls, values: Values) -> ShortWays:
        """Values of rows of arrays."""
        return cls(partial(values.of_score, calls.label))


def _codes(
    by_engine: Callable[[Any, int], tuple[NDArray[np.int32], NDArray[np.int64]] | None],
    faster: Callable[[Any], bool] | None,
    tied: Callable[[Any, int], NDArray[np.int32]],
    X: Any,
    n_threads: int,
) -> NDArray[np.int32] | None:
    """Codes by the engine where it is faster, and by `tied` for the rows that it hands over; else None."""
    found = by_engine(X, n_threads) if faster is None or faster(X) else None
    if found is None:
        return None
    codes, left = found
    if len(left):
        try:
            codes[left] = tied(X[left], n_threads)
        except ValueError:  # about some of the rows; the long way says where they are
            return None
    return codes
