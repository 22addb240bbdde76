"""Rows that the engine leaves undecided, or should not have decided: the wrapped model labels them, or raises."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...calls import CallError
from ...engine import Decisions, Ledger, Status
from ...models import AdditiveModel
from ...models.planning import Rest
from ...plan import Plan
from ...sources import Source
from ...steps import RawColumns
from .full_model import FullModel, predict_wrapped
from .lossless import FeatureRanges
from .rows import check_finite, leaves_to_the_model, readable


class HandingOver:
    """What happens to rows after the engine.

    Parameters
    ----------
    model : AdditiveModel
    plan : Plan
    full : FullModel
    ranges : FeatureRanges or None
        Ranges on which exits rely; a row with a value outside, in any column, is evaluated in full.
    """

    def __init__(self, model: AdditiveModel, plan: Plan, full: FullModel, ranges: FeatureRanges | None) -> None:
        self._model, self._plan, self._full, self._ranges = model, plan, full, ranges

    def undo_unsafe_exits(self, source: Source, ledger: Ledger, n_threads: int) -> None:
        """Undo the exits of rows with a value outside of the ranges in any column, whether it was read or not."""
        if self._ranges is None:
            return
        exited = np.flatnonzero(ledger.status == Status.EARLY)
        if len(exited):
            unsafe = exited[self._ranges.violated_by(source, exited, n_threads)]
            ledger.status[unsafe], ledger.stages[unsafe] = Status.PENDING, self._plan.n_stages
            ledger.paid[unsafe] = self._plan.full_cost

    def charge_overflows(self, ledger: Ledger) -> None:
        """Charge full evaluation to rows whose estimate overflowed at an early stage, with a budget, too."""
        over = np.flatnonzero(ledger.status == Status.NOT_FINITE)
        ledger.stages[over], ledger.paid[over] = self._plan.n_stages, self._plan.full_cost

    def require_answered(self, source: Source, ledger: Ledger) -> None:
        """Let the wrapped model raise its own error about rows of which raw columns could not be read."""
        if leaves_to_the_model(self._model):
            left = np.flatnonzero((ledger.status == Status.NOT_FINITE) | (ledger.status == Status.HANDED_OVER))
            if len(left):
                predict_wrapped(self._model, source.take(left))

    def settle(self, source: Source, decided: Decisions, n_threads: int) -> None:
        """Label the rows that have no label yet by the full model; raise if one of them is not finite."""
        model, (codes, (_, _, status)) = self._model, decided

        def taken(rows: NDArray[np.intp]) -> Source:
            return readable(model, source.take(rows))

        self.charge_overflows(decided.ledger)
        bad = np.flatnonzero((status == Status.NOT_FINITE) | (status == Status.HANDED_OVER))
        if len(bad) and model.preprocessing is None:
            check_finite(model, taken(bad))
        if model.terms.planning.rest is not Rest.MODEL and model.preprocessing is None:
            pending = np.flatnonzero(status == Status.PENDING)
            if len(pending):
                rows = taken(pending)
                check_finite(model, rows)
                codes[pending], status[pending] = self._full.evaluated(rows, rows, n_threads)
        else:
            bad = np.flatnonzero(~decided.ledger.settled)
            if len(bad) and isinstance(model.preprocessing, RawColumns):
                odd = bad[model.preprocessing.unanswered(taken(bad))]
                if len(odd):  # the wrapped model raises its own error, or knows better what to make of such rows
                    codes[odd], status[odd] = self._full.predict(taken(odd)), Status.HANDED_OVER
                    bad = np.setdiff1d(bad, odd)
        if len(bad):
            try:
                codes[bad], status[bad] = self._full.at_ties(taken(bad)), Status.HANDED_OVER
            except CallError as error:
                if not source.is_lazy:
                    error.renumber(bad)
                raise
