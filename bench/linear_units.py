"""Logistic regression, evaluated pixel by pixel."""

from __future__ import annotations

from .models import PAIRS, disagreement, linear, wrap
from .report import Figure
from .settings import Run

TITLE = "LogisticRegression(max_iter=200), cost='units', one pixel a unit, risk 0.1 %"


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    figures = []
    for pair in PAIRS:
        case = linear(*pair)
        fast = wrap(case.model, case.X, cost="units")
        differ, pixels = disagreement(fast, case.model, case.X_test)
        certificate = f"{len(case.X_test)} test rows; certificate: {fast.certificate_}"
        figures += [
            Figure(f"pixels per row, {case.name}", pixels, note="of 784"),
            Figure(f"test disagreement, {case.name}", differ, "%", note=certificate),
        ]
    return figures
