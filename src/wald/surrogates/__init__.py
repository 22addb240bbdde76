"""Cheap looks at a row that tell much of what a costly model would answer.

A `Surrogate` gives numbers for rows, at a cost. It is made of what the user has (`surrogates_of`), or learnt from the
model's own answers (`learn`). Nothing is known here of plans, stages or certificates.
"""

from __future__ import annotations

from .held_out import FOLDS, learn_held_out
from .learnt import learn, learns_probabilities
from .log_odds import log_odds
from .on_columns import learn_on_columns
from .surrogate import Surrogate, surrogate_of, surrogates_of

__all__ = [
    "FOLDS",
    "Surrogate",
    "learn",
    "learn_held_out",
    "learn_on_columns",
    "learns_probabilities",
    "log_odds",
    "surrogate_of",
    "surrogates_of",
]
