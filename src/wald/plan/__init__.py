"""Planning: order of the terms, readouts, stages, and their costs."""

from __future__ import annotations

from .boldness import boldest, shares_reached
from .cost import CostModel
from .ladder import build_plan
from .passes import PassTimes
from .plan import Plan, Recipe
from .problem import CertificateSize, Evaluation, Problem
from .readout import zero_stages

__all__ = [
    "CertificateSize",
    "CostModel",
    "Evaluation",
    "PassTimes",
    "Plan",
    "Problem",
    "Recipe",
    "boldest",
    "build_plan",
    "shares_reached",
    "zero_stages",
]
