"""Short ways to an answer: rows that the engine reads in place, without a source around them or a ledger for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ...sources.values import NATIVE
from .texts import Texts
from .values import Values

#: Up to this number of rows the engine does full evaluation, because an estimator's input checks would dominate.
FEW_ROWS = 128
#: A matrix product is faster than the engine for more weights than this, and for more rows of fewer features.
WEIGHTS, MORE_ROWS, FEATURES = 20_000, 1000, 200

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
    def of_arrays(cls, calls: _core.FixedCalls, settles: bool, faster: Callable[[Any], bool] | None) -> ShortWays:
        """Labels of rows of arrays.

        `settles`: whether the engine evaluates rows in full. `faster`: for which rows; None: for all.
        """
        codes = _nothing if not settles else calls.codes if faster is None else partial(_where, faster, calls.codes)
        return cls(calls.label, calls.decided, codes=codes)

    @classmethod
    def of_values(cls, calls: _core.FixedCalls, values: Values) -> ShortWays:
        """Values of rows of arrays."""
        return cls(partial(values.of_score, calls.label))


def faster_than_product(X: Any, n_outputs: int) -> bool:
    """Whether the engine evaluates the rows of an array in full faster than a linear model's matrix product."""
    if not isinstance(X, np.ndarray) or X.ndim != 2:
        return False
    if len(X) <= FEW_ROWS:
        return True
    n_features = X.shape[1]
    fits = n_features * n_outputs <= WEIGHTS and (len(X) <= MORE_ROWS or n_features >= FEATURES)
    return fits and X.dtype in NATIVE and X.strides[1] == X.itemsize


def _where(faster: Callable[[Any], bool], codes: Callable[[Any, int], Any], X: Any, n_threads: int) -> Any:
    """Codes by the engine where it is faster; else None."""
    return codes(X, n_threads) if faster(X) else None
