"""Policies: which parts of which examples deserve costly groups of features."""

from wald.structured.policies.base import Policy
from wald.structured.policies.driver import Acquired, acquire
from wald.structured.policies.iterated import IteratedPolicy
from wald.structured.policies.uniform import UniformPolicy

__all__ = ["Acquired", "IteratedPolicy", "Policy", "UniformPolicy", "acquire"]
