"""Rows of which only some columns are held."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class SomeColumns:
    """Rows of which only some columns are held, each as an array of its own.

    Parameters
    ----------
    n_rows : int
    columns : sequence of ndarray of shape (n_rows,) or None
        All of one dtype, which the engine reads in place; None for columns that are not held.
    dtype : dtype

    Examples
    --------
    >>> rows = SomeColumns(3, [np.arange(3.0), None], np.dtype(float))
    >>> rows.take(np.array([2])).array()
    array([[2., 0.]])
    """

    def __init__(self, n_rows: int, columns: Sequence[NDArray[Any] | None], dtype: np.dtype[Any]) -> None:
        self.shape, self.columns, self.dtype = (n_rows, len(columns)), columns, dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.array() if dtype is None else self.array().astype(dtype, copy=False)

    def array(self) -> NDArray[Any]:
        """Column-major array in which columns that are not held are 0."""
        held = [(c, values) for c, values in enumerate(self.columns) if values is not None]
        X = (np.empty if len(held) == len(self.columns) else np.zeros)(self.shape, dtype=self.dtype, order="F")
        for c, values in held:
            X[:, c] = values
        return X

    def take(self, indices: NDArray[np.intp]) -> SomeColumns:
        """Rows at the given indices."""
        columns = [None if values is None else values.take(indices) for values in self.columns]
        return SomeColumns(len(indices), columns, self.dtype)

    def beside(self, other: SomeColumns) -> SomeColumns:
        """The columns of both; those of `other` where both hold one."""
        columns = [a if b is None else b for a, b in zip(self.columns, other.columns, strict=True)]
        return SomeColumns(self.shape[0], columns, self.dtype)

    @staticmethod
    def one_after_another(parts: Sequence[SomeColumns]) -> SomeColumns:
        """The rows of all parts, which hold the same columns."""
        if len(parts) == 1:
            return parts[0]
        across = zip(*(part.columns for part in parts), strict=True)
        columns = [None if values[0] is None else np.concatenate(values) for values in across]
        return SomeColumns(sum(map(len, parts)), columns, parts[0].dtype)
