"""From terms to a plan: order, readouts, looks, and what they cost."""

from __future__ import annotations

from .cost import CostModel
from .ladder import build_plan, live_shares
from .plan import NO_SURROGATES, Plan, Surrogates
from .problem import Problem, Recipe, Sight
from .readout import Readout
from .units import Units, feature_units

__all__ = [
    "NO_SURROGATES",
    "CostModel",
    "Plan",
    "Problem",
    "Readout",
    "Recipe",
    "Sight",
    "Surrogates",
    "Units",
    "build_plan",
    "feature_units",
    "live_shares",
]
