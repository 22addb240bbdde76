"""How bold a plan may be, as its validation rows say before any row of the certificate is seen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import numpy as np

from ..models.planning import Precision
from ..stopping import Boundary, Rule, StageScores, q_grid
from ..stopping.core.boundary import Protect
from ..stopping.core.certificate import Stratum
from ..stopping.core.certifying import counts_along
from ..stopping.core.class_risks import Line, lines
from ..stopping.core.fixed_sequence import fixed_sequence
from .moments import Floats
from .problem import CertificateSize


def boldest(
    seen: StageScores,
    boundary: Boundary,
    rule: Rule,
    risk: float | None,
    protect: Protect,
    size: CertificateSize,
    likely: float | None = None,
) -> float:
    """Find the boldest scale q at which no larger share of the validation rows disagrees than a certificate allows.

    Parameters
    ----------
    seen : StageScores
        Those of the validation rows.
    boundary : Boundary
    rule : Rule
    risk : float or None
    protect : Protect
        By code.
    size : CertificateSize
    likely : float, default=None
        The certificate must allow the scale with this probability, if the share of the validation rows is the true one.
        None: it allows the share itself.

    Returns
    -------
    float
        Infinite if no scale is allowed; 1 for rules that are used as they are.
    """
    if risk is None or rule.needs.lossless or rule.needs.forced:
        return 1.0

    @cache
    def allowed(n_rows: int, own: float | None) -> float:
        part, own_risk = n_rows / max(1, seen.n_rows), risk if own is None else own
        return size.allowed_share(part, own_risk) if likely is None else size.likely_share(part, own_risk, likely)

    def holds(step: tuple[float, tuple[Stratum, ...]]) -> bool:
        return all(s.n_disagreements / max(1, s.n_rows) <= allowed(s.n_rows, s.risk) for s in step[1])

    found = fixed_sequence(counts_along(seen, boundary, q_grid(seen, boundary), _about(seen, protect)), holds)
    return np.inf if found.passed is None else float(found.passed[0])


def _about(seen: StageScores, protect: Protect) -> list[Line]:
    """The lines of a promise by code; classes without rows among the validation rows have lines that always hold."""
    most = max(1, *(protect if isinstance(protect, Mapping) else ()), int(seen.full.max(initial=0)))
    return lines(protect, np.arange(most + 1))


def shares_reached(seen: StageScores, boundary: Boundary, q: float, dtype: Precision) -> Floats:
    """Share of the rows that reach each stage, the full model's included."""
    _, stage = seen.leave(*boundary.thresholds(q, dtype))
    left = np.bincount(stage, minlength=seen.n_stages + 1)
    return 1.0 - np.concatenate([[0], np.cumsum(left)[:-1]]) / max(1, seen.n_rows)
