"""Rows of rankings, whose groups are whole across row groups and files.

A first pass over the column that names the groups finds where each begins, and refuses groups that lie apart. A part
is then answered together with the rows of its first and last group that stand in other parts; these are read twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from ..early_exit.estimators import EarlyExit
from ..early_exit.group_answers import answered
from ..sources import SomeColumns, source_of
from .distinct import distinct_values, holds_numbers
from .errors import JobError
from .groups import Answers, RowGroups, damaged, refused
from .parts import Input, Part
from .scan import AT_ONCE, Table, ahead
from .wanted import Wanted

#: At least so many rows are answered at once, where groups are small.
LEAST_ROWS = 1024
#: Most keys that are read at once.
KEYS_AT_ONCE = 1 << 20


@dataclass(frozen=True, eq=False)
class Groups:
    """Where groups begin in the rows of all files, one after the other.

    Attributes
    ----------
    starts : int64 ndarray of shape (n_groups,)
        First row of each group.
    n_rows : int
    """

    starts: NDArray[np.int64]
    n_rows: int

    @classmethod
    def of(cls, inputs: Sequence[Input], wanted: Wanted) -> Groups:
        """Read the keys of all rows.

        Raises
        ------
        JobError
            If a file has no such column, a key is missing, or rows of a group lie apart.
        """
        starts: list[NDArray[np.int64]] = []
        where: dict[Any, tuple[str, int]] = {}
        last: Any = None
        n_rows, first_kind = 0, ""
        for source in inputs:
            if source.kind == "other":
                raise JobError(
                    f"--groups: {source.name}: groups across files are read from Parquet and Arrow IPC. Write these "
                    "rows as Parquet, or predict each file by itself (-o FILE)."
                )
            table, begin = Table(source, wanted), n_rows
            kind = _kind(table, wanted)
            first_kind = first_kind or kind
            if kind != first_kind:
                raise JobError(
                    f"--groups: {wanted.groups!r} holds {first_kind} in {inputs[0].name}, and {kind} in {source.name}: "
                    "write it with one type."
                )
            for group in range(len(table.group_rows)):
                for column in table.column_of(group, str(wanted.groups), KEYS_AT_ONCE):
                    known, numbers = distinct_values(column)
                    _require_keys(numbers, known, f"{source.name}, row {{}} (from 0)", n_rows - begin)
                    runs = np.flatnonzero(np.append([True], numbers[1:] != numbers[:-1])) if len(numbers) else numbers
                    begun = []
                    for run, key in zip(
                        runs.tolist(), [known[number] for number in numbers[runs].tolist()], strict=True
                    ):
                        if n_rows + run > 0 and key == last:
                            continue
                        here = source.name, n_rows - begin + run
                        if key in where:
                            raise _apart(key, where[key], here, str(wanted.groups))
                        where[key], last = here, key
                        begun.append(n_rows + run)
                    starts.append(np.array(begun, dtype=np.int64))
                    n_rows += len(numbers)
            table.close()
        return cls(np.concatenate([np.empty(0, dtype=np.int64), *starts]), n_rows)

    def around(self, begin: int, end: int) -> NDArray[np.int64]:
        """First rows of the groups that have rows from ``begin`` to ``end``, and last the row after them."""
        first, after = np.searchsorted(self.starts, begin, "right") - 1, np.searchsorted(self.starts, end, "left")
        return np.append(self.starts, self.n_rows)[first : after + 1]


def fingerprint(inputs: Sequence[Input]) -> str:
    """What a part depends on where its groups may reach into any other file."""
    return sha256("\n".join(f"{one.name} {one.size} {one.changed}" for one in inputs).encode()).hexdigest()


class WholeGroups:
    """A ranker that answers parts, whose groups are completed from the parts beside them.

    Parameters
    ----------
    fast : EarlyExitRanker
    budget : float or None
        Most that a row may cost, on average over those of a group.
    wanted : Wanted
    rows : RowGroups
        Counts what is decoded.
    inputs : sequence of Input
    rows_of_groups : sequence of sequences of int
        Rows of each row group of each file.
    groups : Groups
    """

    def __init__(
        self,
        fast: EarlyExit,
        budget: float | None,
        wanted: Wanted,
        rows: RowGroups,
        inputs: Sequence[Input],
        rows_of_groups: Sequence[Sequence[int] | None],
        groups: Groups,
    ) -> None:
        self._fast, self._budget = fast, budget
        self._wanted, self._rows, self._groups = wanted, rows, groups
        pairs = [
            (source, g, n)
            for source, sizes in zip(inputs, rows_of_groups, strict=True)
            for g, n in enumerate(sizes or ())
        ]
        ends = np.cumsum([0, *(n for *_, n in pairs)]).tolist()
        self._row_groups = [
            (source, g, start, end) for (source, g, _), start, end in zip(pairs, ends[:-1], ends[1:], strict=True)
        ]
        if ends[-1] != groups.n_rows:
            raise damaged("one of the files", ends[-1], groups.n_rows)

    def answers(self, part: Part) -> Iterator[Answers]:
        """Answers of the rows of a part, some groups at a time; at least one, which may have no rows."""
        own = range(*(part.groups or (0, 0)))
        mine = [(start, end) for source, g, start, end in self._row_groups if source is part.source and g in own]
        begin, end = (mine[0][0], mine[-1][1]) if mine else (0, 0)
        if begin == end:
            yield from self._rows.answers(part.source, own)
            return
        starts = self._groups.around(begin, end)
        most = max(LEAST_ROWS, AT_ONCE // max(1, len(self._rows.needed)))
        blocks = _Slices(ahead(self._blocks(part, int(starts[0]), int(starts[-1]))))
        done = 0
        while done < len(starts) - 1:
            after = int(np.searchsorted(starts, starts[done] + most, "right")) - 1
            some = starts[done : max(after, done + 1) + 1]
            first, last = int(some[0]), int(some[-1])
            rows, kept = blocks.upto(last, part.source.name)
            with refused(part.source.name):
                keys = np.repeat(np.arange(len(some) - 1), np.diff(some))
                found = answered(self._fast, rows, keys, budget=self._budget)
            inside = slice(max(begin, first) - first, min(end, last) - first)
            copied = {name: column[inside] for name, column in kept.items()}
            yield Answers(found.labels[inside], found.costs[inside], copied)
            done += len(some) - 1

    def _blocks(self, part: Part, begin: int, end: int) -> Iterator[tuple[int, Any, dict[str, Any]]]:
        """Blocks of rows from ``begin`` to ``end``: the first row of each, its rows, and columns to keep."""
        table: Table | None = None
        for source, group, start, stop in self._row_groups:
            if stop <= begin or start >= end:
                continue
            if table is None or table.source is not source:
                if table is not None:
                    table.close()
                table = Table(source, self._wanted)
            if source is part.source and part.groups is not None and group in range(*part.groups):
                self._rows.count(table, group)
            at = start
            for rows, kept in _read(table, group, self._rows.needed):
                n = source_of(rows).n_rows
                inside = slice(max(begin - at, 0), min(end - at, n))
                if inside.stop > inside.start:
                    yield at + inside.start, _cut(rows, inside), {name: c[inside] for name, c in kept.items()}
                at += n
            if at != stop:
                raise damaged(f"{source.name}, row group {group}", stop - start, at - start)
        if table is not None:
            table.close()


class _Slices:
    """Blocks of rows, cut where groups end."""

    def __init__(self, blocks: Iterator[tuple[int, Any, dict[str, Any]]]) -> None:
        self._blocks = blocks
        self._left: tuple[int, Any, dict[str, Any]] | None = None

    def upto(self, end: int, where: str) -> tuple[Any, dict[str, Any]]:
        """The rows before ``end`` that were not given yet."""
        import pyarrow

        rows: list[Any] = []
        columns: list[dict[str, Any]] = []
        at = -1
        while at < end:
            block = self._left or next(self._blocks, None)
            if block is None:
                raise damaged(where, end, at)
            start, some, kept = block
            n = source_of(some).n_rows
            at, self._left = start + n, None
            if at > end:
                here = end - start
                self._left = end, _cut(some, slice(here, n)), {name: c[here:] for name, c in kept.items()}
                some, kept = _cut(some, slice(0, here)), {name: c[:here] for name, c in kept.items()}
                at = end
            rows.append(some)
            columns.append(kept)
        return _joined(rows), {name: pyarrow.chunked_array([each[name] for each in columns]) for name in columns[0]}


def _read(table: Table, group: int, columns: NDArray[np.intp]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Rows of a row group in blocks, as the model takes them, and the columns to keep."""
    if table.wanted.is_framed:
        yield from table.frames(group)
        return
    for block in table.blocks(group, columns, keep=True):
        rows, nothing = block.rows, np.zeros(block.rows.n_rows, dtype=table.dtype)  # for columns that no tree reads
        held = [nothing if values is None else values for values in rows.columns]
        yield SomeColumns(rows.n_rows, held, rows.dtype, rows.names), block.kept


