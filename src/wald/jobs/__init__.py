"""Predictions for more rows than fit into memory: many files in, one part after another out, resumable."""

from .errors import JobError
from .run import Options, Report, run

__all__ = ["JobError", "Options", "Report", "run"]
