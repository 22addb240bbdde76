"""Raw columns that are read late: for the rows that are undecided when a stage first reads one of them.

Where a model is a sum over raw columns, finding the category of a text takes far longer than adding a number. So the
engine reads a cell where its container holds it, when a stage needs it. Columns that a transformer must write, and
objects that only Python understands, come in the rounds of `LateSteps`: the first stages see a few columns of all rows,
and further columns are found for the rows that these leave undecided. Rounds come after those stages where the plan
expects them to cost least.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine import AtEnd, Cascade, CompiledCascade, Decisions
from ...plan.moments import Floats
from ...sources import SomeColumns, Source
from ...steps import ByState, RawColumns
from .late_steps import LateSteps, Look, Reading

#: Nanoseconds, about, of looking up a category, of finding a number, of adding a column to the estimates of a row, and
#: of taking along a column of a row that a round leaves undecided.
LOOKED_UP, FOUND, ADDED, TAKEN = 6.0, 1.0, 0.8, 1.5
#: The same, about, of reading a text or running a transformer of one's own, for each of the columns that these give.
READ = 1000.0
#: Fewer rows are answered in one round, whose calls take less time than what further rounds save.
FEW_ROWS = 512


class LateColumns(LateSteps):
    """Answers rows by a cascade whose columns come one by one from raw columns.

    Parameters
    ----------
    step : RawColumns
    cascade : Cascade
    looks : list of Look
        One for each stage after which further columns are read, and one for the last stage.
    rest : SomeRawColumns or None
        The columns that full evaluation needs besides.
    by_stage : list of list of int
        Columns that the first 1, 2, ... stages read, and last those in full.
    """

    least_rows = FEW_ROWS

    def __init__(
        self,
        step: RawColumns,
        cascade: Cascade,
        looks: list[Look],
        rest: Reading | None,
        by_stage: Sequence[Sequence[int]],
    ) -> None:
        self._step, self._cascade, self._looks, self._rest, self._by_stage = step, cascade, looks, rest, by_stage

    @classmethod
    def of_columns(
        cls, step: RawColumns, cascade: Cascade, by_stage: Sequence[NDArray[np.intp]] | None, reached: Floats
    ) -> LateColumns | None:
        """Find which columns are read before which stage; None if all rows need all columns.

        Parameters
        ----------
        step : RawColumns
        cascade : Cascade
        by_stage : list of ndarray or None
            Columns of the terms that the first 1, 2, ... stages read, and last those in full.
        reached : ndarray of shape (T + 1,)
            Expected share of the rows that reach each stage.
        """
        if by_stage is None or len(by_stage) < 2:
            return None
        by_stage = [*by_stage[:-1], np.arange(step.width)]
        if len(by_stage[0]) == step.width:
            return None
        prices = np.array([LOOKED_UP if isinstance(each, ByState) else FOUND for each in step.functions])
        prices[step.takes_long] = READ
        ends = cheapest_rounds(by_stage, reached, prices)
        looks, read = [], np.empty(0, dtype=np.intp)
        for end in ends:
            new = np.setdiff1d(by_stage[end - 1], read)
            looks.append(Look(end, step.some(new.tolist()) if len(new) else None))
            read = by_stage[end - 1]
        n_stages = len(by_stage) - 1
        rest: Reading | None = None
        if len(ends) > 1 and ends[-2] == n_stages:
            rest = looks.pop().new
        elif ends[-1] > n_stages:  # the last stages and full evaluation share a round
            looks[-1] = Look(n_stages, looks[-1].new)
        else:
            new = np.setdiff1d(by_stage[-1], read)
            rest = step.some(new.tolist()) if len(new) else None
        every = [columns.tolist() for columns in by_stage]
        return cls(step, cascade, looks, rest, every)

    def require_rows_alone(self, source: Source, together: NDArray[np.floating]) -> None:
        """Do nothing: each cell is read by itself."""

    def predict(
        self,
        source: Source,
        n_stages: int,
        at_end: AtEnd,
        n_threads: int,
        whole: Callable[[Source], Decisions],
    ) -> Decisions:
        """See `LateSteps`."""
        if isinstance(self._cascade, CompiledCascade) and source.n_rows >= self.least_rows:
            with suppress(ValueError, TypeError):  # of cells that the engine cannot read
                rows = self._step.late(source, self._by_stage[-1 if at_end == "full" else n_stages - 1])
                if rows is not None:
                    found = self._cascade.predict_late(rows.rows, rows.dtype, n_stages, at_end, n_threads)
                    rows.warn()
                    return found
        return super().predict(source, n_stages, at_end, n_threads, whole)

    def _nothing(self, n_rows: int) -> SomeColumns:
        return self._step.nothing(n_rows)

    def _beside(
        self, rows: SomeColumns, branch: Any, source: Source, left: NDArray[np.intp] | None, n_threads: int
    ) -> SomeColumns | None:
        return self._step.beside(rows, branch.numbers, source, left, n_threads)


def cheapest_rounds(by_stage: Sequence[NDArray[np.intp]], reached: Floats, prices: Floats) -> list[int]:
    """Stages after which rounds end, so that a row costs least; their number and one more stands for the full model.

    In each round, its rows begin at the first stage: a round costs for the columns that no earlier one has read, for
    adding all columns so far, and for those that its rows take along.

    Parameters
    ----------
    by_stage : list of ndarray
        Columns that the first 1, 2, ... stages read, and last those in full.
    reached : ndarray of shape (len(by_stage),)
        Expected share of the rows that reach each stage, and last the full model.
    prices : ndarray of shape (n_columns,)
        Of reading a column, in the unit of `ADDED`.
    """
    n_columns = [0, *map(len, by_stage)]
    spent = np.array([0.0, *(prices[columns].sum() for columns in by_stage)])
    best, before = np.full(len(n_columns), np.inf), np.zeros(len(n_columns), dtype=np.intp)
    best[0] = 0.0
    for end in range(1, len(n_columns)):
        for start in range(end):
            a_row = spent[end] - spent[start] + ADDED * n_columns[end] + TAKEN * n_columns[start]
            cost = best[start] + reached[start] * a_row
            if cost < best[end]:
                best[end], before[end] = cost, start
    ends = [len(by_stage)]
    while before[ends[0]] > 0:
        ends.insert(0, int(before[ends[0]]))
    return ends
