"""scikit-learn's estimators as tables of attributes, and rebuilt from them: no code of a file is executed."""

from __future__ import annotations

from .kinds import NotRebuildableError
from .reader import Reader
from .writer import Writer

__all__ = ["NotRebuildableError", "Reader", "Writer"]
