"""Stopping rules, and the certificates that say how far they can be trusted.

A rule turns what is known of some plan rows (a `Walk`) into a table of thresholds (a `Boundary`); `certify`
scales the table by one number until the evidence of fresh rows ends, and says so in a `Certificate`.
"""

from .betting import betting_log_capital, betting_p_value, betting_upper_bound
from .binomial import p_value, rows_needed
from .boundary import Boundary
from .brownian import (
    conditional_crossing_probability,
    crossing_probability,
    discrete_boundary,
    joint_crossing_probability,
)
from .calibration import Calibration, calibrate
from .certificate import Certificate, Stratum
from .checks import check_stopping_rule
from .constant import ConstantBoundary
from .curved import CurvedBoundary
from .family import certify_family
from .fixed_sequence import certify, measure, one_row_per_group, q_grid
from .halt_time import HaltTimeCertificate, certify_by_halt_time
from .levels import (
    DegenerateBoundaryWarning,
    OptimisticBoundaryWarning,
    bridge_boundary,
    conditional_boundary,
    curved_boundary,
    joint_boundary,
    reflection_boundary,
    simple_bridge_boundary,
)
from .likelihood_ratio import LikelihoodRatio
from .margin import Margin
from .optimal import OptimalBoundary
from .p_values import bentkus_p_value, hoeffding_bentkus_p_value, hoeffding_p_value
from .qwyc import Qwyc
from .rules import Budget, Ladder, Lossless, Rule, check_rule
from .spending import ErrorSpending
from .stage_scores import StageScores
from .walk import Moments, Walk

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
    "OptimalBoundary",
    "OptimisticBoundaryWarning",
    "Qwyc",
    "Rule",
    "StageScores",
    "Stratum",
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
