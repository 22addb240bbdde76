"""Calibrate a one-sided boundary by order statistics of the protected rows' distances beyond it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
import numpy.typing as npt

from .binomial import most_disagreements, rows_needed
from .boundary import Boundary, Sides
from .certifying import ungrouped
from .stage_scores import StageScores
from .survivors import allowed
from .validation import require_fraction, require_option

Method = Literal["conformal", "pac", "crc", "rcps"]
METHODS: tuple[Method, ...] = ("conformal", "pac", "crc", "rcps")


@dataclass(frozen=True)
class Calibration:
    """The scale of a one-sided boundary, and what it guarantees. Printed, it is one sentence.

    Attributes
    ----------
    q : float
        Serve with ``boundary.restricted(sides).thresholds(q, dtype)``; infinite if no finite scale keeps the
        promise.
    k : int
        `q` is the k-th smallest crossing of the protected rows. ``k = n_protected + 1`` stands for infinity, ``k = 0``
        for a promise that any scale keeps.
    n_protected : int
        Calibration rows that the full model puts into the protected class.
    n_rows : int
        All calibration rows.
    method, delta, confidence, sides
        As given to `calibrate`.
    rows_needed : int
        Rows (protected ones, for "conformal" and "pac") without which no finite `q` is possible.
    """

    q: float
    k: int
    n_protected: int
    n_rows: int
    method: Method
    delta: float
    confidence: float
    sides: Sides
    rows_needed: int

    @property
    def conditional(self) -> bool:
        """Whether the promise is about a protected row, rather than about any row."""
        return self.method in ("conformal", "pac")

    @property
    def guarantee(self) -> str:
        """The promise about an independent draw from the source of the calibration rows, in one sentence."""
        side, rows = ("negative", "positives") if self.sides == "negative" else ("positive", "negatives")
        event = f"P(exits as {side} | one of the {rows})" if self.conditional else f"P(exits wrongly as {side})"
        promise = f"{event} <= {self.delta:g}"
        if self.method in ("conformal", "crc"):
            return f"{promise}, on average over calibrations"
        return f"{promise} with {100 * self.confidence:g} % confidence over calibrations"

    def __str__(self) -> str:
        given = self.n_protected if self.conditional else self.n_rows
        protected = "positives" if self.sides == "negative" else "negatives"
        rows = protected if self.conditional else "rows"
        if self.k > self.n_protected:
            needed = str(self.rows_needed) if self.rows_needed < 10**15 else "more than 10^15"
            return f"no early exit: {needed} calibration {rows} needed, {given} given"
        if self.q == math.inf:
            return f"no early exit: too many {protected} cross thresholds that no q moves"
        return f"{self.guarantee}: q = {self.q:.6g}, from {self.n_protected} {protected} of {self.n_rows} rows"


def calibrate(
    stage_scores: StageScores,
    boundary: Boundary,
    *,
    delta: float,
    method: Method = "conformal",
    confidence: float = 0.95,
    sides: Sides = "negative",
    groups: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator = 0,
) -> Calibration:
    """Find the boldest scale of a one-sided boundary that keeps a promise about protected rows.

    A row's crossing is ``M = max over stages of (distance beyond the centre) / scale``: it leaves early at scale q
    if and only if M > q. On one side, the number of mistakes does not rise with q, so q is an order statistic of the
    crossings of the protected rows. The full model is the reference, so no labels are needed.

    * "conformal": P(mistake | protected row) <= delta, on average over calibrations.
    * "pac": the same conditional probability is at most delta in a share `confidence` of all calibrations.
    * "crc" (conformal risk control): P(mistake) <= delta for any row, on average over calibrations.
    * "rcps" (risk-controlling prediction sets): P(mistake) <= delta in a share `confidence` of all calibrations.

    Parameters
    ----------
    stage_scores : StageScores
        Those of the calibration rows, from the engine, in the dtype that will be served. Nothing else (order, readouts,
        form of the boundary) may depend on these rows.
    boundary : Boundary
        Restricted to the side `sides`.
    delta : float
        Strictly between 0 and 1.
    method : {"conformal", "pac", "crc", "rcps"}, default="conformal"
    confidence : float, default=0.95
        For "pac" and "rcps"; strictly between 0 and 1.
    sides : {"negative", "positive"}, default="negative"
        "negative": rows leave as negative only, and a mistake is a positive that does.
    groups : array-like of shape (N,), optional
        Calibrate on one random row of every group.
    random_state : int or Generator, default=0
        For `groups`.

    Returns
    -------
    Calibration
        With ``q = inf`` if the rows are too few; printed, it says how many are needed.

    Raises
    ------
    ValueError
        For parameters out of range, multiclass stage scores, shapes that do not fit, and two-sided promises:
        a looser side can let a row out before it would make a mistake on the other, so the disagreement of both
        together need not fall as q grows. `certify` handles those. Or calibrate each side for itself, at
        ``(1 + confidence) / 2`` each if both promises are to hold together.

    References
    ----------
    V. Vovk, "Conditional validity of inductive conformal predictors", ACML 2012 ("pac"). A. Angelopoulos, S. Bates,
    A. Fisch, L. Lei and T. Schuster, "Conformal risk control", ICLR 2024. S. Bates et al., "Distribution-free,
    risk-controlling prediction sets", Journal of the ACM 68(6), 2021.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> full = rng.normal(size=3000)
    >>> stage_scores = StageScores(full=(full > 0).astype(np.int32), margins=(full + rng.normal(size=3000))[:, None])
    >>> print(calibrate(stage_scores, Boundary.symmetric([0.0], [1.0]), delta=0.01, method="pac"))
    P(exits as negative | one of the positives) <= 0.01 with 95 % confidence over calibrations: q = 1.92023,
    from 1436 positives of 3000 rows
    """
    require_fraction("calibrate", "delta", delta)
    require_option("calibrate", "method", method, METHODS)
    require_fraction("calibrate", "confidence", confidence)
    if sides not in ("positive", "negative"):
        raise ValueError(
            f"calibrate needs sides='negative' or 'positive', as only one side's mistakes are sure to become fewer "
            f"when q grows. Got {sides!r} instead: use certify, or calibrate each side for itself."
        )
    if not stage_scores.two_sided:
        raise ValueError("calibrate is for binary models; certify others.")
    if boundary.n_stages != stage_scores.n_stages:
        raise ValueError(f"The boundary has {boundary.n_stages} stages, the stage scores {stage_scores.n_stages}.")
    if stage_scores.truth is not None:
        raise ValueError("calibrate is about the full model's answers: leave the true labels of stage_scores out.")
    stage_scores = ungrouped(stage_scores, groups, random_state)
    protected = stage_scores.take(stage_scores.full == int(sides == "negative"))
    boundary = boundary.restricted(sides)
    n, n_all = protected.n_rows, stage_scores.n_rows
    mistakes = allowed_mistakes(method, n if method in ("conformal", "pac") else n_all, delta, confidence)
    q, k = math.inf, n + 1
    if mistakes is not None:
        k = max(0, n - mistakes)
        q = _scale(crossings(protected, boundary), k, protected, boundary)
    return Calibration(q, k, n, n_all, method, delta, confidence, sides, _rows_needed(method, delta, confidence))


def allowed_mistakes(method: Method, n: int, delta: float, confidence: float) -> int | None:
    """How many of `n` calibration rows may leave wrongly; None if not even 0 keeps the promise.

    Examples
    --------
    >>> [1000 - allowed_mistakes(method, 1000, 0.01, 0.95) for method in ("conformal", "pac")]
    [991, 996]
    """
    average = method in ("conformal", "crc")  # (mistakes + 1) / (n + 1) <= delta: the new row counts as a mistake
    most = allowed(delta, n + 1) - 1 if average else most_disagreements(n, delta, confidence)
    return most if most >= 0 else None


def crossings(stage_scores: StageScores, boundary: Boundary) -> npt.NDArray[np.float64]:
    """Scale below which each row leaves early on a side of the boundary that is open, of shape (N,).

    -inf: the row never leaves. +inf: it leaves at any finite scale, having passed a threshold of scale 0.
    """
    most = np.full(stage_scores.n_rows, -np.inf)
    for sign, center, scale in boundary.sides():
        for t in np.flatnonzero(np.isfinite(center)):
            beyond = sign * (stage_scores.margins[:, t].astype(np.float64) - center[t])
            ratio = beyond / scale[t] if scale[t] > 0.0 else np.where(beyond > 0.0, np.inf, -np.inf)
            most = np.fmax(most, ratio)  # NaN never leaves
    return most


def _scale(values: npt.NDArray[np.float64], k: int, protected: StageScores, boundary: Boundary) -> float:
    """Return the k-th smallest crossing, at least 0: the least scale at which all but k rows may leave."""
    q = max(0.0, float(np.partition(values, k - 1)[k - 1])) if k > 0 else 0.0
    if not math.isfinite(q):
        return math.inf
    # Thresholds are rounded, so q grows until no more rows leave by the engine's own comparisons.
    step = np.spacing(max(q, _largest_ratio(boundary)))
    while _n_leaving(protected, boundary, q) > len(values) - k:
        q, step = q + step, 2.0 * step
    return q


def _largest_ratio(boundary: Boundary) -> float:
    """Largest ``|centre| / scale``; the rounding errors of q are relative to it."""
    ratios = [0.0]
    for _, center, scale in boundary.sides():
        some = scale > 0.0
        ratios.extend((np.abs(center[some]) / scale[some]).tolist())
    return max(ratios)


def _n_leaving(stage_scores: StageScores, boundary: Boundary, q: float) -> int:
    _, stage = stage_scores.leave(*boundary.thresholds(q, stage_scores.dtype))
    return int(np.count_nonzero(stage < stage_scores.n_stages))


def _rows_needed(method: Method, delta: float, confidence: float) -> int:
    """Least n with which `allowed_mistakes` is not None."""
    if method in ("pac", "rcps"):
        return rows_needed(delta, confidence)
    n = math.ceil(1 / Fraction(delta))  # exact, however small delta is
    return n - 2 if n < 1e15 and 1 / (n - 1) <= delta else n - 1  # 0.01 is a little less than 1 / 100
