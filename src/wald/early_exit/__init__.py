"""Early exit: a classifier that is already trained, evaluated no further than each row needs, with a certificate."""

from __future__ import annotations

from .classifier import EarlyExitClassifier
from .predictor import Trace

__all__ = ["EarlyExitClassifier", "Trace"]
