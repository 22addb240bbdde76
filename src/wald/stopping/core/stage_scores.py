"""Scores of rows at the stages of a plan, where each row would leave, and what it would lose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...outputs import Output
from ...utils.exits import exits
from ...utils.stage_table import CodeArray, FloatArray, StageTable

IndexArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False, kw_only=True)
class StageScores(StageTable):
    """The engine's scores of some rows at each of T early stages, and the answers of full evaluation.

    Parameters
    ----------
    full : int32 array of shape (N,)
        The full model's answers.
    margins : float32 or float64 array of shape (N, T)
        What is compared with the thresholds, bit for bit as the engine computed it; see `StageTable`.
    answers : int32 array of shape (N, T) or None, default=None
        One-sided: the answer of each estimate.
    losses : float64 array of shape (N, T) or None, default=None
        One-sided: loss, from 0 to 1, of leaving at each stage; None: 1 where the answer is not that of the full model.
    truth : int32 array of shape (N,) or None, default=None
        Codes of true labels, for `certify` and `measure`: a row then loses 1 where leaving is wrong and the full model
        right, and -1 where it is the other way round. -1: a label that the model does not know. Not with losses.

    Raises
    ------
    ValueError
        If shapes differ.

    Examples
    --------
    >>> import numpy as np
    >>> margins = np.array([[0.2, 3.0], [-4.0, -1.0], [0.1, np.nan]])
    >>> stage_scores = StageScores(full=np.array([1, 0, 0]), margins=margins)
    >>> answers, stage = stage_scores.leave(np.array([-2.0, -2.0]), np.array([2.0, 2.0]))
    >>> answers.tolist(), stage.tolist()
    ([1, 0, 0], [1, 0, 2])
    """

    full: CodeArray
    losses: FloatArray | None = None
    truth: CodeArray | None = None

    def __post_init__(self) -> None:
        shape = self.margins.shape
        if len(shape) != 2 or self.full.shape != shape[:1]:
            raise ValueError(
                f"StageScores needs (N, T) margins and (N,) full answers. Got {shape} and {self.full.shape}."
            )
        for name in ("answers", "losses"):
            table = getattr(self, name)
            if table is not None and (table.shape != shape or self.answers is None):
                raise ValueError(
                    f"The {name} must have the shape of the margins, {shape}, and losses go with answers. "
                    f"Got {table.shape}."
                )
        if self.truth is not None and (self.truth.shape != self.full.shape or self.losses is not None):
            raise ValueError(
                f"StageScores needs (N,) true labels, and takes them without losses. Got {self.truth.shape} for "
                f"{len(self.full)} rows."
            )

    @property
    def right(self) -> CodeArray:
        """By what rows belong to the strata of a promise: true labels where given, or the full model's answers."""
        return self.full if self.truth is None else self.truth

    @classmethod
    def of(cls, table: StageTable, full: CodeArray, output: Output | None = None) -> StageScores:
        """The engine's table with the full model's answers, and the losses of an output that has its own."""
        losses = None
        if output is not None and table.answers is not None and output.has_own_losses:
            losses = np.column_stack(
                [np.empty((len(full), 0)), *(output.losses(early, full) for early in table.answers.T)]
            )
        return StageScores(full=full, margins=table.margins, answers=table.answers, losses=losses)

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

        return cls(**{name: joined(name) for name in _COLUMNS})

    def take(self, rows: npt.NDArray[Any]) -> StageScores:
        """Keep some rows only, given by indices or by a mask."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        some: dict[str, Any] = {name: None if column is None else column[rows] for name, column in columns.items()}
        return StageScores(**some)

    def astype(self, dtype: npt.DTypeLike) -> StageScores:
        """Round the margins to another precision."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in _COLUMNS}
        return StageScores(**columns | {"margins": self.margins.astype(dtype)})

    def leave(self, low: FloatArray, high: FloatArray) -> tuple[CodeArray, IndexArray]:
        """Let every row leave at the first stage that allows it.

        Two-sided: with the answer 1 when ``margin > high``, and with 0 when ``margin < low``. One-sided: with the
        stage's answer when ``margin > high``. Both comparisons are strict, so NaN never leaves early.

        Parameters
        ----------
        low, high : arrays of shape (T,), in the dtype of the stage scores
            As `Boundary.thresholds` returns them. One-sided does not use `low`.

        Returns
        -------
        answers : int32 array of shape (N,)
            Rows that never leave get the full model's.
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
        answers = self.full.astype(np.int32)
        stage = np.full(self.n_rows, self.n_stages, dtype=np.intp)
        leaves, above = exits(self.margins, low if self.two_sided else None, high)
        rows = np.flatnonzero(leaves.any(axis=1))
        if rows.size:
            first = leaves[rows].argmax(axis=1)
            stage[rows] = first
            answers[rows] = above[rows, first] if self.answers is None else self.answers[rows, first]
        return answers, stage

    def leave_along(self, low: FloatArray, high: FloatArray) -> tuple[CodeArray, IndexArray]:
        """Let every row leave, for each of several pairs of thresholds at once.

        Parameters
        ----------
        low, high : arrays of shape (n_pairs, T)
            As `Boundary.thresholds_along` returns them.

        Returns
        -------
        answers, stage : arrays of shape (n_pairs, N)
            For each pair what `leave` returns.
        """
        if not self.margins.size:
            shape = len(high), self.n_rows
            return np.broadcast_to(self.full, shape), np.full(shape, self.n_stages, dtype=np.intp)
        leaves, above = exits(self.margins, low[:, None] if self.two_sided else None, high[:, None])
        first = leaves.argmax(axis=2)
        left = np.take_along_axis(leaves, first[:, :, None], axis=2)[:, :, 0]
        if self.answers is None:
            given = np.take_along_axis(above, first[:, :, None], axis=2)[:, :, 0].astype(np.int32)
        else:
            given = self.answers[np.arange(self.n_rows), first]
        return np.where(left, given, self.full), np.where(left, first, self.n_stages)

    def lost(self, answers: CodeArray, stage: IndexArray) -> npt.NDArray[Any]:
        """Loss of each row, for what `leave` or `leave_along` returned.

        Booleans; numbers from 0 to 1 where losses are given; -1, 0 and 1 where true labels are.
        """
        if self.truth is not None:
            return self._worse(answers)
        if self.losses is None:
            return np.asarray(answers != self.full)
        early = stage < self.n_stages
        lost = np.zeros(stage.shape)
        lost[early] = self.losses[np.nonzero(early)[-1], stage[early]]
        return lost

    def lost_at(self, t: int, above: bool = True) -> npt.NDArray[Any]:
        """Loss of leaving at stage `t`; two-sided, above the high threshold or below the low one."""
        if self.truth is not None:
            return self._worse(np.int32(above) if self.answers is None else self.answers[:, t])
        if self.answers is None:
            return np.asarray(self.full != above)
        return np.asarray(self.answers[:, t] != self.full if self.losses is None else self.losses[:, t])

    def _worse(self, answers: Any) -> npt.NDArray[np.int8]:
        """1 where answers are wrong and the full model's right, -1 the other way round, else 0."""
        wrong, own = answers != self.truth, self.full != self.truth
        return np.asarray(wrong, dtype=np.int8) - np.asarray(own, dtype=np.int8)


_COLUMNS = ("full", "margins", "answers", "losses", "truth")
