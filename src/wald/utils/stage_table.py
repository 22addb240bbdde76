"""What the stages of a plan say of rows, as the engine gives it and as promises are counted on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.floating[Any]]
CodeArray = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, kw_only=True)
class StageTable:
    """Estimates of some rows at each of T early stages, without exits.

    Attributes
    ----------
    margins : float32 or float64 array of shape (N, T)
        What is compared with the thresholds. Two-sided: the estimate itself, standardized where the readout has a
        spread. One-sided: how far the estimate lies from another answer. An engine gives the estimates themselves,
        without answers, where rows leave by the margin of one score; `wald.early_exit` judges them.
    answers : int32 array of shape (N, T) or None, default=None
        One-sided: the answer of each estimate. None: two-sided; a row leaves with 1 above the high threshold, and with
        0 below the low one.
    """

    margins: FloatArray
    answers: CodeArray | None = None

    @property
    def two_sided(self) -> bool:
        """Whether margins are compared with two thresholds, rather than with one."""
        return self.answers is None

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.margins.shape[0])

    @property
    def n_stages(self) -> int:
        """Number of early stages T."""
        return int(self.margins.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which thresholds are compared."""
        return self.margins.dtype
