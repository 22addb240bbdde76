"""The race of a ranking plan: trees in stages, after which rows leave, and their engine."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import _core
from ..engine import Stages
from ..sources import Conversion, Source, source_of
from ..utils.deadlines import checked_deadline
from ..utils.reals import as_float
from .groups import Indices, RowGroups
from .measures import Floats


class Limits(NamedTuple):
    """What a group may take.

    Attributes
    ----------
    budget : float, default=math.inf
        Trees of a row, on average over the rows of the group.
    deadline : float, default=math.inf
        Seconds of the group.
    """

    budget: float = math.inf
    deadline: float = math.inf

    @classmethod
    def of(cls, budget: Any, deadline: Any, stage_costs: Floats) -> Self | None:
        """Check limits that a caller gave; None where they limit nothing.

        Raises
        ------
        ValueError, TypeError
            If they are not positive numbers, or the budget is below the cost of the first stage.
        """
        if budget is not None and (isinstance(budget, bool) or not isinstance(budget, Real)):
            raise TypeError(f"budget must be a number. Got {budget!r} instead.")
        budget = None if budget is None else as_float(budget)
        seconds = checked_deadline(deadline)
        if budget is not None and not budget >= stage_costs[0]:
            first = "the cost of the first stage" if len(stage_costs) > 1 else "since every row is evaluated in full"
            raise ValueError(f"budget must be at least {stage_costs[0]:g}, {first}. Got {budget!r} instead.")
        enough = budget is None or budget >= stage_costs[-1]
        if enough and seconds == math.inf:
            return None
        return cls(math.inf if budget is None or enough else float(budget), seconds)


@dataclass(frozen=True, eq=False)
class RankingPlan:
    """Early exit for the first ``k`` rows of a group, in plain arrays.

    Attributes
    ----------
    k : int
    q : float
        A row leaves when its estimate lies more than ``q`` of its usual errors below the k-th best of its group;
        infinite where no row leaves.
    terms : int64 ndarray
        Trees in the order of the early stages.
    stages : Stages
        Estimates of the early stages, from running sums.
    usual : float64 ndarray of shape (n_stages,)
        Usual error of each stage's estimates, near the k-th best row.
    n_trees : int
        Trees of the model: what a row costs that stays.
    """

    k: int
    q: float
    terms: Indices
    stages: Stages
    usual: Floats
    n_trees: int

    @property
    def stage_costs(self) -> Floats:
        """Trees of a row that leaves at each stage, and last of one that stays and is evaluated in full."""
        return np.append(self.stages.terms, self.n_trees).astype(np.float64)

    def at(self, q: float) -> RankingPlan:
        """The same plan with another ``q``."""
        return replace(self, q=q)

    def __repr__(self) -> str:
        after = ", ".join(str(m) for m in self.stages.terms.tolist())
        return f"RankingPlan(k={self.k}, q={self.q:.3g}, stages after {after} of {self.n_trees} trees)"


class Race:
    """A plan on packed trees; immutable, so that threads may share it.

    Parameters
    ----------
    core : Model
        The packed trees, in any order.
    plan : RankingPlan
    conversion : Conversion
        Of rows that the engine does not read in place.
    """

    def __init__(self, core: _core.Model, plan: RankingPlan, conversion: Conversion) -> None:
        self.plan, self.conversion = plan, conversion
        self._core = _core.GroupRace(core.reordered(plan.terms), plan.stages, plan.usual)

    def at(self, q: float) -> Race:
        """The same race with another ``q``; the engine is shared."""
        other = object.__new__(Race)
        other.__dict__.update(self.__dict__, plan=self.plan.at(q))
        return other

    def rank(self, source: Source, groups: RowGroups, n_threads: int) -> tuple[Floats, NDArray[np.int32]]:
        """Scores of rows, and the stage at which each has left.

        Parameters
        ----------
        source : Source
            Preprocessed rows.
        groups : RowGroups
        n_threads : int

        Returns
        -------
        scores : float64 ndarray of shape (n_rows,)
            Full scores of rows that stay, and NaN where these hold values that the engine refuses; estimates of the
            others, below the scores of those of their group that stay.
        stages : int32 ndarray of shape (n_rows,)
            The number of stages for a row that stays.
        """
        if groups.n_rows == 0:
            return np.zeros(0), np.zeros(0, dtype=np.int32)
        scores, stages = self._core.rank(
            self._side_by_side(source, groups), groups.ends, self.plan.k, self.plan.q, n_threads
        )
        if groups.rows is None:
            return scores, stages
        found, left = np.empty_like(scores), np.empty_like(stages)
        found[groups.rows], left[groups.rows] = scores, stages
        return found, left

    def rank_within(
        self, source: Source, groups: RowGroups, limits: Limits, n_threads: int
    ) -> tuple[Floats, NDArray[np.int32], NDArray[np.bool_]]:
        """The same within limits, and which rows were left undecided by them.

        Returns
        -------
        scores : float64 ndarray of shape (n_rows,)
            Those of undecided rows lie below the full scores of their group, and above those of rows that left.
        stages : int32 ndarray of shape (n_rows,)
            Of an undecided row, the last stage that it took.
        undecided : bool ndarray of shape (n_rows,)
        """
        if groups.n_rows == 0:
            return np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0, dtype=bool)
        found = self._core.rank_within(
            self._side_by_side(source, groups), groups.ends, self.plan.k, self.plan.q, *limits, n_threads
        )
        scores, stages, undecided = (groups.spread(values) for values in found)
        return scores.astype(np.float64), stages.astype(np.int32), undecided.astype(bool)

    def trace(self, source: Source, n_threads: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Estimates of every stage and their usual errors, (n_rows, n_stages); no row leaves."""
        return self._core.trace(self._rows(source), n_threads)

    def _side_by_side(self, source: Source, groups: RowGroups) -> _core.Rows:
        """Rows of a source, group after group."""
        rows = self._rows(source)
        if groups.rows is not None:
            rows.take(groups.rows)
        return rows

    def _rows(self, source: Source) -> _core.Rows:
        """All rows in one block: a group must not be cut."""
        block = next(iter(source.blocks(self.conversion)))
        if len(block) < source.n_rows:
            whole: Any = source_of(source.array(self.conversion))
            block = next(iter(whole.blocks(self.conversion)))
        if len(block) < source.n_rows:
            raise ValueError(f"{type(source).__name__} gives its rows in pieces, across which groups cannot race.")
        rows: _core.Rows = block.filled().rows
        return rows
