"""The walk of a certificate from cautious to bold scales, in which a row is asked about once it would leave early.

A row that does not leave at a scale loses nothing there, whatever the model says of it. So the walk finds the same
counts as with all answers known, and ends at the same scale.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...stopping import Boundary, StageScores
from ...stopping.core.certifying import counts_along
from ...stopping.core.risks import Line
from ...stopping.core.stratum import Stratum

Indices = NDArray[np.intp]
Floats = NDArray[np.float64]

#: Code of an answer that is not known.
UNKNOWN = -1
#: Fewest rows that are asked together: so many at most are asked in vain where the walk ends.
LEAST_BLOCK = 64
#: A block has so many rows that this part of the losses that are still allowed is expected among them, by the rate of
#: the block before; and at most this part of the rows that were asked before.
EXPECTED_LOSSES, GROWTH = 0.5, 0.25


def lazy_walk(
    scores: StageScores,
    boundary: Boundary,
    grid: Floats,
    lines: Sequence[Line],
    passes: Callable[[tuple[Stratum, ...]], bool],
    most: int,
    ask: Callable[[Indices], NDArray[np.int32]],
    room: int | None,
) -> tuple[StageScores, int]:
    """Walk along the scales until one fails, and ask for the answers of rows that would leave.

    Rows are asked in blocks. While few of the allowed losses are found, blocks are large; they become smaller when the
    end comes near.

    Parameters
    ----------
    scores : StageScores
        Those of the certificate rows; the full answer of a row is `UNKNOWN` unless it is known.
    boundary : Boundary
    grid : float64 array of shape (n_steps,)
        Falling.
    lines : sequence of Line
        Strata of all rows, since the class of an unknown row is not known.
    passes : callable
        Whether the counts at a scale prove what is promised. What it refuses, it must refuse with larger losses, too.
    most : int
        About the most losses with which a scale passes; it decides how many rows are asked together.
    ask : callable
        Gets places of rows and gives their full answers.
    room : int or None
        Most rows that may be asked; None: all.

    Returns
    -------
    scores : StageScores
        With the answers of the rows that were asked; the others have NaN as margins, with which no row leaves.
    n_steps : int
        Scales that were tested. The counts of `scores` are right at all of them, but for the last one if it fails:
        there, rows that were not asked may lose more.
    """
    reach = leaves_below(scores, boundary)
    order = np.argsort(-reach, kind="stable")
    ends = np.searchsorted(-reach[order], -grid, side="right")
    full = scores.full.copy()
    paid = np.concatenate([[0], np.cumsum(full[order] == UNKNOWN)])  # of the first rows in this order
    limit = len(order) if room is None else int(np.searchsorted(paid, room, side="right")) - 1
    seen, step, lost = 0, 0, 0.0
    block, n_asked, lost_before = max(LEAST_BLOCK, most + 1), 0, 0.0
    while True:
        some = known_only(scores, full)
        for _, strata in counts_along(some, boundary, grid[step:], lines):
            partly = ends[step] > seen
            if not passes(strata):
                return some, step + 1
            if partly:
                break
            lost, step = strata[0].n_disagreements, step + 1
        if step == len(grid):
            return some, step
        if n_asked:
            rate = max(lost - lost_before + 1, 1) / n_asked
            expected = EXPECTED_LOSSES * max(1.0, most + 1 - lost) / rate
            block, lost_before = max(LEAST_BLOCK, min(round(expected), round(GROWTH * paid[seen]))), lost
        aim = int(np.searchsorted(paid, paid[seen] + block, side="right")) - 1
        if aim >= limit:  # of a step that cannot be tested no row is asked
            whole = ends[ends <= limit]
            aim = int(whole[-1]) if len(whole) else 0
        aim = min(aim, int(ends[-1]))
        if aim <= seen:
            return some, step
        places = order[seen:aim]
        places = places[full[places] == UNKNOWN]
        if len(places):
            full[places] = ask(places)
        seen, n_asked = aim, len(places)


def known_only(scores: StageScores, full: NDArray[np.int32]) -> StageScores:
    """Scores with which no row leaves early whose full answer is `UNKNOWN`."""
    margins = scores.margins.copy()
    margins[full == UNKNOWN] = np.nan
    return replace(scores, full=np.maximum(full, 0), margins=margins)


def leaves_below(scores: StageScores, boundary: Boundary) -> Floats:
    """Scale of each row above which it does not leave early; -inf if it leaves at no scale."""
    reach = np.full(scores.n_rows, -np.inf)
    for sign, centers, scales in boundary.sides(scores.two_sided):
        for t, (center, scale) in enumerate(zip(sign * centers, scales, strict=True)):
            beyond = sign * scores.margins[:, t].astype(np.float64)
            with np.errstate(all="ignore"):  # disabled sides, scores that are not finite
                # The slack of 1e-12 is far above the rounding of a threshold.
                room = beyond - center + 1e-12 * (np.abs(beyond) + np.abs(center))
                least = room / scale if scale > 0.0 else np.inf
            np.copyto(reach, np.maximum(reach, least), where=room >= 0.0)
    return reach
