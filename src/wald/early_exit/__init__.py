"""Early exit: evaluates a trained classifier only as far as each row needs, with a certificate."""

from __future__ import annotations

from ..engine import Status
from .answers import Answers
from .call_budget import CallsNeeded
from .classifier import EarlyExitClassifier
from .compiled_plan import CompiledPlan
from .explaining import Explanation
from .explaining_places import PlaceExplanation
from .outlier_detector import EarlyExitOutlierDetector
from .parts import Part
from .planner import Planner
from .predictor import Trace
from .ranker import EarlyExitRanker
from .regressor import EarlyExitRegressor
from .tokens import Passage

__all__ = [
    "Answers",
    "CallsNeeded",
    "CompiledPlan",
    "EarlyExitClassifier",
    "EarlyExitOutlierDetector",
    "EarlyExitRanker",
    "EarlyExitRegressor",
    "Explanation",
    "Part",
    "Passage",
    "PlaceExplanation",
    "Planner",
    "Status",
    "Trace",
]
