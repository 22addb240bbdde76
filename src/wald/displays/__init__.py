"""Pictures of what early exit does, by scikit-learn's conventions for displays.

A display holds plain numbers, which ``from_estimator`` (or ``from_predictions``) computes. ``plot`` draws them, as
often and onto as many axes as wanted, and keeps what it drew in attributes that end in an underscore. matplotlib is
loaded when something is drawn; it comes with the extra ``plot``.
"""

from .attention_map import AttentionMapDisplay
from .budget_curve import BudgetCurveDisplay
from .cost_histogram import CostHistogramDisplay
from .stopping_path import StoppingPathDisplay
from .tradeoff import TradeoffDisplay

__all__ = [
    "AttentionMapDisplay",
    "BudgetCurveDisplay",
    "CostHistogramDisplay",
    "StoppingPathDisplay",
    "TradeoffDisplay",
]
