"""Columns that are bought: a group is fetched for the rows that are undecided when a stage first reads of it.

As with branches of a pipeline that run late, the rows that are left begin again at the first stage, with more columns
and up to a later stage; that changes no answer, and takes no time beside a call. In contrast to these, a round ends
before every stage that reads a new group, since a group costs more than anything that wald does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...calls import CallError, PartialAnswer
from ...engine import AtEnd, Cascade, Decisions, Status
from ...models import AdditiveModel
from ...models.protocols import Columnwise, Sharing
from ...sources import LazyRows, SomeColumns, Source
from ...steps import RawColumns
from .late_steps import PENDING, LateSteps, Look
from .request import Request


@dataclass(frozen=True, eq=False)
class Purchases:
    """What is fetched before a round, and what the round reads of it.

    Attributes
    ----------
    reads : list of int
        The columns of the rows that it takes, and of the groups that are fetched for them.
    writes : list of int
        The columns of the terms that the round reads, and no earlier one.
    """

    reads: list[int]
    writes: list[int]


class BoughtColumns(LateSteps):
    """Answers rows by a cascade, and fetches the groups of their columns as stages need them.

    Parameters
    ----------
    cascade : Cascade
    looks : list of Look
        One for each stage after which a further group is fetched, and one for the last stage.
    rest : Purchases or None
        The groups that full evaluation needs besides.
    step : RawColumns or None
        What writes the columns of the terms; None if they are those of the rows.
    """

    def __init__(
        self, cascade: Cascade, looks: list[Look], rest: Purchases | None, step: RawColumns | None = None
    ) -> None:
        self._cascade, self._looks, self._rest, self._step = cascade, looks, rest, step

    @classmethod
    def of_groups(
        cls,
        source: LazyRows,
        cascade: Cascade,
        by_stage: Sequence[NDArray[np.intp]] | None,
        step: RawColumns | None = None,
    ) -> BoughtColumns | None:
        """Find which groups are fetched before which stage; None if all rows are read whole.

        Parameters
        ----------
        source : LazyRows
        cascade : Cascade
        by_stage : list of ndarray or None
            Columns of the terms that the first 1, 2, ... stages read, and last those in full.
        step : RawColumns or None, default=None
        """
        if by_stage is None or len(by_stage) < 2:
            return None
        columns = source.groups
        owner = {c: group for group, places in columns.items() for c in places}
        *early, in_full = (
            [*range(step.width)] if step and read is by_stage[-1] else read.tolist() for read in by_stage
        )
        written, paid = set[int](), set[str]()

        def bought(read: list[int]) -> Purchases | None:
            new = sorted(set(read) - written)
            raw = new if step is None else [c for number in new for c in step.reads_of(number)]
            groups = {owner[c] for c in raw} - paid
            written.update(new)
            paid.update(groups)
            every = {c for group in groups for c in columns[group]}.union(raw)
            return Purchases(sorted(every), new) if new else None

        looks = []
        for t, read in enumerate(early, 1):
            later = early[t] if t < len(early) else in_full
            if t == len(early) or _groups(step, later, owner) - _groups(step, read, owner):
                looks.append(Look(t, bought(read)))
        return cls(cascade, looks, bought(in_full), step)

    def predict_bought(
        self,
        source: LazyRows,
        n_stages: int,
        at_end: AtEnd,
        n_threads: int,
        carried: Callable[[Decisions], PartialAnswer],
    ) -> Decisions:
        """Decide rows; `carried` makes what an error carries of the decisions so far."""
        decided = undecided(source.n_rows)
        rows, left = self._begun(source), None
        for look, ends in self._reached(n_stages, at_end):
            if isinstance(look.new, Purchases):
                with carrying(decided, carried):
                    rows = self._with(rows, look.new, source if left is None else source.take(left), n_threads)
            found = self._cascade.predict(rows, look.depth, at_end if ends else "pending", n_threads)
            if left is None:
                decided = found
            else:
                decided.put(left, found)
            still = np.flatnonzero(found.ledger.status == PENDING)
            if ends or len(still) == 0:
                break
            if len(still) < rows.n_rows:
                left, rows = still if left is None else left[still], rows.take(still)
        return decided

    def _begun(self, source: LazyRows) -> SomeColumns:
        """Rows without any column."""
        if self._step is not None:
            return self._step.nothing(source.n_rows)
        return SomeColumns(source.n_rows, [None] * source.n_columns, source.dtype)

    def _with(self, rows: SomeColumns, new: Purchases, source: LazyRows, n_threads: int) -> SomeColumns:
        """Add what is bought for these rows to their columns so far."""
        if self._step is not None:
            return self._step.beside(rows, new.writes, source.whole(new.reads), n_threads=n_threads)
        return rows.beside(source.some(new.writes))


def _groups(step: RawColumns | None, read: Sequence[int], owner: Mapping[int, str]) -> set[str]:
    """The groups that some columns of the terms come from."""
    return {owner[c] for number in read for c in ([number] if step is None else step.reads_of(number))}


class carrying:  # noqa: N801  # a function in all but the state of its block
    """Let an error about a call carry the decisions so far, in place of the answers to that call.

    Parameters
    ----------
    decided : Decisions
    carried : callable
        Makes a PartialAnswer of them.
    """

    def __init__(self, decided: Decisions, carried: Callable[[Decisions], PartialAnswer]) -> None:
        self._decided, self._carried = decided, carried

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, CallError) and not (error.partial and isinstance(error.partial.state, Decisions)):
            error.partial = self._carried(self._decided)


def undecided(n_rows: int) -> Decisions:
    """Decisions about rows of which none is decided."""
    status = np.full(n_rows, Status.PENDING, dtype=np.uint8)
    return Decisions.of(np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows, dtype=np.int32), np.zeros(n_rows), status)


def priced_by(request: Request, lazy: Source, model: AdditiveModel) -> Request:
    """A request for rows whose groups are fetched: with their prices, unless the user gives some; time is no cost.

    Models that cannot tell groups apart take no prices: everything is fetched for them.
    """
    step, given = model.preprocessing, request.feature_costs is not None or request.feature_groups is not None
    if isinstance(step, RawColumns):
        apart = all(-1 not in part.sources for part in step.parts)  # none mixes several
    else:
        apart = step is None and (Sharing.of(model.terms) is not None or Columnwise.of(model.terms) is not None)
    if isinstance(lazy, LazyRows) and apart and not given:
        request, given = replace(request, feature_costs=lazy.costs, feature_groups=lazy.groups), True
    return replace(request, cost="units") if given and request.cost == "time" else request


def resumed(
    source: Source,
    before: PartialAnswer,
    answered: Callable[[Source], Decisions],
    carried: Callable[[Decisions, NDArray[np.bool_]], PartialAnswer],
) -> Decisions:
    """Decide the rows that an earlier call has left undecided, and put them beside those that it has decided.

    Parameters
    ----------
    source : Source
        All rows of the earlier call.
    before : PartialAnswer
        What it had decided.
    answered : callable
        Decides some rows.
    carried : callable
        Makes what an error carries of decisions, and of whether they are decided.

    Raises
    ------
    TypeError, ValueError
        If ``before`` is none of this estimator's, or of another number of rows.
    """
    state = getattr(before, "state", None)
    if not isinstance(state, Decisions):
        raise TypeError(f"resume must be the partial of a CallError that predict has raised. Got {before!r}.")
    if len(before.decided) != source.n_rows:
        raise ValueError(f"resume is about {len(before.decided)} rows, and X has {source.n_rows}.")
    left = np.flatnonzero(~before.decided)
    if len(left) == 0:
        return state
    try:
        found = answered(source.take(left))
    except CallError as error:
        if not source.is_lazy:
            error.renumber(left)
        if error.partial is not None and isinstance(error.partial.state, Decisions):
            decided = before.decided.copy()
            decided[left] = error.partial.decided
            error.partial = carried(_together(state, left, error.partial.state), decided)
        raise
    return _together(state, left, found)


def _together(before: Decisions, left: NDArray[np.intp], found: Decisions) -> Decisions:
    """Decisions about all rows, of which some were left."""
    codes = before.codes.astype(np.result_type(before.codes, found.codes))  # values, where none was found before
    stages, paid, status = before.ledger
    together = Decisions.of(codes, stages.copy(), paid.copy(), status.copy())
    together.put(left, found)
    return together
