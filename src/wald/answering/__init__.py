"""A finite data set, answered as a costly model answers it, with few calls of the model.

Surrogates are learnt from the model's answers to some rows (`learning`), and a sample of the others says down to which
margin they may answer (`cuts`). What goes in is a data set and a model; what comes out are labels, and a promise about
this data set.
"""

from __future__ import annotations

from .answered import WholeAnswer
from .needed import calls_needed
from .whole import answer

__all__ = ["WholeAnswer", "answer", "calls_needed"]
