"""Single rows that are dicts with texts: these become numbers, and the rest is read without Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import _core
from .text_columns import TextColumn

#: Begins the names of the numbers that stand for texts, which no column has.
HIDDEN = "\0of texts "


class TextNames:
    """Names of the raw columns, and of numbers that stand for texts.

    Parameters
    ----------
    names : sequence of str
        Names of the raw columns.
    parts : sequence of TextColumn
    """

    def __init__(self, names: Sequence[str], parts: Sequence[TextColumn]) -> None:
        self._n_names, self._parts = len(names), list[tuple[str, TextColumn, list[str]]]()
        self.names = list(names)
        for part in parts:
            hidden = [f"{HIDDEN}{len(self.names) + k}" for k in range(len(part.sources))]
            self.names += hidden
            self._parts.append((names[part.columns[0]], part, hidden))

    def first_of(self, part: TextColumn) -> int:
        """Number of the first name of the numbers that stand for a part."""
        return next(self.names.index(hidden[0]) for _, each, hidden in self._parts if each is part)

    def with_numbers(self, x: Any) -> dict[str, Any] | None:
        """A dict of the raw columns with the numbers besides; None for everything else."""
        if type(x) is not dict or len(x) != self._n_names:
            return None
        row = x.copy()
        for name, part, hidden in self._parts:
            text = x.get(name)
            if type(text) is not str:
                return None
            row.update(zip(hidden, part.numbers_of(text), strict=True))
        return row


class TextRecord:
    """Answers dicts of the raw columns, whose texts become numbers first.

    Parameters
    ----------
    names : TextNames
    record : _core.Record
        What answers dicts of all these names.
    """

    def __init__(self, names: TextNames, record: _core.Record) -> None:
        self._names, self._record = names, record

    def label(self, x: Any, with_cost: bool) -> Any:
        """The label of a dict, or label and cost; None if the engine does not read or settle it."""
        row = self._names.with_numbers(x)
        return None if row is None else self._record.label(row, with_cost)

    def decided(self, x: Any) -> tuple[int, int, float, int] | None:
        """Code, stage, cost and status; None in the same cases."""
        row = self._names.with_numbers(x)
        return None if row is None else self._record.decided(row)
