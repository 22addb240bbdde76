"""What is asked of a model's scores, once in NumPy; what the compiled engine knows of it is in `cpp/core/cascade`.

Scores come in; answers, margins, losses and the words of a promise go out. An output knows no model, plan or row.
"""

from .bands import Bands
from .checks import check_output
from .labels import Labels
from .output import Output
from .structures import Parts, Spans, Structures
from .values import Values
from .words import LABELS, Words

__all__ = ["LABELS", "Bands", "Labels", "Output", "Parts", "Spans", "Structures", "Values", "Words", "check_output"]
