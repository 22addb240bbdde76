"""C: logistic regression, pixels bought one by one."""

from __future__ import annotations

from .models import PAIRS, disagreement, linear, wrap
from .report import Figure
from .settings import Run

TITLE = "C. LogisticRegression(max_iter=200), cost='units', one pixel a unit, risk 0.1 %"
PIXELS = {(0, None): 16, (8, None): 52, (2, 3): 52, (4, 9): 62}


def run(how: Run) -> list[Figure]:
    """Measure setting C."""
    figures = []
    for pair in PAIRS:
        case = linear(*pair)
        fast = wrap(case.model, case.X, cost="units")
        differ, pixels = disagreement(fast, case.model, case.X_test)
        promise = f"{len(case.X_test)} test rows; certificate: {fast.certificate_}"
        figures += [
            Figure(f"pixels per row, {case.name}", pixels, "", at_most=PIXELS[pair], note="of 784"),
            Figure(f"test disagreement, {case.name}", differ, " %", at_most=0.15, note=promise),
        ]
    return figures
