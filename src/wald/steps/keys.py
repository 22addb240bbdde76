"""`Keys`: which of the known categories of a column each cell equals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..sources.cells import Cells, CodeChunk, NumberChunk, Objects, TextChunk, ViewChunk, WideTexts

#: What a cell is that equals no known category: its state is their number, plus one of these.
UNKNOWN, NONE, NAN, NA, OTHER = range(5)


class Keys:
    """The known categories of a column, and which of them a cell equals.

    The state of a cell is ``i`` where it equals ``known[i]``. The states after these, from ``n_known`` on:

    * ``UNKNOWN``: another text among texts, or another finite number among numbers;
    * ``NONE``: None, or a null of polars and Arrow;
    * ``NAN``: a floating point NaN, also what pandas gives for a missing value of `str` and of categories;
    * ``NA``: pandas.NA;
    * ``OTHER``: anything else, such as a number among texts, a text among numbers, or an infinity.

    Texts are compared as Python compares them, code point by code point. Numbers are compared in exact arithmetic,
    whatever their types. True and False equal 1 and 0 in columns of booleans, and are ``OTHER`` elsewhere. A subclass
    of str is read as a text unless it has an equality or a hash of its own.

    Parameters
    ----------
    known : list of str, or ndarray of shape (n_known,)
        Of float64 or int64. Distinct, and none is NaN.

    Attributes
    ----------
    n_known : int
    n_states : int
        ``n_known + 5``.
    core : _core.Keys
    state_of : callable
        From one object to its state; in 0.1 microseconds for a str, int or float.

    Raises
    ------
    TypeError, ValueError
        If the categories are of another type, or not distinct.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.sources import source_of
    >>> from wald.steps.keys import OTHER, Keys
    >>> keys = Keys(["red", "blue"])
    >>> rows = np.array([["blue"], ["green"], [None], ["red"], [3]], dtype=object)
    >>> values = np.array([0.5, 0.25, 0, -1, -1, -1, -9])
    >>> refused = np.arange(keys.n_states) == keys.n_known + OTHER
    >>> keys.take(source_of(rows).cells(0), values, refused)
    (array([ 0.25,  0.  , -1.  ,  0.5 , -9.  ]), 4)
    >>> keys.state_of("red"), keys.state_of("green")
    (0, 2)
    """

    state_of: Callable[[Any], int]

    def __init__(self, known: list[str] | NDArray[Any]) -> None:
        self.known = known.copy() if hasattr(known, "copy") else known
        self.n_known, self.n_states = len(known), len(known) + 5
        self.core = _core.Keys(known, _plain)
        self.state_of = self.core.state_of
        self._every, self._none = np.arange(self.n_states, dtype=np.int32), np.zeros(self.n_states, dtype=bool)

    def __reduce__(self) -> tuple[type[Keys], tuple[Any]]:
        return Keys, (self.known,)

    def take(
        self,
        cells: Cells,
        values: NDArray[Any],
        refused: NDArray[np.bool_],
        rows: NDArray[np.int64] | None = None,
        note: Callable[[tuple[bool, bool, bool]], None] | None = None,
    ) -> tuple[NDArray[Any], int]:
        """The value of each cell's state.

        Parameters
        ----------
        cells : Cells
        values : ndarray of shape (n_states,)
            Of uint8, int32, float32 or float64.
        refused : ndarray of bool, of shape (n_states,)
            States that must not occur.
        rows : int64 ndarray of shape (n_taken,) or None, default=None
            Numbers of the cells whose values are wanted, ascending; None: all.
        note : callable or None, default=None
            Is told whether None, NaN and pandas.NA are among the cells.

        Returns
        -------
        taken : ndarray of shape (n_taken,)
            With the dtype of the values.
        first : int
            The first of them whose state is refused, or -1.

        Raises
        ------
        ValueError
            If the column's memory is not what its container says.
        """
        lookup = self._found(cells, values, refused)
        found = lookup.result(rows)
        if note is not None:
            note(lookup.missing())
        return found

    def lookup(self, cells: Cells, values: NDArray[Any]) -> _core.Lookup:
        """What finds the value of each cell's state when it is asked for.

        Parameters
        ----------
        cells : Cells
        values : ndarray of shape (n_states,)
            Of uint8, int32, float32 or float64.
        """
        return self._found(cells, values, self._none)

    def _found(self, cells: Cells, values: NDArray[Any], refused: NDArray[np.bool_]) -> _core.Lookup:
        lookup = _core.Lookup(self.core, values, refused, cells.n_rows)
        if isinstance(cells, Objects):
            lookup.objects(cells.values)
        elif isinstance(cells, WideTexts):
            lookup.wide(cells.values)
        else:
            null = self.state_of(cells.null)  # type: ignore[attr-defined]  # all other cells lie in chunks
            for chunk in cells.chunks:  # type: ignore[attr-defined]
                self._add(lookup, chunk, null)
        return lookup

    def _add(self, lookup: _core.Lookup, chunk: Any, null: int) -> None:
        bits, first_bit = chunk.valid.bits, chunk.valid.first
        match chunk:
            case TextChunk(n_rows=n, first=first, width=width, offsets=offsets, data=data):
                lookup.texts(n, first, width, offsets, data, bits, first_bit, null)
            case ViewChunk(n_rows=n, first=first, views=views, data=buffers):
                lookup.views(n, first, views, buffers, bits, first_bit, null)
            case NumberChunk(values=numbers):
                lookup.numbers(numbers, bits, first_bit, null)
            case CodeChunk(codes=codes, dictionary=dictionary, lowest=lowest):
                entries, _ = self.take(dictionary, self._every, self._none)
                if lowest < 0:
                    entries = np.append(np.int32(null), entries)
                lookup.codes(codes, entries, lowest, bits, first_bit, null)


_NUMPY = (np.floating, np.integer)


def _plain(value: Any) -> Any:
    """A str, float or int that equals an object; Ellipsis for pandas.NA, and None for what equals no category."""
    kind: Any = type(value)
    if isinstance(value, str):
        same = kind is np.str_ or (kind.__eq__ is str.__eq__ and kind.__hash__ is str.__hash__)
        return str.__str__(value) if same else None
    if isinstance(value, _NUMPY) and kind.__module__ == "numpy":
        plain: Any = value.item()  # long doubles have none
        return plain if isinstance(plain, float | int) else float("nan") if value != value else None
    return ... if kind.__name__ == "NAType" and kind.__module__.startswith("pandas.") else None
