"""What evaluating costs: in seconds, measured and rounded, or in units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .moments import Floats
from .order import Ints


@dataclass(frozen=True)
class CostModel:
    """Expected cost of a row, by which plans are compared.

    A row pays ``row`` once. At each look that it reaches it pays ``unit`` for every unit of cost bought there (in
    whole blocks of ``block`` terms), ``readout`` for every term and output in the estimate, and ``stage``. A row that
    sees everything pays for the rest the same way. Evaluating everything with the wrapped model itself costs ``full``.

    Parameters
    ----------
    row, unit, readout, stage : float
        Seconds, or any one unit.
    full : float
        Cost of one row under the wrapped model.
    block : int, default=1
        Terms that the engine evaluates at a time.

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

    def __post_init__(self) -> None:
        for name in ("row", "unit", "readout", "stage", "full"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"CostModel.{name} must be finite and not negative. Got {value!r} instead.")

    @classmethod
    def of_units(cls, total: float) -> CostModel:
        """Count units (or the user's feature costs) and nothing else."""
        return cls(row=0.0, unit=1.0, readout=0.0, stage=0.0, full=total)

    def rounded(self) -> CostModel:
        """Round to powers of 2^(1/4), so that small changes in measured times leave the plan as it is."""

        def near(value: float) -> float:
            return 2.0 ** (round(4 * math.log2(value)) / 4) if value > 0 else 0.0

        return CostModel(
            near(self.row), near(self.unit), near(self.readout), near(self.stage), near(self.full), self.block
        )

    def expected(self, stage_terms: Ints, stage_costs: Floats, live: Floats, n_outputs: int) -> float:
        """Expected cost of a row of a plan.

        Parameters
        ----------
        stage_terms : ndarray of shape (T,)
            Terms at each early look.
        stage_costs : ndarray of shape (T + 1,)
            Cumulative cost in units, the last one of everything.
        live : ndarray of shape (T + 1,)
            Share of the rows that reach each look; ``live[T]`` see everything.
        n_outputs : int
        """
        bought = np.diff(stage_costs, prepend=0.0)
        if self.block > 1:  # a block is evaluated whole
            ends = -(-stage_costs // self.block) * self.block
            bought = np.diff(ends, prepend=0.0)
        looks = self.readout * np.asarray(stage_terms) * n_outputs + self.stage
        return float(self.row + self.unit * (live @ bought) + live[:-1] @ looks)


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
