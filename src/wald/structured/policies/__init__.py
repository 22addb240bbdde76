"""Policies: which parts of which examples deserve costly groups of features."""

from .anytime import AnytimePolicy, Step
from .base import Policy
from .driver import Acquired, AcquisitionError, acquire
from .iterated import IteratedPolicy
from .myopic import MyopicPolicy
from .one_shot import OneShotPolicy
from .q_learning import QLearningPolicy
from .uniform import UniformPolicy

__all__ = [
    "Acquired",
    "AcquisitionError",
    "AnytimePolicy",
    "IteratedPolicy",
    "MyopicPolicy",
    "OneShotPolicy",
    "Policy",
    "QLearningPolicy",
    "Step",
    "UniformPolicy",
    "acquire",
]
