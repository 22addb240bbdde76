"""Groups of rows, such as the documents of a query, side by side for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..stopping.core.row_groups import group_numbers

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowGroups:
    """Rows in groups, each row in one of them.

    Parameters
    ----------
    ends : int64 ndarray of shape (n_groups,)
        Number of rows up to the end of each group.
    rows : int64 ndarray of shape (n_rows,) or None
        The rows, group after group, those of a group in their own order; None: they lie so already.
    """

    ends: Indices
    rows: Indices | None = None

    @classmethod
    def of(cls, groups: ArrayLike, n_rows: int) -> Self:
        """Bring rows together by the keys of their groups, which may come in any order.

        Parameters
        ----------
        groups : array-like of shape (n_rows,)
            The key of each row's group: numbers, texts, dates.
        n_rows : int

        Raises
        ------
        ValueError
            If there is another number of keys, or one is missing.
        """
        if n_rows == 0:
            group_numbers(groups, n_rows)  # raises for keys without rows
            return cls(np.zeros(0, dtype=np.int64))
        listed = isinstance(groups, list | tuple)
        keys = group_numbers(groups, n_rows) if listed else np.asarray(groups)
        if keys.ndim != 1 or len(keys) != n_rows or keys.dtype.kind not in "biuSU":
            keys = group_numbers(groups, n_rows)  # raises for missing keys, and tells 1 from "1"
        begins = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1]).astype(np.int64)
        ends = np.append(begins[1:], n_rows).astype(np.int64)
        known, run = np.unique(keys[begins], return_inverse=True)
        if len(known) == len(begins):  # each group's rows stand side by side
            return cls(ends)
        number = np.repeat(run, ends - begins)
        return cls(np.cumsum(np.bincount(number)).astype(np.int64), np.argsort(number, kind="stable").astype(np.int64))

    @classmethod
    def one(cls, n_rows: int) -> Self:
        """All rows in one group."""
        return cls(np.array([n_rows] if n_rows else [], dtype=np.int64))

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def n_rows(self) -> int:
        """Number of all rows."""
        return int(self.ends[-1]) if len(self.ends) else 0

    @property
    def starts(self) -> Indices:
        """Number of rows before each group."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64) if len(self.ends) else self.ends

    @property
    def sizes(self) -> Indices:
        """Number of rows of each group."""
        return self.ends - self.starts

    @property
    def members(self) -> Indices:
        """Number of the group of each row, side by side."""
        return np.repeat(np.arange(len(self.ends)), self.sizes)

    def rows_of(self, some: NDArray[np.intp]) -> tuple[Indices, RowGroups]:
        """The rows of some groups, in the order of ``some``, and these groups by themselves, side by side."""
        starts, sizes = self.starts[some], self.sizes[some]
        ends = np.cumsum(sizes).astype(np.int64)
        places = np.arange(int(sizes.sum())) + np.repeat(starts - (ends - sizes), sizes)
        return (places if self.rows is None else self.rows[places]).astype(np.int64), RowGroups(ends)

    def spread(self, values: NDArray[np.generic]) -> NDArray[np.generic]:
        """Bring values of rows that stand side by side to the places of these rows."""
        if self.rows is None:
            return values
        found = np.empty_like(values)
        found[self.rows] = values
        return found
