"""Certificates for several candidates at once, so that the best of them may be chosen afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy.typing as npt

from .binomial import shared_confidence
from .boundary import Boundary
from .certificate import Certificate
from .certifying import certify
from .fixed_sequence import fixed_sequence
from .risks import Risk
from .stage_scores import StageScores
from .validation import require_fraction, require_option

Correction = Literal["bonferroni", "fixed_sequence"]
CORRECTIONS: tuple[Correction, ...] = ("bonferroni", "fixed_sequence")


def certify_family(
    stage_scores: StageScores | Sequence[StageScores],
    boundaries: Sequence[Boundary],
    *,
    risk: Risk,
    confidence: float,
    correction: Correction = "bonferroni",
    q_grids: Sequence[npt.ArrayLike] | None = None,
    groups: npt.ArrayLike | None = None,
    classes: npt.ArrayLike | None = None,
    random_state: int = 0,
) -> tuple[Certificate, ...]:
    """Certify a finite family of candidates on the same rows: all promises made hold at once.

    If each of ten candidates is certified separately and the best is taken, its promise does not hold. Here all
    certificates with the status "certified" hold at once with probability `confidence` over the draw of the rows. Any
    of them may be chosen, by any criterion, even one measured on the same rows, such as the cost.

    Parameters
    ----------
    stage_scores : StageScores, or one per candidate
        Those of the certificate rows, as for `certify`. Candidates with other orders or readouts have stage scores of
        their own, of the same rows.
    boundaries : sequence of Boundary
        The candidates, fixed before the certificate rows are seen.
    risk, confidence
        As for `certify`.
    correction : {"bonferroni", "fixed_sequence"}, default="bonferroni"
        "bonferroni": each of m candidates is certified at ``1 - (1 - confidence) / m``, which its certificate states.
        "fixed_sequence": candidates are tested in the given order, from cautious to bold, at `confidence` each, until
        the first one fails; the rest is not tested.
    q_grids : sequence of arrays of positive floats, optional
        "bonferroni": the scales that each candidate tries, from `q_grid`. By default each is used as published, q = 1;
        "fixed_sequence" takes no other scale.
    groups, classes, random_state
        As for `certify`. With `groups`, all candidates are counted on the same rows.

    Returns
    -------
    tuple of Certificate
        One for each candidate.

    Raises
    ------
    ValueError
        For parameters out of range, and for an empty family.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test", Annals of Applied Statistics 19(2),
    2025: family-wise error control over a finite family.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> full = rng.normal(size=5000)
    >>> estimates = (full + 0.1 * rng.normal(size=5000))[:, None]
    >>> stage_scores = StageScores(full=(full > 0).astype(np.int32), margins=estimates)
    >>> family = [Boundary.symmetric([0.0], [scale]) for scale in (0.5, 0.2, 0.1)]
    >>> for certificate in certify_family(stage_scores, family, risk=0.01, confidence=0.95):
    ...     print(certificate)
    disagreement <= 1 % with 98.3333 % confidence: 0 of 5 000 rows
    disagreement <= 1 % with 98.3333 % confidence: 2 of 5 000 rows
    no early exit: 36 of 5 000 rows differ at the most cautious q: not <= 1 % with 98.3333 % confidence
    """
    require_fraction("certify_family", "confidence", confidence)
    require_option("certify_family", "correction", correction, CORRECTIONS)
    m = len(boundaries)
    if m == 0:
        raise ValueError("certify_family needs at least one candidate.")
    scores = [stage_scores] * m if isinstance(stage_scores, StageScores) else list(stage_scores)
    grids = [[1.0]] * m if q_grids is None else list(q_grids)
    if len(scores) != m or len(grids) != m:
        raise ValueError(f"certify_family needs stage_scores and q_grids for each of the {m} candidates.")
    if correction == "fixed_sequence" and q_grids is not None:
        raise ValueError("certify_family takes q_grids with correction='bonferroni' only: certify walks one grid.")
    each = shared_confidence(confidence, m) if correction == "bonferroni" else confidence
    tested = (
        certify(
            candidate,
            boundary,
            risk=risk,
            confidence=each,
            q_grid=grid,
            groups=groups,
            classes=classes,
            random_state=random_state,
        )
        for candidate, boundary, grid in zip(scores, boundaries, grids, strict=True)
    )
    if correction == "bonferroni":
        return tuple(tested)
    certificates: list[Certificate] = []

    def passes(certificate: Certificate) -> bool:
        certificates.append(certificate)
        return certificate.status == "certified"

    fixed_sequence(tested, passes)
    untested = Certificate.full_evaluation("an earlier candidate failed, so this one is not tested")
    return (*certificates, *[untested] * (m - len(certificates)))
