"""Late materialisation: a row group's columns are read step by step, as long as some of its rows are undecided."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

#: The first step reads columns of at most this share of the bytes, and later ones so many times the step before.
AT_FIRST, GROWTH = 0.02, 1.5
#: Steps are worth it if the columns of the first stage have at most this share.
MOST = 0.5


class Steps:
    """Chooses after which stages rows are looked at, and which columns that takes.

    Parameters
    ----------
    by_stage : list of ndarray or None
        Columns that the first 1, 2, ... stages read, and last those of all terms; None if rows are read whole.
    n_features : int
    n_stages : int
        Stages that a call reaches.
    """

    def __init__(self, by_stage: list[NDArray[np.intp]] | None, n_features: int, n_stages: int) -> None:
        self._every: NDArray[np.intp] = np.arange(n_features) if by_stage is None else by_stage[-1]
        self._by_stage = [] if by_stage is None else by_stage[:-1][:n_stages]

    def choose(self, sizes: NDArray[np.int64]) -> list[int]:
        """Numbers of stages, one for each step; the last is 0, which stands for all columns.

        Parameters
        ----------
        sizes : ndarray of shape (n_features,)
            Bytes of each column.
        """
        total = max(1, int(sizes[self._every].sum()))
        shares = [int(sizes[columns].sum()) / total for columns in self._by_stage]
        steps: list[int] = []
        limit = AT_FIRST
        for depth, share in enumerate(shares, 1):
            last = depth == len(shares) or shares[depth] > max(limit, shares[0])
            if share > MOST or not last:
                continue
            steps.append(depth)
            limit = GROWTH * max(share, limit)
        return [*steps, 0]

    def columns(self, depth: int) -> NDArray[np.intp]:
        """Columns of the first stages; those of all terms at depth 0."""
        return self._by_stage[depth - 1] if depth else self._every
