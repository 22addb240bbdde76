"""Early exit: evaluates a trained classifier only as far as each row needs, with a certificate."""

from __future__ import annotations

from ..engine import Status
from .classifier import EarlyExitClassifier
from .compiled.answers import Answers
from .compiled.compiled_plan import CompiledPlan
from .compiled.explaining import Explanation
from .compiled.parts import Part
from .compiled.planner import Planner
from .compiled.predictor import Trace
from .compiled.tokens import Passage
from .explaining_places import PlaceExplanation
from .fitting.call_budget import CallsNeeded
from .outlier_detector import EarlyExitOutlierDetector
from .ranker import EarlyExitRanker
from .regressor import EarlyExitRegressor

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
