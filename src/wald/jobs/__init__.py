"""Predictions for more rows than fit into memory: many files in, one part after another out, resumable."""

from .errors import JobError
from .options import Options
from .report import Report
from .run import run

__all__ = ["JobError", "Options", "Report", "run"]
