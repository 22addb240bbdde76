"""Stopping rules, and the certificates that say how far they can be trusted.

A rule turns the scores of some plan rows (a `Walk`) into a table of thresholds (a `Boundary`). `certify` scales the
table by the boldest number that fresh rows prove, and returns a `Certificate`.
"""

from .core.betting import betting_log_capital, betting_p_value, betting_upper_bound
from .core.binomial import p_value, rows_needed
from .core.boundary import Boundary
from .core.calibration import Calibration, calibrate
from .core.certificate import Certificate, Stratum
from .core.certifying import certify, measure, one_row_per_group, q_grid
from .core.family import certify_family
from .core.p_values import bentkus_p_value, hoeffding_bentkus_p_value, hoeffding_p_value
from .core.stage_scores import StageScores
from .core.walk import Moments, Walk
from .papers.brownian import (
    conditional_crossing_probability,
    crossing_probability,
    discrete_boundary,
    joint_crossing_probability,
)
from .papers.halt_time import HaltTimeCertificate, certify_by_halt_time
from .papers.levels import (
    DegenerateBoundaryWarning,
    OptimisticBoundaryWarning,
    bridge_boundary,
    conditional_boundary,
    curved_boundary,
    joint_boundary,
    reflection_boundary,
    simple_bridge_boundary,
)
from .rules.checks import check_stopping_rule
from .rules.constant import ConstantBoundary
from .rules.curved import CurvedBoundary
from .rules.likelihood_ratio import LikelihoodRatio
from .rules.margin import Margin
from .rules.optimal import OptimalBoundary
from .rules.qwyc import Qwyc
from .rules.rules import Budget, Ladder, Lossless, Needs, Rule, check_rule
from .rules.spending import ErrorSpending
from .rules.votes import VoteBoundary

__all__ = [
    "Boundary",
    "Budget",
    "Calibration",
    "Certificate",
    "ConstantBoundary",
    "CurvedBoundary",
    "DegenerateBoundaryWarning",
    "ErrorSpending",
    "HaltTimeCertificate",
    "Ladder",
    "LikelihoodRatio",
    "Lossless",
    "Margin",
    "Moments",
    "Needs",
    "OptimalBoundary",
    "OptimisticBoundaryWarning",
    "Qwyc",
    "Rule",
    "StageScores",
    "Stratum",
    "VoteBoundary",
    "Walk",
    "bentkus_p_value",
    "betting_log_capital",
    "betting_p_value",
    "betting_upper_bound",
    "bridge_boundary",
    "calibrate",
    "certify",
    "certify_by_halt_time",
    "certify_family",
    "check_rule",
    "check_stopping_rule",
    "conditional_boundary",
    "conditional_crossing_probability",
    "crossing_probability",
    "curved_boundary",
    "discrete_boundary",
    "hoeffding_bentkus_p_value",
    "hoeffding_p_value",
    "joint_boundary",
    "joint_crossing_probability",
    "measure",
    "one_row_per_group",
    "p_value",
    "q_grid",
    "reflection_boundary",
    "rows_needed",
    "simple_bridge_boundary",
]
