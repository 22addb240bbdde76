"""Planning: order of the terms, readouts, stages, and their costs."""

from __future__ import annotations

from .cost import CostModel
from .ladder import build_plan, shares_reached
from .plan import Plan
from .problem import Problem, Recipe, Sight
from .readout import Readout

__all__ = [
    "CostModel",
    "Plan",
    "Problem",
    "Readout",
    "Recipe",
    "Sight",
    "build_plan",
    "shares_reached",
]
