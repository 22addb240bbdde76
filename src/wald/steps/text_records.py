"""Single rows that are dicts with texts: these become numbers, and the rest is read without Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .text_columns import TextColumn

#: Begins the names of the numbers that stand for texts, which no column has.
HIDDEN = "\0of texts "


class TextRecords:
    """Answers dicts whose texts become numbers first.

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

    def reading(self, label: Callable[[Any, bool], Any]) -> Callable[[Any, bool], Any]:
        """What answers dicts of the raw columns, from what answers dicts of all `names`."""

        def of_record(x: Any, with_cost: bool) -> Any:
            if type(x) is not dict or len(x) != self._n_names:
                return None
            row = x.copy()
            for name, part, hidden in self._parts:
                text = x.get(name)
                if type(text) is not str:
                    return None
                row.update(zip(hidden, part.numbers_of(text), strict=True))
            return label(row, with_cost)

        return of_record
