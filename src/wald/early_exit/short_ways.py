"""Short ways to an answer: rows that the engine reads in place, without a source around them or a ledger for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .texts import Texts
from .values import Values

#: Up to this number of rows the engine does full evaluation, because an estimator's input checks would dominate.
FEW_ROWS = 128

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
    def of_arrays(cls, calls: _core.FixedCalls, settles: bool, only_few: bool) -> ShortWays:
        """Labels of rows of arrays; `settles`: the engine evaluates rows in full, `only_few`: faster for few alone."""
        codes = _nothing if not settles else partial(_of_few, calls.codes) if only_few else calls.codes
        return cls(calls.label, calls.decided, codes=codes)

    @classmethod
    def of_values(cls, calls: _core.FixedCalls, values: Values) -> ShortWays:
        """Values of rows of arrays."""
        return cls(partial(values.of_score, calls.label))


def _of_few(codes: Callable[[Any, int], NDArray[np.int32] | None], X: Any, n_threads: int) -> Any:
    """Codes of few rows by the engine; None for more, which the wrapped model evaluates faster."""
    return codes(X, n_threads) if isinstance(X, np.ndarray) and X.ndim == 2 and len(X) <= FEW_ROWS else None
