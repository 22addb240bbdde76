"""The stages at which served rows leave, compared with those of the rows of ``fit``."""

from __future__ import annotations

import math
from collections.abc import Sequence

from .evidence import log_shift_evidence
from .windows import SHORTEST, Windows

#: Probability that rows like those of ``fit`` are ever found to be of another kind, over a stream of any length.
DOUBTFUL_LEVEL = 0.02
#: The shares of the stages are tested again after so many rows, those of all rows when these have grown by the factor.
_GROWTH, _ROWS = 1.01, 50
#: Neighbouring stages are tested together until they have this share of the rows of ``fit``.
_SHARE = 0.05


class Shares:
    """Counts of rows by stage, and whether they differ from those of the rows of ``fit``.

    Parameters
    ----------
    reference : list of int of length T + 1
        Rows of ``fit`` by stage; all zero if there were none, and then nothing is tested.

    Attributes
    ----------
    counts : list of int of length T + 1
        Served rows by stage.
    n_rows : int
        Their sum.
    next_test : int
        Number of rows at which the shares are tested again.
    """

    def __init__(self, reference: list[int]) -> None:
        self.reference, self._group = reference, _groups(reference)
        self.counts, self.n_rows = [0] * len(reference), 0
        self.begin()

    def begin(self) -> None:
        """Begin the windows at the present counts."""
        self.next_test, self._next_whole_test = self.n_rows + _ROWS, 0.0
        self._windows = Windows([self.n_rows, *self.counts])

    def add(self, counts: Sequence[int]) -> None:
        """Count rows by stage."""
        self.counts = [old + new for old, new in zip(self.counts, counts, strict=True)]
        self.n_rows += sum(counts)

    def add_one(self, stage: int) -> None:
        """Count one row."""
        self.counts[stage] += 1
        self.n_rows += 1

    def shifted(self) -> bool:
        """Whether it is time for a test, and rows, all or those of a full window, left at other stages than in fit."""
        if self.n_rows < self.next_test:
            return False
        self.next_test = self.n_rows + (_ROWS if self.n_rows < SHORTEST else SHORTEST)
        if not sum(self.reference):
            return False
        totals, limit = [self.n_rows, *self.counts], math.log(2.0 / DOUBTFUL_LEVEL)
        tested = list(self._windows.closing(totals))
        if self.n_rows >= self._next_whole_test:
            self._next_whole_test = self.n_rows * _GROWTH
            tested.append(([*totals], 0.0))
        return any(self.evidence(counts[1:]) >= limit + price for counts, price in tested)

    def evidence(self, counts: Sequence[float]) -> float:
        """Evidence that rows with these counts fall into stages with other probabilities than the rows of fit."""
        if not sum(self.reference):
            return 0.0
        return log_shift_evidence(self._grouped(counts), self._grouped(self.reference))

    def _grouped(self, counts: Sequence[float]) -> list[float]:
        grouped: list[float] = [0] * (self._group[0] + 1)
        for group, count in zip(self._group, counts, strict=True):
            grouped[group] += count
        return grouped


def _groups(reference: Sequence[int]) -> list[int]:
    """Number of the group of each stage; the last stages are in group 0.

    Stages that few rows reach are tested together: each group that is told apart takes evidence.
    """
    least = _SHARE * sum(reference)
    groups: list[int] = []
    group, rows = 0, 0
    for count in reversed(reference):
        groups.append(group)
        rows += count
        if rows >= least > 0:
            group, rows = group + 1, 0
    if rows < least and group and groups[-1] == group:  # the first stages are too few for a group of their own
        groups = [min(g, group - 1) for g in groups]
    return groups[::-1]
