"""Python interface of the compiled engine: converts any rows to pieces that the extension reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .interface import AtEnd, Codes, Decided, Floats, Readout, Trace, Working
from .rows import Columns, Piece, is_frame, pieces, whole_block

#: Calls with fewer rows than this use one thread.
INLINE_ROWS = 256


@dataclass(frozen=True, eq=False)
class CompiledTerms:
    """Terms that the extension evaluates.

    Parameters
    ----------
    core : Model
        Packed in the order of a plan.
    columns : int64 ndarray or None, default=None
        The column that each term reads, in the plan's order; None where a term reads the whole row.
    """

    core: _core.Model
    columns: NDArray[np.int64] | None = None

    def scores(self, X: Any, working: Working, n_threads: int, single: bool = False) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), in float64 unless ``single``, and error bounds (n,)."""
        parts = [self.core.scores(p.rows, working(p.dtype), n_threads, single) for p in pieces(X)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([s for s, _ in parts]), np.concatenate([e for _, e in parts])

    def values(self, X: Any, n_threads: int) -> Floats:
        """Values of the terms in their packed order, in float64; NaN for rows that are not finite."""
        parts = [self.core.values(p.rows, n_threads) for p in pieces(X)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def cascade(
        self,
        model: Decided,
        stage_terms: NDArray[np.int64],
        readouts: Sequence[Readout],
        low: NDArray[Any],
        high: NDArray[Any],
    ) -> CompiledCascade:
        """Put stages on the terms."""
        decision = model.decision
        engine = _core.Engine(
            self.core,
            decision=decision.kind,
            n_classes=decision.n_classes,
            threshold=decision.threshold,
            tie_positive=decision.tie_positive,
            break_ties=decision.break_ties,
            tie_margin=model.tie_margin,
            terms=np.ascontiguousarray(stage_terms, dtype=np.int64),
            weights=[np.ascontiguousarray(r.weights, dtype=np.float64) for r in readouts],
            bias=[np.ascontiguousarray(r.bias, dtype=np.float64) for r in readouts],
            low=np.ascontiguousarray(low, dtype=np.float64),
            high=np.ascontiguousarray(high, dtype=np.float64),
        )
        read = None if self.columns is None else [self.columns[:m].tolist() for m in stage_terms]
        return CompiledCascade(engine, model, read, self.core.n_features)


class CompiledCascade:
    """Stages on compiled terms.

    Parameters
    ----------
    engine : Engine
    model : Decided
    read : list of list of int, or None
        The columns that each stage has read; None where a term reads the whole row.
    n_features : int
    """

    def __init__(self, engine: _core.Engine, model: Decided, read: list[list[int]] | None, n_features: int) -> None:
        self._engine, self._model, self._read, self._n_features = engine, model, read, n_features
        self._known: dict[np.dtype[Any], float] = {}
        self.predict_one = engine.predict_one
        self.decide = engine.decide

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> tuple[Codes, Codes]:
        """Codes and stages of an array, a CSR matrix, a frame or nested lists."""
        if self._read is not None and n_stages > 0 and is_frame(X):
            block = whole_block(X)
            if block is None:
                return self._by_columns(X, n_stages, at_end, n_threads)
            X = block
        parts = [self._piece(piece, n_stages, at_end, n_threads) for piece in pieces(X)]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([codes for codes, _ in parts]), np.concatenate([stages for _, stages in parts])

    def trace(self, X: Any, n_threads: int) -> Trace:
        """Estimates of every stage for all rows, without exits."""
        parts = [self._engine.trace(piece.rows, n_threads) for piece in pieces(X)]
        if self._model.decision.n_outputs == 1:
            return Trace(np.concatenate(parts), None, None)
        return Trace(None, np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]))

    def _piece(self, piece: Piece, n_stages: int, at_end: AtEnd, n_threads: int) -> tuple[Codes, Codes]:
        if len(piece.rows) < INLINE_ROWS:
            n_threads = 1
        working = self._known.get(piece.dtype) or self._working(piece.dtype)
        return self._engine.predict(piece.rows, n_stages, at_end, working, n_threads)

    def _working(self, *dtypes: np.dtype[Any]) -> float:
        """Largest unit roundoff of the wrapped model for rows of these dtypes."""
        for dtype in dtypes:
            if dtype not in self._known:
                self._known[dtype] = self._model.working_precision(dtype)
        return max(self._known[dtype] for dtype in dtypes)

    def _by_columns(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> tuple[Codes, Codes]:
        """Codes and stages of a frame's rows: reads the stages' columns first, and all columns for undecided rows."""
        assert self._read is not None
        columns = Columns(X)
        rows = columns.rows(self._read[n_stages - 1])
        last: AtEnd = "answer" if at_end == "answer" else "pending"
        codes, stages = self._engine.predict(rows, n_stages, last, self._working(*columns.dtypes), n_threads)
        undecided = np.flatnonzero(codes == _core.PENDING)
        if at_end == "full" and len(undecided):
            rows = columns.rows(range(self._n_features))
            rows.take(undecided)
            working = self._working(*columns.dtypes)
            codes[undecided], stages[undecided] = self._engine.predict(rows, n_stages, at_end, working, n_threads)
        return codes, stages
