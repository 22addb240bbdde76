"""How bold a plan may be, as its validation rows say before any row of the certificate is seen."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..models.planning import Precision
from ..stopping import Boundary, Rule, StageScores, q_grid
from ..stopping.core.certifying import counts_along
from ..stopping.core.fixed_sequence import fixed_sequence
from ..stopping.core.risks import Promised
from ..stopping.core.stratum import Stratum
from .moments import Floats
from .problem import CertificateSize


def boldest(
    seen: StageScores,
    boundary: Boundary,
    rule: Rule,
    promise: Promised,
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
    promise : Promised
    size : CertificateSize
    likely : float, default=None
        The certificate must allow the scale with this probability, if the share of the validation rows is the true one.
        None: it allows the share itself.

    Returns
    -------
    float
        Infinite if no scale is allowed; 1 for rules that are used as they are.
    """
    overall = promise.risk
    if overall is None or rule.needs.lossless or rule.needs.forced:
        return 1.0

    @cache
    def allowed(n_rows: int, own: float | None) -> float:
        part, risk = n_rows / max(1, seen.n_rows), overall if own is None else own
        return size.allowed_share(part, risk) if likely is None else size.likely_share(part, risk, likely)

    @cache
    def allows(n_rows: int, own: float | None, n_worse: float, n_better: int) -> bool:
        part, risk, n = n_rows / max(1, seen.n_rows), overall if own is None else own, max(1, n_rows)
        return size.allows_pairs(part, risk, n_worse / n, n_better / n, likely)

    def allowed_in(s: Stratum) -> bool:
        if s.n_better is not None:
            return allows(s.n_rows, s.risk, s.n_disagreements, s.n_better)
        return s.n_disagreements / max(1, s.n_rows) <= allowed(s.n_rows, s.risk)

    def holds(step: tuple[float, tuple[Stratum, ...]]) -> bool:
        return all(map(allowed_in, step[1]))

    found = fixed_sequence(counts_along(seen, boundary, q_grid(seen, boundary), promise.lines), holds)
    return np.inf if found.passed is None else float(found.passed[0])


def shares_reached(seen: StageScores, boundary: Boundary, q: float, dtype: Precision) -> Floats:
    """Share of the rows that reach each stage, the full model's included."""
    _, stage = seen.leave(*boundary.thresholds(q, dtype))
    left = np.bincount(stage, minlength=seen.n_stages + 1)
    return 1.0 - np.concatenate([[0], np.cumsum(left)[:-1]]) / max(1, seen.n_rows)
