"""Control of the disagreement among the rows that leave by each stage: conditional on the halting time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.binomial import rows_needed
from ..core.boundary import Boundary
from ..core.certifying import ungrouped
from ..core.fixed_sequence import fixed_sequence
from ..core.stage_scores import StageScores
from ..core.stratum import Stratum, passes
from ..core.validation import require_fraction

# The screening level is so many times smaller than the test level. The boldest scale that just passes the screening
# then passes the test about nine times in ten; with equal levels, about every other time.
_SCREENING = 200.0


#: First open stage, scales of all stages, the scaled boundary, and the counts of all stages.
_Opened = tuple[int, npt.NDArray[np.float64], Boundary, tuple[Stratum, ...]]


@dataclass(frozen=True, eq=False)
class HaltTimeCertificate:
    """A promise about the rows that leave by each stage, with the counts behind it. Printed, it is one sentence.

    Attributes
    ----------
    boundary : Boundary
        With the scales multiplied in, and closed stages disabled: serve with ``boundary.thresholds(1.0, dtype)``.
    risk, confidence : float
        ``P(disagreement | leaves by stage t) <= risk`` for all t at once, with this confidence.
    q : float64 array of shape (T,)
        The scale of each stage; infinite where it is closed.
    strata : tuple of Stratum
        For every stage, the number of test rows that leave by then, and how many of them disagree.
    n_tested : int
        Number of test rows.
    grouped : bool
        Whether the rows were one random row of each group.
    """

    boundary: Boundary
    risk: float
    confidence: float
    q: npt.NDArray[np.float64]
    strata: tuple[Stratum, ...]
    n_tested: int
    grouped: bool = False

    @property
    def first_stage(self) -> int | None:
        """First stage at which rows may leave; None if there is none."""
        is_open = np.flatnonzero(np.isfinite(self.q))
        return int(is_open[0]) if is_open.size else None

    def verify(self) -> bool:
        """Recompute every p-value from the counts; True if all are small enough."""
        first = self.first_stage
        return first is None or passes(self.strata[first:], self.risk, self.confidence)

    def __str__(self) -> str:
        first = self.first_stage
        if first is None:
            needed = rows_needed(self.risk, self.confidence)
            return f"no early exit: no stage passed on {self.n_tested} test rows, of which {needed} at least must leave"
        worst = max(self.strata[first:], key=lambda s: s.interval(2 * self.confidence - 1)[1])
        aside = " (one per group)" if self.grouped else ""
        return (
            f"disagreement <= {100 * self.risk:g} % among the rows that leave by any stage, with "
            f"{100 * self.confidence:g} % confidence: at worst {worst.n_disagreements} of {worst.n_rows} "
            f"{worst.name}{aside}"
        )


def certify_by_halt_time(
    stage_scores: StageScores,
    boundary: Boundary,
    *,
    risk: float,
    confidence: float,
    screening_fraction: float = 0.5,
    groups: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator = 0,
) -> HaltTimeCertificate:
    """Find a scale for each stage such that the rows that leave by any stage differ by at most `risk`.

    Under a promise about all rows, the earliest exits may often be wrong if later rows compensate. This promise holds
    for every halting time: ``P(disagreement | leaves by stage t) <= risk`` for all t.

    The rows are split at random. On one part, each stage in turn takes the boldest scale at which the rows that have
    left by then pass a test. On the other part, stages are opened one by one from the last to the first. Each opening
    must pass the exact binomial test for that stage and for all later ones; the first failure ends the sequence, and
    earlier stages stay closed. Then the promise holds for all t at once with probability `confidence`, with no
    correction for the number of stages, because every step requires all of its tests to pass (an intersection-union
    test) and the steps have a fixed order.

    Parameters
    ----------
    stage_scores : StageScores
        Those of the certificate rows, from the engine, in the dtype that will be served. Nothing else may depend on
        them.
    boundary : Boundary
        Both sides of a stage share one scale.
    risk, confidence : float
        Strictly between 0 and 1.
    screening_fraction : float, default=0.5
        Share of the rows on which the scales are chosen; the others test them.
    groups : array-like of shape (N,), optional
        Use one random row of every group.
    random_state : int or Generator, default=0
        For the split and for `groups`.

    Returns
    -------
    HaltTimeCertificate
        All stages closed if not even the last one passes.

    Raises
    ------
    ValueError
        For parameters out of range, or stage scores that do not fit the boundary.

    References
    ----------
    L. Ringel, R. Cohen, D. Freedman, M. Elad and Y. Romano, "Early Time Classification with Accumulated Accuracy Gap
    Control", ICML 2024. Their loss is the loss of accuracy; here it is the disagreement, which needs no labels.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> full = rng.normal(size=8000)
    >>> seen = full[:, None] + rng.normal(size=(8000, 2)) * [0.4, 0.1]
    >>> stage_scores = StageScores(full=(full > 0).astype(np.int32), margins=seen)
    >>> boundary = Boundary.symmetric(0.0, [0.4, 0.1])
    >>> certificate = certify_by_halt_time(stage_scores, boundary, risk=0.02, confidence=0.95)
    >>> print(certificate)
    disagreement <= 2 % among the rows that leave by any stage, with 95 % confidence: at worst 58 of 3824 rows
    leaving by stage 1
    >>> [(rows.n_rows, rows.n_disagreements) for rows in certificate.strata]
    [(1980, 14), (3824, 58)]
    """
    for name, share in (("risk", risk), ("confidence", confidence), ("screening_fraction", screening_fraction)):
        require_fraction("certify_by_halt_time", name, share)
    if boundary.n_stages != stage_scores.n_stages:
        raise ValueError(f"The boundary has {boundary.n_stages} stages, the stage scores {stage_scores.n_stages}.")
    if stage_scores.truth is not None:
        raise ValueError("certify_by_halt_time counts disagreements: leave the true labels of stage_scores out.")
    rng = np.random.default_rng(random_state)
    stage_scores = ungrouped(stage_scores, groups, rng)
    shuffled = rng.permutation(stage_scores.n_rows)
    n_screened = round(screening_fraction * stage_scores.n_rows)
    screened, tested = stage_scores.take(shuffled[:n_screened]), stage_scores.take(shuffled[n_screened:])

    candidates = _screen(screened, boundary, risk, (1.0 - confidence) / _SCREENING)

    def opened_from(t: int) -> _Opened:
        q = np.where(np.arange(boundary.n_stages) >= t, candidates, np.inf)
        scaled = _scaled(boundary, q)
        return t, q, scaled, _cumulated(tested, scaled)

    steps = map(opened_from, np.flatnonzero(np.isfinite(candidates))[::-1].tolist())

    def holds(step: _Opened) -> bool:
        t, _, _, counts = step
        return passes(counts[t:], risk, confidence)

    found = fixed_sequence(steps, holds)
    _, q, scaled, strata = found.passed or opened_from(boundary.n_stages)
    return HaltTimeCertificate(scaled, risk, confidence, q, strata, tested.n_rows, groups is not None)


def _screen(stage_scores: StageScores, boundary: Boundary, risk: float, level: float) -> npt.NDArray[np.float64]:
    """Per stage, the boldest scale at which the rows that leave by then keep `risk`; infinite if there is none.

    The result is exact, because only the rows' own ratios ``distance beyond the centre / scale`` need to be tried.
    """
    q = np.full(boundary.n_stages, np.inf)
    active = np.ones(stage_scores.n_rows, dtype=bool)
    n_left = n_wrong = 0
    for t in range(boundary.n_stages):
        ratio, wrong = _ratios(stage_scores, boundary, t)
        rows = np.flatnonzero(active & (ratio > 0.0))  # others are on the wrong side of the centre
        rows = rows[np.argsort(-ratio[rows], kind="stable")]
        ranked = ratio[rows]
        n = n_left + np.arange(1, rows.size + 1)
        k = n_wrong + np.cumsum(wrong[rows])
        below = np.append(ranked[1:], 0.0)  # the scale at which the first i rows leave is the next row's ratio
        good = np.flatnonzero((special.bdtr(k, n, risk) <= level) & (below < ranked) & np.isfinite(ranked))
        if good.size:
            i = good[-1]
            q[t] = below[i]
            n_left, n_wrong = int(n[i]), int(k[i])
            active[rows[: i + 1]] = False
    return q


def _ratios(
    stage_scores: StageScores, boundary: Boundary, t: int
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Scale below which each row leaves at stage `t`, and whether that exit is wrong."""
    seen = stage_scores.margins[:, t].astype(np.float64)

    def beyond(sign: float, center: float, scale: float) -> npt.NDArray[np.float64]:
        if not (np.isfinite(center) and scale > 0.0):
            return np.full(seen.size, -np.inf)
        return np.nan_to_num(sign * (seen - center) / scale, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    up = beyond(1.0, boundary.high_center[t], boundary.high_scale[t])
    if not stage_scores.two_sided:
        return up, stage_scores.lost_at(t) > 0
    down = beyond(-1.0, boundary.low_center[t], boundary.low_scale[t])
    return np.maximum(up, down), (up > down) != (stage_scores.full == 1)


def _scaled(boundary: Boundary, q: npt.NDArray[np.float64]) -> Boundary:
    """Multiply each stage's scales by its own factor; an infinite one closes the stage."""
    is_open = np.isfinite(q)
    factor = np.where(is_open, q, 0.0)
    return Boundary(
        np.where(is_open, boundary.low_center, -np.inf),
        factor * boundary.low_scale,
        np.where(is_open, boundary.high_center, np.inf),
        factor * boundary.high_scale,
    )


def _cumulated(stage_scores: StageScores, boundary: Boundary) -> tuple[Stratum, ...]:
    """Count the rows that leave by each stage, and those among them that disagree."""
    codes, stage = stage_scores.leave(*boundary.thresholds(1.0, stage_scores.dtype))
    n = np.cumsum(np.bincount(stage, minlength=stage_scores.n_stages + 1))
    k = np.cumsum(np.bincount(stage[codes != stage_scores.full], minlength=stage_scores.n_stages + 1))
    return tuple(Stratum(f"rows leaving by stage {t}", int(n[t]), int(k[t])) for t in range(stage_scores.n_stages))