def _cut(rows: Any, some: slice) -> Any:
    if isinstance(rows, SomeColumns):
        return rows.take(some)
    return source_of(rows).take(np.arange(some.start, some.stop)).rows


def _joined(parts: list[Any]) -> Any:
    """Rows, one below the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], SomeColumns):
        whole = SomeColumns.one_after_another(parts)
        return SomeColumns(whole.n_rows, whole.columns, np.result_type(*(p.dtype for p in parts)), whole.names)
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return nw.maybe_reset_index(nw.concat([nw.from_native(part) for part in parts])).to_native()


def _kind(table: Table, wanted: Wanted) -> str:
    kind = table.kind(str(wanted.groups))
    if getattr(kind, "num_fields", 0):
        raise JobError(f"--groups: {table.source.name} has nested values in {wanted.groups!r} ({kind}).")
    return "numbers" if holds_numbers(kind) else str(kind)


def _require_keys(numbers: NDArray[np.intp], known: list[Any], where: str, n_before: int) -> None:
    """Raise JobError for a null or NaN."""
    odd = [number for number, key in enumerate(known) if key is None or key != key]
    missing = np.flatnonzero(np.isin(numbers, [-1, *odd]))
    if len(missing):
        raise JobError(
            f"--groups: {where.format(n_before + int(missing[0]))} names no group. Leave such rows out, or give each a "
            "group of its own."
        )


def _apart(key: Any, before: tuple[str, int], here: tuple[str, int], column: str) -> JobError:
    (file, row), (other, at) = before, here
    return JobError(
        f"--groups: rows of the group {key!r} lie apart: it begins in {file}, row {row} (from 0), and again in "
        f"{other}, row {at}. A job wants the rows of a group side by side, also across row groups and files, "
        f"which are read in the order of their names: sort the data by {column!r}."
    )
