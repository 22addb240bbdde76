"""Watch a certified promise in production: audits of served rows, and tests that may be read at any time."""

from .monitor import DriftWarning, Monitor

__all__ = ["DriftWarning", "Monitor"]
