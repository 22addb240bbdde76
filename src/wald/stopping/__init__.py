"""Stopping rules, and the certificates that say how far they can be trusted.

A rule turns the scores of some plan rows (a `Walk`) into a table of thresholds (a `Boundary`). `certify` scales the
table by the boldest number that fresh rows prove, and returns a `Certificate`.
"""

from .core.binomial import rows_needed
from .core.boundary import Boundary
from .core.calibration import calibrate
from .core.certificate import Certificate
from .core.certifying import certify, measure, q_grid
from .core.stage_scores import StageScores
from .core.walk import Walk
from .rules.checks import check_stopping_rule
from .rules.constant import ConstantBoundary
from .rules.curved import CurvedBoundary
from .rules.likelihood_ratio import LikelihoodRatio
from .rules.margin import Margin
from .rules.optimal import OptimalBoundary
from .rules.qwyc import Qwyc
from .rules.rules import Budget, Ladder, Lossless, Needs, Rule
from .rules.spending import ErrorSpending
from .rules.votes import VoteBoundary

__all__ = [
    "Boundary",
    "Budget",
    "Certificate",
    "ConstantBoundary",
    "CurvedBoundary",
    "ErrorSpending",
    "Ladder",
    "LikelihoodRatio",
    "Lossless",
    "Margin",
    "Needs",
    "OptimalBoundary",
    "Qwyc",
    "Rule",
    "StageScores",
    "VoteBoundary",
    "Walk",
    "calibrate",
    "certify",
    "check_stopping_rule",
    "measure",
    "q_grid",
    "rows_needed",
]
