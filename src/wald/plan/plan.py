"""A plan, in plain arrays: the order of the units, the stages, and the thresholds at which rows leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from ..engine import Stages
from ..models.packing import Surrogates
from ..models.planning import Precision
from ..stopping import Boundary
from ..utils.reals import as_float
from .cost import CostModel
from .moments import Floats
from .order import Ints
from .passes import PassTimes


@dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """The evaluation of rows in ``T`` early stages, and then by the full model, without thresholds.

    As a candidate it has every stage that a ladder may have.

    Attributes
    ----------
    order : int64 ndarray
        Units in the order in which early stages evaluate them.
    terms : int64 ndarray of shape (n_ordered_terms,)
        The terms of these units; indices from the number of the model's terms on are surrogates.
    stages : int64 ndarray of shape (T + 1,)
        Number of units seen at each stage; the last stage is the full model.
    stage_costs : float64 ndarray of shape (T + 1,)
        Cost of a row that leaves at each stage, in units or in the user's feature costs.
    early : Stages
        Terms and estimates of the early stages.
    surrogates : Surrogates
        Landmarks or linear terms that are evaluated before a kernel machine's own terms.
    usual_cost : float or None, default=None
        Mean cost of a row that is evaluated in full, where that is not the same for all: the last of `stage_costs` is
        then the mean of those rows that cost more than the last early stage.
    """

    order: Ints
    terms: Ints
    stages: Ints
    stage_costs: Floats
    early: Stages
    surrogates: Surrogates
    usual_cost: float | None = None

    @property
    def stage_terms(self) -> Ints:
        """Number of terms seen at each early stage, of shape (T,)."""
        return self.early.terms

    def subset(self, keep: Sequence[int]) -> Recipe:
        """Keep some of the early stages, given by their indices, and the full model."""
        chosen = [*keep, len(self.early)]
        return Recipe(
            order=self.order,
            terms=self.terms,
            stages=self.stages[chosen],
            stage_costs=self.stage_costs[chosen],
            early=self.early.subset(keep),
            surrogates=self.surrogates,
            usual_cost=self.usual_cost,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(Recipe):
    """A recipe with the thresholds at which rows leave.

    Attributes
    ----------
    order, terms, stages, stage_costs, early, surrogates, usual_cost
        See `Recipe`.
    boundary : Boundary
        Centres and scales of the thresholds.
    q : float
        The scale in use; infinite when nothing leaves early.
    reached : float64 ndarray of shape (T + 1,)
        Share of the plan rows that reached each stage at ``q``.
    precision : {"float32", "float64"}
        Precision of early stages.
    evaluate_all : bool
        Whether every row goes to the wrapped model; early stages then serve budgets only.
    cost_model : CostModel or PassTimes
        The costs by which the plan was chosen.
    """

    boundary: Boundary
    q: float
    reached: Floats
    precision: Precision
    evaluate_all: bool
    cost_model: CostModel | PassTimes

    @property
    def n_stages(self) -> int:
        """Number of early stages T."""
        return len(self.stage_terms)

    @property
    def full_cost(self) -> float:
        """Cost of a row that is evaluated in full, where rows differ the mean."""
        return float(self.stage_costs[-1] if self.usual_cost is None else self.usual_cost)

    def thresholds(self) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Low and high thresholds of the early stages, in the plan's precision."""
        return self.boundary.thresholds(self.q, self.precision)

    def at(self, q: float, reached: Floats, evaluate_all: bool) -> Plan:
        """Return the plan with other thresholds."""
        return replace(self, q=q, reached=reached, evaluate_all=evaluate_all)

    def affordable(self, budget: float) -> int:
        """Index of the deepest stage within ``budget``.

        Raises
        ------
        ValueError
            If the first stage costs more.
        TypeError
            If the budget is no number.
        """
        if not isinstance(budget, Real):
            raise TypeError(f"budget must be a number. Got {budget!r} instead.")
        allowed = as_float(budget)
        if not allowed >= self.stage_costs[0]:
            raise ValueError(
                f"budget must be at least {self.stage_costs[0]:g}, the cost of the first stage. Got {budget!r} instead."
            )
        return int(np.flatnonzero(self.stage_costs <= allowed)[-1])

    def __repr__(self) -> str:
        way = "evaluate everything" if self.evaluate_all else f"q={self.q:.3g}"
        stages = ", ".join(str(m) for m in self.stages)
        return f"Plan({way}, stages after {stages} units, {self.precision})"
