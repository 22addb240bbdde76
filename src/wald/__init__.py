"""wald: stop computing a prediction as soon as the answer is clear, and certify how rarely that changes anything."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from . import _threads as _threads  # registers the engine's threads with threadpoolctl
from .early_exit import EarlyExitClassifier
from .persistence import load, save
from .plan import CostModel
from .stopping import Certificate

try:
    __version__ = version("wald")
except PackageNotFoundError:  # a source tree that was not installed
    __version__ = "0+unknown"

__all__ = ["Certificate", "CostModel", "EarlyExitClassifier", "__version__", "load", "save"]
