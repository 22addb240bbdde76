"""Python interface of the compiled engine: converts any rows to pieces that the extension reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..utils.stage_table import StageTable
from .frames import is_frame, whole_block
from .interface import AtEnd, Decided, Floats, Working
from .ledger import Decisions, Status
from .rows import PLAIN, Columns, Conversion, Piece, pieces, reads_columns_faster
from .stages import Stages

#: Calls with fewer rows than this use one thread.
INLINE_ROWS = 256


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Terms that the extension evaluates.

    Parameters
    ----------
    core : Model
        Packed in the order of a plan.
    conversion : Conversion, default=PLAIN
        Conversion of rows that the engine does not read in place.
    """

    core: _core.Model
    conversion: Conversion = PLAIN

    def scores(self, X: Any, working: Working, n_threads: int, single: bool = False) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), in float64 unless ``single``, and error bounds (n,)."""
        parts = [self.core.scores(p.rows, working(p.dtype), n_threads, single) for p in pieces(X, self.conversion)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([s for s, _ in parts]), np.concatenate([e for _, e in parts])

    def values(self, X: Any, n_threads: int) -> Floats:
        """Values of the terms in their packed order, in float64; NaN for rows that are not finite."""
        parts = [self.core.values(p.rows, n_threads) for p in pieces(X, self.conversion)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def leaves(self, X: Any, n_threads: int) -> NDArray[np.int32]:
        """The leaf of each tree of an ensemble, in the packed order."""
        return np.concatenate([self.core.leaves(p.rows, n_threads) for p in pieces(X, self.conversion)])

    def cascade(
        self, model: Decided, stages: Stages, low: NDArray[Any], high: NDArray[Any], costs: Floats | None = None
    ) -> CompiledCascade:
        """Put stages on the terms."""
        engine = _core.Engine(self.core, model, stages, low, high, costs)
        return CompiledCascade(engine, model, self.core.n_features, self.conversion)


class CompiledCascade:
    """Stages on compiled terms.

    Parameters
    ----------
    engine : Engine
    model : Decided
    n_features : int
    conversion : Conversion, default=PLAIN
    """

    def __init__(self, engine: _core.Engine, model: Decided, n_features: int, conversion: Conversion = PLAIN) -> None:
        self._engine, self._model, self._n_features, self._conversion = engine, model, n_features, conversion
        self._in_full = engine.columns_read(None)
        self._known: dict[np.dtype[Any], float] = {}
        self.predict_one = engine.predict_one
        self.decide = engine.decide
        self.columns_read = engine.columns_read

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide the rows of an array, a CSR matrix, a frame or nested lists."""
        if is_frame(X):
            read = self._engine.columns_read(n_stages) if n_stages > 0 else self._in_full
            block = whole_block(X)
            if block is None and read is not None and reads_columns_faster(X, len(read)):
                return self._by_columns(X, read, n_stages, at_end, n_threads)
            X = X if block is None else block
        return Decisions.concatenated(
            [self._piece(piece, n_stages, at_end, n_threads) for piece in pieces(X, self._conversion)]
        )

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Estimates of every stage for all rows, without exits."""
        parts = [self._engine.trace(piece.rows, n_threads) for piece in pieces(X, self._conversion)]
        if self._model.decision.two_sided:
            return StageTable(margins=np.concatenate(parts))
        answers, margins = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return StageTable(margins=margins, answers=answers)

    def _piece(self, piece: Piece, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        if len(piece.rows) < INLINE_ROWS:
            n_threads = 1
        working = self._known.get(piece.dtype) or self._working(piece.dtype)
        return self._decided(piece.rows, n_stages, at_end, working, n_threads)

    def _decided(self, rows: _core.Rows, n_stages: int, at_end: AtEnd, working: float, n_threads: int) -> Decisions:
        return Decisions.of(*self._engine.predict(rows, n_stages, at_end, working, n_threads))

    def _working(self, *dtypes: np.dtype[Any]) -> float:
        """Largest unit roundoff of the wrapped model for rows of these dtypes; that of float64 if there are none."""
        dtypes = dtypes or (np.dtype(np.float64),)
        for dtype in dtypes:
            if dtype not in self._known:
                self._known[dtype] = self._model.working_precision(dtype)
        return max(self._known[dtype] for dtype in dtypes)

    def _by_columns(self, X: Any, read: list[int], n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide a frame's rows: reads the stages' columns first, and others for undecided rows."""
        columns = Columns(X, self._conversion)
        rows = columns.rows(read)
        everything = range(self._n_features) if self._in_full is None else self._in_full
        at_once = at_end != "full" or len(read) == len(everything)
        now: AtEnd = at_end if at_once else "pending"
        decided = self._decided(rows, n_stages, now, self._working(*columns.dtypes), n_threads)
        undecided = np.flatnonzero(decided.ledger.status == Status.PENDING)
        if not at_once and len(undecided):
            rows = columns.rows(everything)
            rows.take(undecided)
            working = self._working(*columns.dtypes)
            later = self._decided(rows, 0, at_end, working, n_threads)
            decided.put(undecided, later)
        return decided
