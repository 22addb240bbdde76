"""Interface of all engines, compiled or not: packed terms, and a cascade of stages on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..outputs import Output
from ..utils.stage_table import StageTable
from .stages import Stages

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

#: Treatment of rows that no stage of a call decides: evaluate them in full, give them the label of the last stage, or
#: return the code `PENDING`.
AtEnd = Literal["full", "answer", "pending"]
#: Maps the dtype of rows to the unit roundoff in which the wrapped model computes for them.
Working = Callable[[np.dtype[Any]], float]


class Decisions(NamedTuple):
    """How rows were decided.

    Attributes
    ----------
    codes : int32 ndarray of shape (n_rows,)
        Indices of labels; a negative code says why there is no label.
    stages : int32 ndarray of shape (n_rows,)
        Where each row left; the number of early stages stands for the full model.
    skipped : int32 ndarray of shape (n_rows,) or None, default=None
        Numbers of terms of these stages that were not evaluated; None: none.
    """

    codes: Codes
    stages: Codes
    skipped: Codes | None = None

    @classmethod
    def concatenated(cls, parts: Sequence[Decisions]) -> Decisions:
        """The decisions of all rows, one part after the other."""
        if len(parts) == 1:
            return parts[0]
        codes, stages = (np.concatenate(columns) for columns in zip(*(p[:2] for p in parts), strict=True))
        skipped = [p.skipped for p in parts if p.skipped is not None]
        return cls(codes, stages, np.concatenate(skipped) if skipped else None)


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
        """Decide preprocessed rows; a negative code says why there is no label."""

    def predict_one(self, x: NDArray[Any], n_stages: int, at_end: AtEnd, working: float) -> tuple[int, int, int]:
        """Code, stage and number of skipped terms of one row, a float32, float64 or uint8 array."""

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Estimates of every stage for all rows, without exits."""

    def columns_read(self, n_stages: int | None) -> Sequence[int] | None:
        """Columns that rows need for the first stages, or with None in full; None if these are all."""

    def decide(self, scores: NDArray[Any], error: float) -> Codes:
        """Codes of full scores with error at most `error`; `HAND_OVER` where the error may change the label."""


class Packed(Protocol):
    """Terms packed for an engine, in the order of a plan."""

    def scores(self, X: Any, working: Working, n_threads: int, single: bool = False) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), and bounds of their distance to the wrapped model's own (n,)."""

    def cascade(self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any]) -> Cascade:
        """Put stages on the terms; at stage t a row leaves below ``low[t]`` or above ``high[t]``."""
