"""Choice of the stages of a race, by the work that they take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..models.protocols import Summed
from ..plan.sums import ANCHOR_RATIO, MOST_SUMS
from .groups import Indices, RowGroups
from .measures import Floats

#: Trees of the first stage that a ladder may have, and the ratio from one stage to the next.
FIRST, RATIO = 4, 1.3
#: Work of a decision about a row, in the unit of `Summed.pass_work`: nanoseconds of one machine.
DECISION = 6.0


def fine_stages(n_trees: int) -> Indices:
    """Numbers of trees after which stages may come."""
    found, m = [], float(min(FIRST, n_trees))
    while round(m) < n_trees:
        found.append(round(m))
        m = max(m * RATIO, m + 1)
    return np.array(found or [n_trees], dtype=np.int64)


def sums_of(stage_terms: Indices) -> Indices:
    """Ends of the running sums that stages will have; see `wald.plan.sums.mixed_stages`."""
    found = [int(stage_terms[-1])]
    for m in stage_terms[-2::-1].tolist():
        if len(found) < MOST_SUMS and m * ANCHOR_RATIO <= found[-1]:
            found.append(m)
    return np.array(found, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Work:
    """What stages and full evaluation cost a row.

    Parameters
    ----------
    of_pass : callable
        From the first and last tree of a stage and the share of rows that reach it to the work of a row.
    full : float
    """

    of_pass: Callable[[int, int, float], float]
    full: float

    @classmethod
    def of(cls, summed: Summed, terms: Indices, sums_end: Indices, columnar: bool) -> Work:
        """The work of trees in this order, with running sums of so many trees."""
        staged = summed.pass_work(terms, sums_end, columnar)
        whole = summed.pass_work(np.sort(terms), np.array([len(terms)]), columnar)
        return cls(lambda begin, end, reached: staged(begin, end, 1, reached) + DECISION, whole(0, len(terms), 1, 1.0))

    def expected(self, stage_terms: Indices, reached: Floats) -> float:
        """Work of a row, of which the shares ``reached`` (n_stages + 1,) reach each stage and full evaluation."""
        begins = [0, *stage_terms.tolist()]
        stages = zip(begins, begins[1:], reached.tolist(), strict=False)
        early = sum(share * self.of_pass(b, e, share) for b, e, share in stages if share > 0)
        return float(early + reached[-1] * self.full)


def undecided_shares(
    estimates: NDArray[np.float32], errors: NDArray[np.float32], groups: RowGroups, k: int, q: float
) -> Floats:
    """Share of the rows that each stage would leave undecided, if it was the only one; of shape (n_stages,)."""
    stays = np.zeros(estimates.shape, dtype=bool)
    for begin, end in zip(groups.starts.tolist(), groups.ends.tolist(), strict=True):
        z = estimates[begin:end]
        if end - begin <= k:
            stays[begin:end] = True
            continue
        last_place = np.partition(z, end - begin - k, axis=0)[end - begin - k]
        stays[begin:end] = z + q * errors[begin:end] >= last_place
    shares: Floats = stays.mean(axis=0)
    return shares


def cheapest_ladder(stage_terms: Indices, undecided: Floats, work: Work) -> NDArray[np.intp]:
    """The stages that take the least work: places in ``stage_terms``; none where full evaluation takes less.

    A row pays for a stage if the stage before it has left it undecided. So the work of a ladder is a sum over
    neighbouring stages, and the least one is a shortest path.
    """
    n = len(stage_terms)
    ends, share = [0, *stage_terms.tolist()], [1.0, *undecided.tolist()]
    least, before = np.full(n + 1, np.inf), np.zeros(n + 1, dtype=np.intp)
    least[0] = 0.0
    for last in range(1, n + 1):
        for first in range(last):
            cost = least[first] + share[first] * work.of_pass(ends[first], ends[last], share[first])
            if cost < least[last]:
                least[last], before[last] = cost, first
    at = int(np.argmin(least + np.array(share) * work.full))
    chosen = []
    while at > 0:
        chosen.append(at - 1)
        at = int(before[at])
    return np.array(chosen[::-1], dtype=np.intp)


def with_one_more(ladder: tuple[int, ...], n_stages: int) -> list[tuple[int, ...]]:
    """Ladders with one more stage, in the middle between neighbours or between the last one and the end.

    Examples
    --------
    >>> with_one_more((2, 3, 7), 12)
    [(2, 3, 5, 7), (2, 3, 7, 9)]
    """
    ends = [*ladder, n_stages]
    middles = [(a + b) // 2 for a, b in pairwise(ends) if b - a > 1]
    return [tuple(sorted((*ladder, t))) for t in middles]
