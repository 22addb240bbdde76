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

    A binary model is described by `scores`, a multiclass one by `codes` and `confidence`.

    Attributes
    ----------
    scores : float32 or float64 array of shape (N, T), optional
        Binary: the readout's score at each stage, standardized where the readout has a spread.
    codes : int32 array of shape (N, T), optional
        Multiclass: the label that each stage would answer.
    confidence : float32 or float64 array of shape (N, T), optional
        Multiclass: confidence of this label, which is compared with the threshold.
    """

    scores: FloatArray | None = None
    codes: CodeArray | None = None
    confidence: FloatArray | None = None

    @property
    def binary(self) -> bool:
        """Whether scores are compared with two thresholds, rather than confidences with one."""
        return self.scores is not None

    @property
    def judged(self) -> FloatArray:
        """Scores or confidences, which are compared with the thresholds, of shape (N, T)."""
        judged = self.confidence if self.scores is None else self.scores
        assert judged is not None
        return judged

    @property
    def n_rows(self) -> int:
        """Number of rows N."""
        return int(self.judged.shape[0])

    @property
    def n_stages(self) -> int:
        """Number of early stages T."""
        return int(self.judged.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The precision in which thresholds are compared."""
        return self.judged.dtype
