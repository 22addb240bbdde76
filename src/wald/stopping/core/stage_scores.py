"""Scores of rows at the stages of a plan, and the stage at which each row would leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...utils.exits import exits
from ...utils.stage_table import CodeArray, FloatArray, StageTable

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class StageScores(StageTable):
    """The engine's scores of some rows at each of T early stages.

    A binary model is described by `scores`, a multiclass one by `codes` and `confidence`.

    Parameters
    ----------
    full : int32 array of shape (N,)
        The full model's codes.
    scores : float32 or float64 array of shape (N, T), optional
        Binary: the readout's score at each stage, bit for bit as the engine computed it.
    codes : int32 array of shape (N, T), optional
        Multiclass: the label that each stage would answer.
    confidence : float32 or float64 array of shape (N, T), optional
        Multiclass: confidence of this label, which is compared with the threshold.

    Raises
    ------
    ValueError
        If neither description is complete, or if shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.2, 3.0], [-4.0, -1.0], [0.1, np.nan]])
    >>> stage_scores = StageScores(full=np.array([1, 0, 0]), scores=scores)
    >>> codes, stage = stage_scores.answers(np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
    >>> codes.tolist(), stage.tolist()
    ([1, 0, 0], [1, 0, 2])
    """

    full: CodeArray

    def __post_init__(self) -> None:
        if self.scores is None and (self.codes is None or self.confidence is None):
            raise ValueError("StageScores needs 'scores' (binary), or 'codes' and 'confidence' (multiclass).")
        shape = self.judged.shape
        if len(shape) != 2 or self.full.shape != shape[:1]:
            raise ValueError(
                f"StageScores needs (N, T) scores or confidences and (N,) full codes. "
                f"Got {shape} and {self.full.shape}."
            )
        if not self.binary and self.codes is not None and self.codes.shape != shape:
            raise ValueError(f"Codes and confidence must have one shape. Got {self.codes.shape} and {shape}.")

    @classmethod
    def of(cls, table: StageTable, full: CodeArray) -> StageScores:
        """The engine's table with the full model's codes."""
        return StageScores(full=full, scores=table.scores, codes=table.codes, confidence=table.confidence)

    @classmethod
    def concatenated(cls, parts: Sequence[StageScores]) -> StageScores:
        """Concatenate the stage scores of several sets of rows.

        Parameters
        ----------
        parts : sequence of StageScores
            Stage scores of the same stages.

        Returns
        -------
        StageScores
        """

        def joined(name: str) -> Any:
            columns = [getattr(part, name) for part in parts]
            return None if columns[0] is None else np.concatenate(columns)

        return cls(full=joined("full"), scores=joined("scores"), codes=joined("codes"), confidence=joined("confidence"))

    def take(self, rows: npt.NDArray[Any]) -> StageScores:
        """Keep some rows only, given by indices or by a mask."""
        return StageScores(
            full=self.full[rows],
            scores=None if self.scores is None else self.scores[rows],
            codes=None if self.codes is None else self.codes[rows],
            confidence=None if self.confidence is None else self.confidence[rows],
        )

    def astype(self, dtype: npt.DTypeLike) -> StageScores:
        """Round scores or confidences to another precision."""
        return StageScores(
            full=self.full,
            scores=None if self.scores is None else self.scores.astype(dtype),
            codes=self.codes,
            confidence=None if self.confidence is None else self.confidence.astype(dtype),
        )

    def answers(self, low: FloatArray, high: FloatArray) -> tuple[CodeArray, IndexArray]:
        """Let every row leave at the first stage that allows it.

        Binary: as code 1 when ``score > high``, as code 0 when ``score < low``. Multiclass: with the stage's
        own code when ``confidence > high``. Both comparisons are strict, so NaN never leaves early.

        Parameters
        ----------
        low, high : arrays of shape (T,), in the dtype of the stage scores
            As `Boundary.thresholds` returns them. Multiclass does not use `low`.

        Returns
        -------
        codes : int32 array of shape (N,)
            The answers; rows that never leave get the full model's.
        stage : intp array of shape (N,)
            The stage at which a row left; T stands for the full model.

        Raises
        ------
        TypeError
            If the thresholds have another dtype: NumPy would then compare in a precision that the engine does
            not use.
        """
        if low.dtype != self.dtype or high.dtype != self.dtype:
            raise TypeError(
                f"Thresholds must be {self.dtype}, as the stage scores are. Got {low.dtype} and {high.dtype}."
            )
        codes = self.full.astype(np.int32)
        stage = np.full(self.n_rows, self.n_stages, dtype=np.intp)
        leaves, above = exits(self.judged, low if self.binary else None, high)
        rows = np.flatnonzero(leaves.any(axis=1))
        if rows.size:
            first = leaves[rows].argmax(axis=1)
            stage[rows] = first
            codes[rows] = above[rows, first] if self.codes is None or self.binary else self.codes[rows, first]
        return codes, stage
