"""Certification: the boldest scale `q` that certificate rows prove."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...utils.stage_table import FloatArray
from .binomial import shared_confidence
from .boundary import Boundary
from .certificate import Certificate, Reference, Status
from .fixed_sequence import fixed_sequence
from .risks import Line, Promised, Risk, promised, require_risk
from .row_groups import group_numbers
from .stage_scores import StageScores
from .stratum import Stratum, failure_of, passes
from .validation import require_fraction

#: Number of scales in a grid; the chosen scale is on average half a step more cautious than necessary.
N_STEPS = 1000
#: Scales that are evaluated at once: at most so many, and no more than make so many comparisons. Later ones than the
#: first that fails are in vain.
_MOST_SCALES, _MOST_VALUES = 64, 1 << 16


def q_grid(stage_scores: StageScores, boundary: Boundary, n_steps: int = N_STEPS) -> npt.NDArray[np.float64]:
    """Choose the scales to try, before the certificate rows are seen.

    The first is twice the largest ``|z - centre| / scale`` on the given rows, so that none of them leaves. The last is
    a hundredth of the smallest median of this ratio at any stage and side, where about 99 of 100 rows leave at the
    first stage.

    Parameters
    ----------
    stage_scores : StageScores
        Those of rows other than the certificate rows, such as those on which the boundary was fitted.
    boundary : Boundary
    n_steps : int, default=1000

    Returns
    -------
    float64 array of shape (n_steps,)
        Geometric and falling.

    Examples
    --------
    >>> import numpy as np
    >>> stage_scores = StageScores(full=np.array([0, 1, 1]), margins=np.array([[-1.0], [2.0], [4.0]]))
    >>> grid = q_grid(stage_scores, Boundary.symmetric([0.0], [0.5]))
    >>> grid.shape, round(float(grid[0]), 9), round(float(grid[-1]), 9)
    ((1000,), 16.0, 0.04)
    """
    largest, medians = 0.0, []
    for _, center, scale in boundary.sides(stage_scores.two_sided):
        for t in np.flatnonzero(scale > 0.0):
            ratio = np.abs(stage_scores.margins[:, t].astype(np.float64) - center[t]) / scale[t]
            ratio = ratio[np.isfinite(ratio)]
            if ratio.size:
                largest = max(largest, float(ratio.max()))
                medians.append(float(np.median(ratio)))
    first = 2.0 * largest or 1.0
    # Distances of 0 can make the median 0, so the grid spans at most ten decades.
    last = max(0.01 * min(medians, default=first), 1e-10 * first)
    return np.geomspace(first, last, n_steps)


def one_row_per_group(groups: npt.ArrayLike, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """Pick one random row of every group; returns their indices in rising order.

    Rows of one user, document or day depend on each other; one row of each is an independent draw.

    Examples
    --------
    >>> import numpy as np
    >>> one_row_per_group(["a", "b", "b"], np.random.default_rng(0)).shape
    (2,)
    """
    labels = group_numbers(groups)
    shuffled = rng.permutation(len(labels))
    _, first = np.unique(labels[shuffled], return_index=True)
    return np.sort(shuffled[first])


def ungrouped(
    stage_scores: StageScores, groups: npt.ArrayLike | None, random_state: int | np.random.Generator
) -> StageScores:
    """Keep one random row of every group, or all rows without groups; raises ValueError if the groups do not fit."""
    if groups is None:
        return stage_scores
    if len(np.asarray(groups)) != stage_scores.n_rows:
        raise ValueError(f"groups must name the group of each of the {stage_scores.n_rows} rows.")
    return stage_scores.take(one_row_per_group(groups, np.random.default_rng(random_state)))


def certify(
    stage_scores: StageScores,
    boundary: Boundary,
    *,
    risk: Risk,
    confidence: float,
    q_grid: npt.ArrayLike,
    groups: npt.ArrayLike | None = None,
    classes: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator = 0,
    n_splits: int = 1,
    event: str = "disagreement",
    kind: str = "class",
) -> Certificate:
    """Find the boldest scale at which the rows still prove that early answers differ by at most `risk`.

    The scales are tested in their given order. Each test adds up the losses of early answers and compares a p-value
    with 1 - `confidence`: the exact binomial one where losses are 0 or 1, that of `paired_p_value` where true labels
    are given, else that of `betting_p_value`, for losses in the order of the rows. Testing ends at the first failure,
    and the last scale that passed is kept. Then P(mean loss <= risk) >= confidence over the draw of the rows, with no
    correction for the number of scales and no assumption on the model, if the rows are independent draws from those to
    be served and nothing else (order, readouts, form of the boundary, `q_grid`) depends on them.

    Parameters
    ----------
    stage_scores : StageScores
        Those of the certificate rows, from the engine, in the dtype that will be served. With true labels (``truth``),
        the promise is that the share of wrong labels is at most `risk` above that of the full model, and a class stands
        for the rows that truly belong to it.
    boundary : Boundary
        Serve with ``boundary.thresholds(certificate.q, stage_scores.dtype)``, after ``boundary.restricted`` to the
        sides that a bound of 0 leaves open.
    risk : float, or dict from stratum to float
        Bounds strictly between 0 and 1: for any row; or by stratum, with one `q`. A stratum is a class label, for the
        rows that the full model puts into this class; "all", for all rows; or "each", for each class that is not named.
        Behind "predicted ", as in "predicted fraud", it is the rows that get this answer, early or in full. Without
        "all", a row that differs must have a bound by one of its two answers. Of two classes, one may have the bound 0:
        then no row leaves as the other class, or, behind "predicted ", as this one. "positive" and "negative" may stand
        for the second and the first of two classes.
    confidence : float
        Strictly between 0 and 1.
    q_grid : array-like of positive floats
        Falling strictly; from `q_grid`.
    groups : array-like of shape (N,), optional
        Certify one random row of every group. The promise is then about a random row of a random group, for groups
        that are independent draws; large groups count no more than small ones.
    classes : array-like of shape (n_classes,), optional
        Labels of the codes, for promises by class. Multiclass models need them, because a class without certificate
        rows would go unnoticed. By default, the labels of a binary model are 0 and 1.
    random_state : int or Generator, default=0
        For `groups`.
    n_splits : int, default=1
        Number of certificates from which one will be kept. Each belongs to another plan and is on rows that this plan
        has not seen, though others may have. Each is tested with 1 - (1 - `confidence`) / `n_splits`.
    event : str, default="disagreement"
        Noun for an early answer that loses.
    kind : str, default="class"
        What the rows of one answer are called.

    Returns
    -------
    Certificate
        With ``q = inf`` and the reason if no scale passed.

    Raises
    ------
    ValueError
        For parameters out of range, strata that `classes` does not have, and strata by predicted classes where true
        labels are given.

    References
    ----------
    A. Angelopoulos, S. Bates, E. Candes, M. Jordan, L. Lei, "Learn then Test": fixed-sequence testing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> full = rng.normal(size=5000)
    >>> seen = full + 0.1 * rng.normal(size=5000)
    >>> stage_scores = StageScores(full=(full > 0).astype(np.int32), margins=seen[:, None])
    >>> boundary, grid = Boundary.symmetric([0.0], [0.1]), np.geomspace(50, 0.01, 200)
    >>> certificate = certify(stage_scores, boundary, risk=0.01, confidence=0.95, q_grid=grid)
    >>> print(certificate)
    disagreement <= 1 % with 95 % confidence: 38 of 5 000 rows
    >>> print(certify(stage_scores, boundary, risk={"all": 0.01, 1: 0.005}, confidence=0.95, q_grid=grid))
    disagreement <= 1 %, <= 0.5 % within class 1, all with 95 % confidence: 9 of 5 000 rows, 3 of 2 443 rows of class 1
    """
    require_fraction("certify", "confidence", confidence)
    promise = _promised("certify", risk, stage_scores, classes, kind)
    if promise.risk is None or promise.risk == 0:
        raise ValueError(f"The 'risk' of certify must lie strictly between 0 and 1. Got {risk!r} instead.")
    bound = promise.risk
    if n_splits < 1:
        raise ValueError(f"certify: n_splits must be at least 1. Got {n_splits!r}.")
    tested = shared_confidence(confidence, n_splits)
    grid = _checked(q_grid)
    stage_scores = ungrouped(stage_scores, groups, random_state)
    counts = counts_along(stage_scores, boundary.restricted(promise.sides), grid, promise.lines)

    def holds(step: tuple[float, tuple[Stratum, ...]]) -> bool:
        return passes(step[1], bound, tested)

    found = fixed_sequence(counts, holds)
    grouped = groups is not None
    if found.passed is None:
        strata = found.failed[1] if found.failed is not None else ()
        status: Status = failure_of(strata, bound, tested)
        q = math.inf
    else:
        status, (q, strata) = "certified", found.passed
    strata = tuple(s.counted(bound, tested) for s in strata)
    about, reference = promise.about, _reference(stage_scores)
    return Certificate(
        status,
        bound,
        confidence,
        about,
        q,
        strata,
        grouped=grouped,
        n_splits=n_splits,
        event=event,
        reference=reference,
    )


def measure(
    stage_scores: StageScores,
    boundary: Boundary,
    *,
    risk: Risk = None,
    confidence: float = 0.95,
    q: float = 1.0,
    groups: npt.ArrayLike | None = None,
    classes: npt.ArrayLike | None = None,
    random_state: int | np.random.Generator = 0,
    event: str = "disagreement",
    kind: str = "class",
) -> Certificate:
    """Count the disagreements of a rule used as published (`q` = 1), and promise nothing.

    Parameters are those of `certify`, but for the bounds in `risk`, which are None (or 0, for a class of which no row
    may differ). With several strata, the certificate's `intervals` hold for all of them at once; that of the worst is
    printed.

    Examples
    --------
    >>> import numpy as np
    >>> stage_scores = StageScores(full=np.array([0] * 96 + [1] * 11904), margins=np.ones((12000, 1)))
    >>> print(measure(stage_scores, Boundary.symmetric([0.0], [0.0])))
    measured disagreement 0.8 % (95 % interval 0.65 % to 0.98 %), 96 of 12 000 rows; not a promise
    """
    require_fraction("measure", "confidence", confidence)
    promise = _promised("measure", risk, stage_scores, classes, kind)
    if promise.risk is not None:
        raise ValueError(f"measure promises nothing: the bounds in risk are None. Got {risk!r} instead.")
    stage_scores = ungrouped(stage_scores, groups, random_state)
    _, strata = next(counts_along(stage_scores, boundary.restricted(promise.sides), [q], promise.lines))
    strata = tuple(replace(stratum, losses=None) for stratum in strata)
    grouped = groups is not None
    about, reference = promise.about, _reference(stage_scores)
    return Certificate(
        "measured", None, confidence, about, q, strata, grouped=grouped, event=event, reference=reference
    )


def _reference(stage_scores: StageScores) -> Reference:
    """What answers are compared with."""
    return "model" if stage_scores.truth is None else "labels"


def _promised(owner: str, risk: Risk, stage_scores: StageScores, classes: npt.ArrayLike | None, kind: str) -> Promised:
    """Read a risk by the labels of the codes; those of a binary model are 0 and 1 by default."""
    require_risk(risk, f"{owner}: ")
    if isinstance(risk, Mapping) and set(risk) != {"all"} and classes is None and not stage_scores.two_sided:
        raise ValueError(f"{owner} with a risk by class needs classes=, lest a class without rows goes unnoticed.")
    found = promised(risk, np.arange(2) if classes is None else classes, kind)
    early = next((line.name for line in found.lines if line.early), None)
    if early is not None and stage_scores.truth is not None:
        raise ValueError(
            f"{owner}: risk bounds the {early}, to which the model gives other rows, and true labels are given: name "
            "the true labels of rows, or leave truth out."
        )
    return found


def counts_along(
    stage_scores: StageScores,
    boundary: Boundary,
    grid: npt.ArrayLike,
    about: Sequence[Line],
) -> Iterator[tuple[float, tuple[Stratum, ...]]]:
    """Count rows and losses of every stratum at each scale of the grid in turn.

    Only rows that can lose or gain something at a scale are evaluated there; while `q` is cautious, these are few.
    Scales are evaluated several at a time, and rows are counted anew only where an answer or a loss changes.
    """
    members = [line.members(stage_scores.right) for line in about]
    sizes = [int(np.count_nonzero(mask)) for mask in members]

    def counted(
        rows: npt.NDArray[np.intp], full: npt.NDArray[np.int32], answers: npt.NDArray[np.int32], lost: npt.NDArray[Any]
    ) -> tuple[Stratum, ...]:
        if stage_scores.truth is not None:
            worse, better = rows[lost > 0], rows[lost < 0]
            pairs = [tuple(int(np.count_nonzero(mask[which])) for which in (worse, better)) for mask in members]
            return tuple(
                Stratum(line.name, n, more, line.risk, n_better=fewer)
                for line, n, (more, fewer) in zip(about, sizes, pairs, strict=True)
            )
        if stage_scores.losses is None:
            counts = [line.counts(n, full[lost], answers[lost]) for line, n in zip(about, sizes, strict=True)]
            return tuple(Stratum(line.name, *count, line.risk) for line, count in zip(about, counts, strict=True))
        losses, given = np.zeros(stage_scores.n_rows), stage_scores.full.copy()
        losses[rows], given[rows] = lost, answers
        masks = [line.members(given) if line.early else own for line, own in zip(about, members, strict=True)]
        return tuple(_of_losses(line, losses[mask]) for line, mask in zip(about, masks, strict=True))

    reach = _loses_below(stage_scores, boundary, any(line.early for line in about))
    by_reach = np.argsort(-reach, kind="stable")
    rising = -reach[by_reach]
    left = np.asarray(grid, dtype=np.float64)
    while len(left):
        n = min(len(left), _MOST_SCALES)
        while True:
            rows = by_reach[: np.searchsorted(rising, -left[:n].min(), side="right")]
            if n == 1 or n * len(rows) * stage_scores.n_stages <= _MOST_VALUES:
                break
            n //= 2
        some = stage_scores.take(rows)
        answers, stages = some.leave_along(*boundary.thresholds_along(left[:n], stage_scores.dtype))
        lost = some.lost(answers, stages)
        same = (answers[1:] == answers[:-1]).all(axis=1) & (lost[1:] == lost[:-1]).all(axis=1)
        strata = counted(rows, some.full, answers[0], lost[0])
        yield float(left[0]), strata
        for i, (q, unchanged) in enumerate(zip(left[1:n].tolist(), same.tolist(), strict=True), start=1):
            if not unchanged:
                strata = counted(rows, some.full, answers[i], lost[i])
            yield q, strata
        left = left[n:]


def _of_losses(line: Line, losses: npt.NDArray[np.float64]) -> Stratum:
    """Sum up the losses of a stratum. Losses between 0 and 1 are kept in the order of the rows, which p-values need."""
    total = float(losses.sum())
    if ((losses == 0.0) | (losses == 1.0)).all():
        return Stratum(line.name, len(losses), int(total), line.risk)
    return Stratum(line.name, len(losses), total, line.risk, losses=losses)


def _loses_below(stage_scores: StageScores, boundary: Boundary, or_differs: bool) -> npt.NDArray[np.float64]:
    """Scale of each row above which no exit loses or gains anything, or none differs; -inf if none does at all."""
    reach = np.full(stage_scores.n_rows, -np.inf)
    for sign, centers, scales in boundary.sides(stage_scores.two_sided):
        for t, (center, scale) in enumerate(zip(sign * centers, scales, strict=True)):
            beyond = sign * stage_scores.margins[:, t].astype(np.float64)
            loses = stage_scores.lost_at(t, sign > 0) != 0
            if or_differs:
                given = np.int32(sign > 0) if stage_scores.answers is None else stage_scores.answers[:, t]
                loses |= given != stage_scores.full
            with np.errstate(all="ignore"):  # disabled sides, scores that are not finite
                # The slack of 1e-12 is far above the rounding of a threshold.
                room = beyond - center + 1e-12 * (np.abs(beyond) + np.abs(center))
                least = room / scale if scale > 0.0 else np.inf
            np.copyto(reach, np.maximum(reach, least), where=loses & (room >= 0.0))
    return reach


def _checked(q_grid: npt.ArrayLike) -> FloatArray:
    grid = np.asarray(q_grid, dtype=np.float64)
    usable = grid.ndim == 1 and grid.size > 0 and bool(np.isfinite(grid).all() and (grid > 0).all())
    if not usable or (np.diff(grid) >= 0).any():
        raise ValueError("q_grid must hold finite positive numbers that fall strictly: from cautious to bold.")
    return grid
