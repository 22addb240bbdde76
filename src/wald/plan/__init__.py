"""Planning: order of the terms, readouts, stages, and their costs."""

from __future__ import annotations

from .cost import CostModel
from .ladder import build_plan, shares_reached
from .plan import Plan
from .problem import Evaluation, Problem, Recipe
from .readout import Readout, zero_readouts

__all__ = [
    "CostModel",
    "Evaluation",
    "Plan",
    "Problem",
    "Readout",
    "Recipe",
    "build_plan",
    "shares_reached",
    "zero_readouts",
]
