"""Interface of all engines, compiled or not: packed terms, and a cascade of stages on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .._core import FixedCalls
from ..outputs import Output
from ..utils.stage_table import StageTable
from .ledger import Codes, Decisions, Statuses
from .stages import Stages

Floats = NDArray[np.float64]

#: Treatment of rows that no stage of a call decides: evaluate them in full, give them the label of the last stage, or
#: leave them pending.
AtEnd = Literal["full", "answer", "pending"]
#: Maps the dtype of rows to the unit roundoff in which the wrapped model computes for them.
Working = Callable[[np.dtype[Any]], float]


class Decided(Protocol):
    """The facts of a model that an engine needs in addition to its terms."""

    @property
    def decision(self) -> Output:
        """Rule from scores to answers."""

    @property
    def tie_margin(self) -> float:
        """Distance from a tie within which the wrapped model's own rounding decides."""

    def working_precision(self, dtype: Any) -> float:
        """Unit roundoff in which the wrapped model computes for rows of a dtype."""


class Cascade(Protocol):
    """Stages on packed terms; immutable, so threads may share it."""

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide preprocessed rows; their status says which of them have no label.

        Outputs with `early_values` have scores in place of codes, and NaN where there is none.
        """

    def predict_one(self, x: NDArray[Any], n_stages: int, at_end: AtEnd, working: float) -> tuple[Any, int, float, int]:
        """Code or score, stage, cost and status of one row, a float32, float64 or uint8 array."""

    def fixed_calls(
        self, n_stages: int, at_end: AtEnd, working: Sequence[float], labels: tuple[Any, ...]
    ) -> FixedCalls | None:
        """The same call for rows in arrays, which gives their labels; None for engines that have none.

        ``working`` is for float32, float64 and uint8.
        """

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Estimates of every stage for all rows, without exits.

        Where rows leave `by_margin`, the margins of the table are the estimates, for NumPy to judge; of several values
        they have the shape (n_rows, n_stages, n_values).
        """

    def columns_read(self, n_stages: int | None) -> Sequence[int] | None:
        """Columns that rows need for the first stages, or with None in full; None if these are all."""

    def decide(self, scores: NDArray[Any], error: float) -> tuple[Codes, Statuses]:
        """Codes of full scores with error at most `error`, and status: `HANDED_OVER` where others are possible."""


class Packed(Protocol):
    """Terms packed for an engine, in the order of a plan."""

    def scores(
        self,
        X: Any,
        working: Working,
        n_threads: int,
        single: bool = False,
        needed: Sequence[int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and bounds of their distance to the wrapped model's own (n,).

        ``needed`` names the columns that are read in full, if these are not all.
        """

    def cascade(
        self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any], costs: Floats | None = None
    ) -> Cascade:
        """Put stages on the terms.

        At stage t a row leaves when its estimate lies below ``low[t]`` or above ``high[t]``, or where the output is not
        two-sided, when its margin is above ``high[t]``; it pays ``costs[t]``. A row that does not leave pays the last
        cost. None: rows pay nothing.
        """
