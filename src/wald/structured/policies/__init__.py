"""Policies: which parts of which examples deserve costly groups of features."""

from .anytime import AnytimePolicy
from .iterated import IteratedPolicy
from .myopic import MyopicPolicy
from .one_shot import OneShotPolicy
from .q_learning import QLearningPolicy
from .uniform import UniformPolicy

__all__ = [
    "AnytimePolicy",
    "IteratedPolicy",
    "MyopicPolicy",
    "OneShotPolicy",
    "QLearningPolicy",
    "UniformPolicy",
]
