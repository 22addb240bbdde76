"""Engines that evaluate plans: rows in, codes and stages out. They do not depend on families of models."""

from __future__ import annotations

from .compiled import CompiledTerms
from .interface import AtEnd, Cascade, Decided, Packed, Trace
from .python_engine import PythonTerms

__all__ = ["AtEnd", "Cascade", "CompiledTerms", "Decided", "Packed", "PythonTerms", "Trace"]
