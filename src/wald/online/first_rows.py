"""The first rows of a stream, kept until there are enough for quantiles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse


class Chunk(NamedTuple):
    """Rows with their class codes and weights."""

    X: Any
    codes: NDArray[np.intp]
    sample_weight: NDArray[np.float64] | None
    class_weights: NDArray[np.float64]

    def part(self, rows: slice) -> Chunk:
        """Return the chunk of these rows."""
        weight = None if self.sample_weight is None else self.sample_weight[rows]
        return Chunk(self.X[rows], self.codes[rows], weight, self.class_weights)


class FirstRows:
    """Copies of a stream's first chunks, up to a number of rows.

    Parameters
    ----------
    n_rows : int
        How many rows to keep.
    """

    def __init__(self, n_rows: int) -> None:
        self.lacking = n_rows
        self.chunks: list[Chunk] = []

    def __copy__(self) -> FirstRows:
        """Copy the list of chunks, but not the rows."""
        made = FirstRows(self.lacking)
        made.chunks = list(self.chunks)
        return made

    def take(self, chunk: Chunk, dtype: np.dtype[Any]) -> Chunk:
        """Keep as many rows as are lacking, and return the others."""
        X, codes, weight, class_weights = chunk.part(slice(0, self.lacking))
        self.chunks.append(
            Chunk(X.astype(dtype), codes.copy(), None if weight is None else weight.copy(), class_weights)
        )
        rest = chunk.part(slice(self.lacking, None))
        self.lacking -= X.shape[0]
        return rest

    def rows(self) -> Any:
        """Return all kept rows as one matrix."""
        blocks = [chunk.X for chunk in self.chunks]
        if any(sparse.issparse(block) for block in blocks):
            return sparse.vstack(blocks, format="csr")
        return np.concatenate(blocks)
