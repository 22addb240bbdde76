"""The table of one column: the rows that an encoder writes, and which of them each value of the column gets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .keys import NA, NAN, NONE, Keys
from .unmet import NEVER, Silent
from .written import Written, keys_of


@dataclass(frozen=True, eq=False)
class Lookup:
    """What the states of a column's cells become, for cells of one kind.

    Attributes
    ----------
    rows : int ndarray of shape (n_states,)
        Row of the column's table for each state of its keys.
    refused : bool ndarray of shape (n_states,)
        States about which the encoder itself must be asked, or which raise.
    silent : tuple of bool
        Whether None, NaN and pandas.NA are taken for an unknown category.
    """

    rows: NDArray[np.int64]
    refused: NDArray[np.bool_]
    silent: Silent = NEVER

    def with_one_missing(self, n_known: int, is_nan: bool) -> Lookup:
        """The same, where all missing values count as the one that the encoder may know."""
        rows, refused = self.rows.copy(), self.refused.copy()
        missing = [n_known + state for state in (NONE, NAN, NA)]
        own = n_known + (NAN if is_nan or refused[n_known + NONE] else NONE)
        rows[missing], refused[missing] = rows[own], refused[own]
        return Lookup(rows, refused, self.silent if self.silent[NAN - NONE if own == n_known + NAN else 0] else NEVER)


@dataclass(eq=False)
class Table:
    """One column that is read, and what is written for the values that it may have.

    Attributes
    ----------
    column : int
        Number of the raw column.
    keys : Keys
    own : int ndarray of shape (n_own,)
        Numbers of the columns that it determines, among those of the encoder.
    asked : ndarray or CSR matrix of shape (n_rows, n_own)
        The distinct rows of these columns.
    written : int ndarray of shape (n_written,)
        Numbers of the columns that are written in the end.
    values : ndarray or CSR matrix of shape (n_rows, n_written)
        What is written for each of the rows.
    booleans : bool
        Whether the known values are True and False.
    """

    column: int
    keys: Keys
    own: NDArray[np.intp]
    asked: Written
    written: NDArray[np.intp]
    values: Written
    booleans: bool = False
    _rows: dict[bytes, int] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of distinct rows."""
        return int(self.values.shape[0])

    def has(self, values: Written) -> bool:
        """Whether a row holds these values."""
        return keys_of(values)[0] in self._rows

    def begin(self, states: Written) -> None:
        """Take the distinct rows of values of the written columns."""
        new = []
        for i, key in enumerate(keys_of(states)):
            if key not in self._rows:
                self._rows[key] = len(self._rows)
                new.append(i)
        self.asked = self.values = states[new]

    def rows_of(self, states: Written) -> NDArray[np.int64]:
        """Rows of the table for these values of the written columns; -1 where it has none."""
        return np.array([self._rows.get(key, -1) for key in keys_of(states)], dtype=np.int64)
