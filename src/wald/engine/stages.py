"""The stages of a plan as engines take them: plain arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

__all__ = ["LEAST_VARIANCE", "NO_STAGES", "Readout", "RunningSums", "Stages"]

#: The variance of an estimate's error is at least this share of the usual one.
LEAST_VARIANCE = 0.2


@dataclass(frozen=True, eq=False)
class Readout:
    """One stage's estimates: ``bias + weights @ values``.

    Parameters
    ----------
    weights : float64 ndarray of shape (n_outputs, m)
        Weights of the values of the first m terms; where stages share running sums, of these.
    bias : float64 ndarray of shape (n_outputs,)
    spread : float64 ndarray of shape (m,) or (n_sums,) or None, default=None
        Only with one output, and without running sums only where rows leave by a margin: weights of the terms, or of
        the sums, in the variance of the estimate's error, relative to the usual one. The estimate's distance to the
        decision's threshold, or its margin, is divided by its square root. None: it is 1.
    spread_bias : float, default=1.0
    """

    weights: Floats
    bias: Floats
    spread: Floats | None = None
    spread_bias: float = 1.0


@dataclass(frozen=True, eq=False)
class RunningSums:
    """Sums that rows carry from stage to stage, for each output of a tree ensemble.

    Each sum adds up the leaves of the output's own trees, times the weight of the tree, plus a correction of the leaf.

    Parameters
    ----------
    ends : int64 ndarray of shape (n_sums,)
        Number of trees in each sum, the first ones of the plan's order.
    weights : float64 ndarray of shape (n_sums, n_terms)
        Weights of the trees in the plan's order; 0 beyond the end of a sum.
    corrections : tuple of (float32 ndarray or None), one for each sum
        Corrections of the leaves of a sum's trees, one tree after the other; None: there are none.
    """

    ends: Ints
    weights: Floats
    corrections: tuple[NDArray[np.float32] | None, ...]

    @property
    def corrected(self) -> Floats | None:
        """Corrections of all sums (n_sums, n_leaves), padded with 0; None if there are none."""
        longest = max((0 if c is None else len(c) for c in self.corrections), default=0)
        if longest == 0:
            return None
        table = np.zeros((len(self.corrections), longest))
        for row, correction in zip(table, self.corrections, strict=True):
            if correction is not None:
                row[: len(correction)] = correction
        return table


@dataclass(frozen=True, eq=False)
class Stages:
    """The early stages of a plan.

    Parameters
    ----------
    terms : int64 ndarray of shape (T,)
        Number of terms seen at each stage.
    readouts : sequence of T Readout
    sums : RunningSums or None, default=None
        What the readouts weigh instead of terms.
    passes : int64 ndarray or None, default=None
        Only with running sums: numbers of stages at the ends of passes, each of which reads a row once. None: each
        stage is a pass.
    race : float64 ndarray of shape (T,) or None, default=None
        Only with running sums and a class for each output: a class whose estimate lies further than this behind the
        best one is dropped. Its trees are not evaluated any more, and it keeps its estimate. None: no class is dropped.
    """

    least_variance: ClassVar[float] = LEAST_VARIANCE

    terms: Ints
    readouts: Sequence[Readout]
    sums: RunningSums | None = None
    passes: Ints | None = None
    race: Floats | None = None

    def __len__(self) -> int:
        return len(self.terms)

    @property
    def has_spread(self) -> bool:
        """Whether some readouts know the spread of each row's error."""
        return any(r.spread is not None for r in self.readouts)

    def subset(self, keep: Sequence[int]) -> Stages:
        """Some of the stages, given by their indices, each of which is a pass."""
        chosen = list(keep)
        readouts = tuple(self.readouts[t] for t in chosen)
        race = None if self.race is None else self.race[chosen]
        return replace(self, terms=self.terms[chosen], readouts=readouts, passes=None, race=race)


#: No stages: rows are evaluated in full.
NO_STAGES = Stages(np.empty(0, dtype=np.int64), ())
