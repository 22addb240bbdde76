"""Policies: which parts of which examples deserve costly groups of features."""

from wald.structured.policies.anytime import AnytimePolicy, Step
from wald.structured.policies.base import Policy
from wald.structured.policies.driver import Acquired, AcquisitionError, acquire
from wald.structured.policies.iterated import IteratedPolicy
from wald.structured.policies.myopic import MyopicPolicy
from wald.structured.policies.one_shot import OneShotPolicy
from wald.structured.policies.q_learning import QLearningPolicy
from wald.structured.policies.uniform import UniformPolicy

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
