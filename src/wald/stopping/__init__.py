"""Stopping rules, and the certificates that say how far they can be trusted.

A rule turns what is known of some plan rows (a `Walk`) into a table of thresholds (a `Boundary`); `certify`
scales the table by one number until the evidence of fresh rows ends, and says so in a `Certificate`.
"""

from wald.stopping.betting import betting_log_capital, betting_p_value, betting_upper_bound
from wald.stopping.binomial import p_value, rows_needed
from wald.stopping.boundary import Boundary
from wald.stopping.brownian import (
    conditional_crossing_probability,
    crossing_probability,
    discrete_boundary,
    joint_crossing_probability,
)
from wald.stopping.calibration import Calibration, calibrate
from wald.stopping.certificate import Certificate, Stratum
from wald.stopping.checks import check_stopping_rule
from wald.stopping.constant import ConstantBoundary
from wald.stopping.curved import CurvedBoundary
from wald.stopping.family import certify_family
from wald.stopping.fixed_sequence import certify, measure, one_row_per_group, q_grid
from wald.stopping.halt_time import HaltTimeCertificate, certify_by_halt_time
from wald.stopping.levels import (
    DegenerateBoundaryWarning,
    OptimisticBoundaryWarning,
    bridge_boundary,
    conditional_boundary,
    curved_boundary,
    joint_boundary,
    reflection_boundary,
    simple_bridge_boundary,
)
from wald.stopping.likelihood_ratio import LikelihoodRatio
from wald.stopping.looks import Looks
from wald.stopping.margin import Margin
from wald.stopping.optimal import OptimalBoundary
from wald.stopping.p_values import bentkus_p_value, hoeffding_bentkus_p_value, hoeffding_p_value
from wald.stopping.qwyc import Qwyc
from wald.stopping.rules import Budget, Ladder, Lossless, Rule, check_rule
from wald.stopping.spending import ErrorSpending
from wald.stopping.walk import Moments, Walk

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
    "Looks",
    "Lossless",
    "Margin",
    "Moments",
    "OptimalBoundary",
    "OptimisticBoundaryWarning",
    "Qwyc",
    "Rule",
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
