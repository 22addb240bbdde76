"""Answers for the rows of a table: columns of a row group are read as long as some of its rows are undecided."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit import Status
from ..early_exit.compiled.answer_columns import AnswerColumns
from ..early_exit.estimators import EarlyExit
from ..engine.threads import effective_threads
from ..sources import SomeColumns
from .errors import JobError
from .late import Steps
from .parts import Input
from .scan import Block, Table, ahead, pyarrow_or_error
from .wanted import Wanted

#: Most values of undecided rows that are held while further columns are read.
MOST_OPEN = 32 << 20


@dataclass(frozen=True, eq=False)
class Answers:
    """Labels or values, costs and, if they are asked for, probabilities of rows, and the columns to keep."""

    labels: NDArray[Any]
    costs: NDArray[Any]
    kept: dict[str, Any]
    proba: NDArray[Any] | None = None


@dataclass
class Decoded:
    """Bytes of Parquet columns that were decoded, and that the files hold."""

    decoded: int = 0
    there: int = 0


class RowGroups:
    """A model that answers the rows of tables.

    Parameters
    ----------
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
    wanted : Wanted
    budget : float or None
        Most that a row may cost.
    proba : bool, default=False
        Whether to give the model's probabilities, for which all columns are read.

    Attributes
    ----------
    bytes : Decoded
        Counts of all tables so far.
    columns : AnswerColumns
        What answers are called.
    """

    def __init__(self, fast: EarlyExit, wanted: Wanted, budget: float | None, proba: bool = False) -> None:
        self._fast, self._wanted, self._budget = fast, wanted, budget
        self._compiled = fast.compiled_plan_
        self.columns = AnswerColumns.of(self._compiled)
        self._proba = proba and not self.columns.are_probabilities
        self._compiled.require_unchanged()
        self._threads = effective_threads(fast.n_jobs)
        plan = self._compiled.plan
        n_stages = plan.n_stages if budget is None else min(plan.n_stages, plan.affordable(budget))
        n_stages = 0 if self.columns.classes is None else n_stages
        watched = budget is None and self._compiled.monitor is not None  # audited rows are read whole
        self._steps = Steps(
            None if watched or proba or wanted.is_framed else self._compiled.columns_by_stage(),
            int(wanted.schema.n_columns or 0),
            n_stages,
        )
        self.bytes = Decoded()

    @property
    def needed(self) -> NDArray[np.intp]:
        """Columns that the model reads."""
        return self._steps.columns(0)

    def count(self, table: Table, group: int) -> None:
        """Count the bytes of a row group that is read whole."""
        sizes, there = table.bytes_of(group)
        some = sizes if self._wanted.is_framed else sizes[self.needed]
        self.bytes.decoded += int(some.sum()) + table.kept_bytes(group)
        self.bytes.there += there

    def answers(self, source: Input, groups: range) -> Iterator[Answers]:
        """Answers of one row group after another; at least one, which has no rows if none of them has.

        Raises
        ------
        JobError
            If the file cannot be read, or the model refuses its rows.
        """
        pyarrow = pyarrow_or_error()
        table, again = Table(source, self._wanted), Table(source, self._wanted)
        announced = sum(table.group_rows[group] for group in groups)
        if announced == 0:
            kept = {name: pyarrow.array([], table.kind(name)) for name in self._wanted.keep}
            none = np.empty((0, len(self._compiled.model.classes))) if self._proba else None
            yield Answers(self.columns.none, np.empty(0), kept, none)
        if self._wanted.is_framed:
            yield from self._of_frames(table, groups)
            return
        n_read = 0
        mine: _Group | None = None
        for group, steps, block in ahead(self._first_blocks(table, groups)):
            mine = mine or _Group(again, group, steps, f"{source.name}, row group {group}")
            self._begin(mine, block)
            if mine.n_rows >= table.group_rows[group]:
                n_read += mine.n_rows
                yield self._end(mine)
                mine = None
        if n_read != announced:
            raise damaged(source.name, announced, n_read)
        table.close()
        again.close()

    def _of_frames(self, table: Table, groups: range) -> Iterator[Answers]:
        """Answers of rows that hold categories or texts, which are read whole."""
        for group in groups:
            where, n_read = f"{table.source.name}, row group {group}", 0
            self.count(table, group)
            for rows, kept in table.frames(group):
                if len(rows):
                    n_read += len(rows)
                    labels, costs, proba = self.predict(rows, where)
                    yield Answers(labels, costs, kept, proba)
            if n_read != table.group_rows[group]:
                raise damaged(where, table.group_rows[group], n_read)

    def predict(self, rows: Any, where: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        """Labels, costs and probabilities of rows that are read whole; a JobError says where rows are refused."""
        with refused(where):
            n_threads = effective_threads(self._fast.n_jobs, rows)
            found = self._compiled.predict(rows, budget=self._budget, n_threads=n_threads)
            proba = self._fast.predict_proba(rows) if self._proba else None
            return found.labels, found.costs, proba

    def _first_blocks(self, table: Table, groups: range) -> Iterator[tuple[int, list[int], Block]]:
        """Blocks of the columns of each row group's first step."""
        for group in groups:
            steps = self._steps.choose(table.bytes_of(group)[0])
            for block in table.blocks(group, self._steps.columns(steps[0]), keep=True):
                yield group, steps, block

    def _begin(self, mine: _Group, block: Block) -> None:
        """Decide rows by the columns of the first step; those that it leaves open are held if there is room."""
        depth = mine.steps[0]
        proba = None
        if depth == 0:
            labels, costs, proba = self._in_full(block.rows, mine.where)
            left = np.empty(0, dtype=np.intp)
        else:
            labels, costs, left = self._decided(block.rows, depth, mine.where)
        mine.n_open += len(left)
        if mine.n_open * len(self._steps.columns(depth)) > MOST_OPEN:
            mine.open = None
        elif mine.open is not None:
            mine.open.append(block.rows.take(left))
        mine.left.append(left + mine.n_rows)
        mine.answers.append(Answers(labels, costs, block.kept, proba))
        mine.n_rows += len(labels)

    def _decided(
        self, rows: SomeColumns, depth: int, where: str
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.intp]]:
        """Labels and costs after the first stages, of no meaning for the rows that these leave open; and those rows."""
        with refused(where):
            answers = self._compiled.first_stages(rows, depth, self._threads)
        return answers.labels, answers.costs, np.flatnonzero(answers.status >= Status.PENDING)

    def _in_full(self, rows: SomeColumns, where: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
        return self.predict(rows, where)

    def _end(self, mine: _Group) -> Answers:
        """Answers of a row group, of which further columns are read while rows are open."""
        import pyarrow

        sizes, there = mine.table.bytes_of(mine.group)
        self.bytes.there += there
        self.bytes.decoded += int(sizes[self._steps.columns(mine.steps[0])].sum()) + mine.table.kept_bytes(mine.group)
        labels, costs, left = (
            np.concatenate(parts)
            for parts in ([a.labels for a in mine.answers], [a.costs for a in mine.answers], mine.left)
        )
        held = None if mine.open is None else SomeColumns.one_after_another(mine.open)
        for before, depth in pairwise(mine.steps):
            if len(left) == 0:
                break
            columns = self._steps.columns(depth)
            if held is None or len(left) * len(columns) > MOST_OPEN:
                self._read_whole(mine, labels, costs, left)
                break
            new = np.setdiff1d(columns, self._steps.columns(before))
            self.bytes.decoded += int(sizes[new].sum())
            held = held.beside(SomeColumns.one_after_another([rows for _, rows in mine.read(new, left)]))
            if depth == 0:
                labels[left], costs[left], _ = self._in_full(held, mine.where)
                break
            labels[left], costs[left], still = self._decided(held, depth, mine.where)
            left, held = left[still], held.take(still)
        kept = {name: pyarrow.chunked_array([a.kept[name] for a in mine.answers]) for name in self._wanted.keep}
        proba = np.concatenate([a.proba for a in mine.answers if a.proba is not None]) if self._proba else None
        return Answers(labels, costs, kept, proba)

    def _read_whole(self, mine: _Group, labels: NDArray[Any], costs: NDArray[Any], left: NDArray[np.intp]) -> None:
        """Label open rows, which are too many to be held with all their columns, block by block."""
        columns = self._steps.columns(0)
        self.bytes.decoded += int(mine.table.bytes_of(mine.group)[0][columns].sum())
        for some, rows in mine.read(columns, left):
            if len(some):
                labels[some], costs[some], _ = self._in_full(rows, mine.where)


@dataclass(eq=False)
class _Group:
    """A row group whose rows are being answered.

    Attributes
    ----------
    table : Table
        Where further columns are read from.
    group : int
    steps : list of int
    where : str
        What messages say of it.
    n_rows, n_open : int
        Rows that the first step has seen, and left open.
    answers : list of Answers
        Those of the first step, block by block.
    left : list of ndarray of shape (n_left,)
        The rows of each block that it left open, by their place in the group.
    open : list of SomeColumns or None
        The columns read of these rows; None if they are too many to be held.
    """

    table: Table
    group: int
    steps: list[int]
    where: str
    n_rows: int = 0
    n_open: int = 0
    answers: list[Answers] = field(default_factory=list)
    left: list[NDArray[np.intp]] = field(default_factory=list)
    open: list[SomeColumns] | None = field(default_factory=list)

    def read(
        self, columns: NDArray[np.intp], which: NDArray[np.intp]
    ) -> Iterator[tuple[NDArray[np.intp], SomeColumns]]:
        """Columns of some rows, block by block: the numbers of these rows, and their columns."""
        begun = 0
        for block in self.table.blocks(self.group, columns, keep=False):
            some = which[slice(*np.searchsorted(which, (begun, begun + len(block.rows))))]
            yield some, block.rows.take(some - begun)
            begun += len(block.rows)
        if begun != self.n_rows:
            raise damaged(self.where, self.n_rows, begun)


@contextmanager
def refused(where: str) -> Iterator[None]:
    """Raise a JobError that says where the block refuses rows."""
    try:
        yield
    except (ValueError, TypeError) as error:
        raise JobError(f"{where}: {' '.join(str(error).split())}") from error


def damaged(where: str, announced: int, n_read: int) -> JobError:
    """The error for a file that holds another number of rows than it says."""
    return JobError(f"{where} is damaged: it announces {announced} rows there, and holds {n_read}.")
