"""Early exit: evaluates a trained classifier only as far as each row needs, with a certificate."""

from __future__ import annotations

from .classifier import EarlyExitClassifier
from .margins import Margin, calibrate_margin
from .predictor import Trace

__all__ = ["EarlyExitClassifier", "Margin", "Trace", "calibrate_margin"]
