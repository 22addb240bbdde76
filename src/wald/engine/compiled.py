"""Python interface of the compiled engine: hands the blocks of sources to the extension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..sources import PLAIN, Conversion, source_of
from ..utils.stage_table import StageTable
from .interface import AtEnd, Decided, Floats, Working
from .ledger import Decisions, Status
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

    def scores(
        self,
        X: Any,
        working: Working,
        n_threads: int,
        single: bool = False,
        needed: Sequence[int] | None = None,
    ) -> tuple[Floats, Floats]:
        """Full scores (n, n_outputs), in float64 unless ``single``, and error bounds (n,)."""
        blocks = (block.filled() for block in source_of(X).blocks(self.conversion, needed))
        parts = [self.core.scores(b.rows, working(b.dtype), n_threads, single) for b in blocks]
        if len(parts) == 1:
            return parts[0]
        return np.concatenate([s for s, _ in parts]), np.concatenate([e for _, e in parts])

    def values(self, X: Any, n_threads: int) -> Floats:
        """Values of the terms in their packed order, in float64; NaN for rows that are not finite."""
        parts = [self.core.values(block.rows, n_threads) for block in source_of(X).blocks(self.conversion)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def leaves(self, X: Any, n_threads: int) -> NDArray[np.int32]:
        """The leaf of each tree of an ensemble, in the packed order."""
        return np.concatenate(
            [self.core.leaves(block.rows, n_threads) for block in source_of(X).blocks(self.conversion)]
        )

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
        self._read: dict[int, list[int] | None] = {0: self._in_full}
        self.predict_one = engine.predict_one
        self.decide = engine.decide
        self.columns_read = engine.columns_read

    def predict(self, X: Any, n_stages: int, at_end: AtEnd, n_threads: int) -> Decisions:
        """Decide rows: blocks hold the columns of the stages first, and read others for the rows that are left."""
        if n_stages not in self._read:
            self._read[n_stages] = self.columns_read(n_stages)
        read = self._read[n_stages]
        every = range(self._n_features) if self._in_full is None else self._in_full
        parts = []
        for block in source_of(X).blocks(self._conversion, read):
            later = not block.whole and at_end == "full" and read is not None and len(read) < len(every)
            decided = self._decided(block.rows, block.dtype, n_stages, "pending" if later else at_end, n_threads)
            if later and len(left := np.flatnonzero(decided.ledger.status == Status.PENDING)):
                rest = block.rest(left, every)
                decided.put(left, self._decided(rest.rows, rest.dtype, 0, at_end, n_threads))
            parts.append(decided)
        return Decisions.concatenated(parts)

    def predict_late(
        self, rows: _core.LateRows, dtype: np.dtype[Any], n_stages: int, at_end: AtEnd, n_threads: int
    ) -> Decisions:
        """Decide rows whose cells are read when a row needs them.

        `dtype`: what the wrapped model would receive. ValueError if a column holds what cannot be read so.
        """
        return self._decided(rows, dtype, n_stages, at_end, n_threads)

    def fixed_calls(
        self, n_stages: int, at_end: AtEnd, working: Sequence[float], labels: tuple[Any, ...]
    ) -> _core.FixedCalls:
        """The same call for rows in arrays, which gives their labels."""
        return _core.FixedCalls(self._engine, n_stages, at_end, working, labels)

    def trace(self, X: Any, n_threads: int) -> StageTable:
        """Estimates of every stage for all rows, without exits."""
        parts = [self._engine.trace(block.rows, n_threads) for block in source_of(X).blocks(self._conversion)]
        if self._model.decision.n_outputs == 1 or self._model.decision.by_margin:
            return StageTable(margins=np.concatenate(parts))
        answers, margins = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return StageTable(margins=margins, answers=answers)

    def _decided(
        self, rows: _core.Rows | _core.LateRows, dtype: np.dtype[Any], n_stages: int, at_end: AtEnd, n_threads: int
    ) -> Decisions:
        working = self._known.get(dtype)
        if working is None:
            working = self._known[dtype] = self._model.working_precision(dtype)
        n_threads = 1 if len(rows) < INLINE_ROWS else n_threads
        return Decisions.of(*self._engine.predict(rows, n_stages, at_end, working, n_threads))
