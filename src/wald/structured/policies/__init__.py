"""Policies: which parts of which examples deserve costly groups of features."""

from .anytime import AnytimePolicy
from .baselines import MyopicPolicy, UniformPolicy
from .iterated import IteratedPolicy
from .one_shot import OneShotPolicy
from .q_learning import QLearningPolicy

__all__ = [
    "AnytimePolicy",
    "IteratedPolicy",
    "MyopicPolicy",
    "OneShotPolicy",
    "QLearningPolicy",
    "UniformPolicy",
]
