"""Engines that evaluate plans: rows in, codes and stages out. They do not depend on families of models."""

from __future__ import annotations

from .compiled import CompiledCascade, CompiledTerms
from .interface import AtEnd, Cascade, Decided, Packed
from .ledger import NOTHING, Decisions, Ledger, Status
from .python_engine import PythonTerms
from .stages import LEAST_VARIANCE, NO_STAGES, Readout, RunningSums, Stages

__all__ = [
    "LEAST_VARIANCE",
    "NOTHING",
    "NO_STAGES",
    "AtEnd",
    "Cascade",
    "CompiledCascade",
    "CompiledTerms",
    "Decided",
    "Decisions",
    "Ledger",
    "Packed",
    "PythonTerms",
    "Readout",
    "RunningSums",
    "Stages",
    "Status",
]
