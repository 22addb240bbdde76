"""Costs of evaluation: in measured and rounded seconds, or in units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from .. import _core
from .moments import Floats
from .order import Ints

#: The engine reads rows that are stored by columns one by one once fewer than one row in `SPARSE` is active.
SPARSE: int = _core.LIMITS["sparse_share"]


@dataclass(frozen=True)
class CostModel:
    """Expected cost of a row, by which plans are compared.

    A row costs ``row`` once. Each stage that it reaches costs ``unit`` for every unit of cost evaluated there (whole
    blocks of ``block`` terms), ``readout`` for every term and output in the estimate, and ``stage``. Full evaluation
    costs ``finish`` for the last step. Evaluating everything with the wrapped model itself costs ``full``.

    Parameters
    ----------
    row, unit, readout, stage : float
        In seconds, or in any other unit.
    full : float
        Cost of one row under the wrapped model.
    block : int, default=1
        Terms that the engine evaluates at a time.
    finish : float or None, default=None
        Cost of the terms after the last stage; None: ``unit`` for every unit left.
    margin : float, default=1.0
        A plan is used if its expected cost is below this share of ``full``.
    rows_per_line : int, default=1
        Number of neighbouring rows whose values of a unit are read from memory together, as in a cache line of a
        column. All of them cost while one of them is active. Above 1, the rule "ladder" is bolder at late stages.
    by_columns : bool, default=False
        Whether the engine evaluates many rows column by column. Then a stage costs for all rows while more than one row
        in ``SPARSE`` is active; after that, each active row costs ``readout`` for every new term in every later
        estimate.
    branches : tuple of (int, float), default=()
        For each branch of a pipeline that runs late: how many terms of the plan's order it takes to need it, and its
        time, which rows cost besides that reach a stage of so many terms.

    Examples
    --------
    >>> CostModel(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=100.0).rounded().full
    107.63474115247546
    """

    row: float
    unit: float
    readout: float
    stage: float
    full: float
    block: int = 1
    finish: float | None = None
    margin: float = 1.0
    rows_per_line: int = 1
    by_columns: bool = False
    branches: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        for name in ("block", "rows_per_line"):
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not (isinstance(value, Integral) and int(value) >= 1):
                raise ValueError(f"CostModel.{name} must be a whole number of at least 1. Got {value!r} instead.")
        if not isinstance(self.by_columns, bool):
            raise ValueError(f"CostModel.by_columns must be True or False. Got {self.by_columns!r} instead.")
        for name in ("row", "unit", "readout", "stage", "full", "finish", "margin"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"CostModel.{name} must be finite and not negative. Got {value!r} instead.")
        if not all(first >= 1 and math.isfinite(time) and time >= 0 for first, time in self.branches):
            raise ValueError(f"CostModel.branches must be numbers of terms and times. Got {self.branches!r} instead.")

    @classmethod
    def of_units(cls, total: float) -> CostModel:
        """Count only units (or the user's feature costs)."""
        return cls(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=total)

    def worthwhile(self, expected: float) -> bool:
        """Whether a plan of this expected cost is preferred to the wrapped model itself."""
        return expected < self.margin * self.full

    def scaled(self, factor: float) -> CostModel:
        """Multiply the costs of a plan, but not that of the wrapped model."""
        return replace(
            self,
            row=self.row * factor,
            unit=self.unit * factor,
            readout=self.readout * factor,
            stage=self.stage * factor,
            finish=None if self.finish is None else self.finish * factor,
            branches=tuple((first, time * factor) for first, time in self.branches),
        )

    def rounded(self) -> CostModel:
        """Round to powers of 2^(1/4), so that small changes in measured times do not change the plan."""

        def to_power(value: float) -> float:
            return 2.0 ** (round(4 * math.log2(value)) / 4) if value > 0 else 0.0

        return replace(
            self,
            row=to_power(self.row),
            unit=to_power(self.unit),
            readout=to_power(self.readout),
            stage=to_power(self.stage),
            full=to_power(self.full),
            finish=None if self.finish is None else to_power(self.finish),
        )

    def expected(self, stage_terms: Ints, stage_costs: Floats, reached: Floats, n_outputs: int) -> float:
        """Expected cost of a row of a plan.

        Parameters
        ----------
        stage_terms : ndarray of shape (T,)
            Terms at each early stage.
        stage_costs : ndarray of shape (T + 1,)
            Cumulative cost in units; the last one is the cost of full evaluation.
        reached : ndarray of shape (T + 1,)
            Share of the rows that reach each stage; ``reached[T]`` of them are evaluated in full.
        n_outputs : int
        """
        added = np.diff(stage_costs, prepend=0.0)
        if self.block > 1:  # a block is evaluated whole
            ends = -(-stage_costs // self.block) * self.block
            added = np.diff(ends, prepend=0.0)
        if self.by_columns:
            at_stages = self._stages_over_columns(np.asarray(stage_terms), reached)
        else:
            at_stages = float(reached[:-1] @ (self.readout * np.asarray(stage_terms) * n_outputs + self.stage))
        read = reached if self.rows_per_line == 1 else 1.0 - (1.0 - reached) ** self.rows_per_line
        last = self.unit * added[-1] * read[-1]
        if self.finish is not None:
            last = reached[-1] * self.finish if self.rows_per_line == 1 else max(last, reached[-1] * self.finish)
        needing = (int(np.searchsorted(stage_terms, first)) for first, _ in self.branches)
        late = sum(time * reached[stage] for stage, (_, time) in zip(needing, self.branches, strict=True))
        return float(self.row + self.unit * (read[:-1] @ added[:-1]) + at_stages + last + late)

    def _stages_over_columns(self, stage_terms: Ints, reached: Floats) -> float:
        dense = int(np.count_nonzero(reached[:-1] * SPARSE > 1))  # stages that cost for all rows
        for_all = self.readout * stage_terms[:dense].sum() + self.stage * dense
        to_come = np.arange(len(stage_terms) - dense, 0, -1)
        new = np.diff(stage_terms[dense:], prepend=0)  # single rows start at the first term
        return float(for_all + reached[dense:-1] @ (self.readout * new * to_come + self.stage))


def geometric(first: int, last: int, ratio: float, multiple: int = 1) -> list[int]:
    """Whole numbers from ``first`` to ``last``, growing by about ``ratio``, each a multiple of ``multiple``."""
    stages: list[int] = []
    value = float(first)
    while value <= last:
        stage = max(multiple, round(value / multiple) * multiple)
        if stage <= last and (not stages or stage > stages[-1]):
            stages.append(stage)
        value = max(value * ratio, value + multiple * 0.5)
    return stages


def thinned(stages: Sequence[int], ratio: float, first: int = 0) -> list[int]:
    """Keep stages from ``first`` on that are at least ``ratio`` times the one kept before."""
    kept: list[int] = []
    for stage in stages:
        if stage >= first and (not kept or stage >= ratio * kept[-1]):
            kept.append(stage)
    return kept
