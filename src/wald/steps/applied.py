"""Transformers of a ColumnTransformer or FeatureUnion that wald does not look into, run for their own columns alone."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..sources import Source
from .functions import ColumnFunction, Numeric, PartOfSum
from .later import Later
from .pieces import Piece
from .quick import quick

#: Largest number of columns that such a transformer may write: each of them becomes an array.
MOST_WRITTEN = 1024


class Applied(PartOfSum):
    """A fitted transformer of these that runs as it is, for the columns that it reads.

    It is assumed to write each row by itself, as of all transformers.

    Parameters
    ----------
    piece : Piece
    later : Later
        Transformers after the ColumnTransformer.

    Attributes
    ----------
    name : str
    first : int
        Number of the first column that is written.
    width : int
    """

    together = True

    def __init__(self, piece: Piece, later: Later) -> None:
        self.name, self.transformer, _ = piece.part
        self.columns, self.later = piece.reads, later
        self.first, self.width = later.first, len(later.kept)
        # A ColumnTransformer of this transformer alone selects its columns, weighs what it writes, and converts that.
        self._front = copy.copy(quick(piece.alone()))
        self._front.n_jobs = None
        self._writes_sparse = bool(getattr(self._front, "sparse_output_", False))
        self._dense = copy.copy(self._front)
        self._dense.sparse_output_ = False  # scipy stacks no dense block that stands alone

    def arrays(self, source: Source, zeros_are_missing: bool = False) -> list[NDArray[Any]] | None:
        """The columns that are written for rows, each as an array; None if the whole chain must do it.

        Parameters
        ----------
        source : Source
        zeros_are_missing : bool, default=False
            Whether the model tells zeros that sparse rows hold from those that they do not hold.
        """
        table = self._transformed(source.rows, zeros_are_missing)
        if sparse.issparse(table):
            if zeros_are_missing and not table.data.all():
                return None
            table = table.toarray()
        table = np.asarray(table)
        if table.dtype.kind not in "biuf" or table.dtype.itemsize > 8 or table.dtype == np.float16:
            return None
        table = self.later.transform(table)
        return list(np.ascontiguousarray(table.T)) if table.shape == (source.n_rows, self.width) else None

    def _transformed(self, rows: Any, as_sparse: bool) -> Any:
        """What the transformer writes: sparse where that is asked for, and where it writes sparse rows."""
        if as_sparse and self._writes_sparse:
            try:
                return self._front.transform(rows)
            except ValueError:  # it writes an array, or refuses the rows
                table = self._dense.transform(rows)
                self._writes_sparse = False
                return table
        return self._dense.transform(rows)

    # ---- sums of columns -------------------------------------------------------------------------------------------

    @property
    def sources(self) -> list[int]:
        """The raw column of each column that a sum reads."""
        return (self.columns if len(self.columns) == 1 else [-1]) * self.width

    def functions(self, first: int) -> list[ColumnFunction]:
        """What it writes as functions of columns of a sum, from number `first` on: each is a column as it is."""
        one, nothing = np.ones(1), np.zeros(1)
        return [Numeric(first + k, one, nothing, None, np.array([self.first + k])) for k in range(self.width)]

    def reader(
        self, source: Source, places: list[int], rows: NDArray[np.int64] | None = None
    ) -> Callable[[int], NDArray[Any]] | None:
        """What gives the k-th column that it writes, as all of them at once; parameters as for `Tables`."""
        columns = self.arrays(source if rows is None else source.take(rows))
        return None if columns is None else columns.__getitem__
