"""The way of every row of a group through a race, by the rules of the engine, for people to follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class GroupPaths:
    """A group in a race: what every stage knew, and where its rows ended.

    Attributes
    ----------
    estimates : float32 ndarray of shape (n_rows, n_stages)
    reach : float32 ndarray of shape (n_rows, n_stages)
        How far below a place an estimate may lie before the row leaves: q of its usual errors.
    racing : int64 ndarray of shape (n_stages,)
        Rows that come to each stage.
    places : int64 ndarray of shape (n_stages,)
        Places that are not certain yet.
    last, following : float32 ndarray of shape (n_stages,)
        The estimate on the last of these places, and the one behind it; NaN for stages that no row comes to.
    stages : int32 ndarray of shape (n_rows,)
        The stage at which each row left; the number of stages for one that stayed.
    settled : int32 ndarray of shape (n_rows,)
        The last stage that each row took: at which it left, or its place was certain, or no row had to leave any more;
        -1 in a group that does not race.
    certain : bool ndarray of shape (n_rows,)
        Whether it stayed because its place was certain.
    """

    estimates: Singles
    reach: Singles
    racing: NDArray[np.int64]
    places: NDArray[np.int64]
    last: Singles
    following: Singles
    stages: NDArray[np.int32]
    settled: NDArray[np.int32]
    certain: NDArray[np.bool_]

    @property
    def leads(self) -> Floats:
        """How far every row lies in front of the border between places and others, in parts of its reach.

        A row leaves below -1, and its place is certain above 1. Of rows in front of the border, the lead is that over
        the first estimate behind it; of the others, the distance to the last place.
        """
        z = self.estimates.astype(np.float64)
        border = np.where(z >= self.last, self.following, self.last)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((z - border) / self.reach)


def followed(estimates: Singles, errors: Singles, k: int, q: float) -> GroupPaths:
    """Follow the rows of one group through a race.

    Parameters
    ----------
    estimates, errors : float32 ndarray of shape (n_rows, n_stages)
        From `Race.trace`.
    k : int
    q : float
    """
    n, n_stages = estimates.shape
    z, reach = np.where(np.isnan(estimates), np.float32(np.inf), estimates), np.float32(q) * errors
    racing, places = np.arange(n), k
    counts, left_places = np.zeros(n_stages, np.int64), np.zeros(n_stages, np.int64)
    last, following = np.full(n_stages, np.nan, np.float32), np.full(n_stages, np.nan, np.float32)
    stages, settled = np.full(n, n_stages, np.int32), np.full(n, -1, np.int32)
    certain = np.zeros(n, dtype=bool)
    for t in range(n_stages):
        if len(racing) <= places or places == 0:
            break
        here, reached = z[racing, t], reach[racing, t]
        counts[t], left_places[t] = len(racing), places
        ordered = -np.sort(-here)
        last[t], following[t] = ordered[places - 1], ordered[places]
        settled[racing] = t
        leaves = here + reached < last[t]
        stays = ~leaves & (here - reached > following[t])
        stages[racing[leaves]] = t
        certain[racing[stays]] = True
        places -= int(np.count_nonzero(stays))
        racing = racing[~leaves & ~stays]
    return GroupPaths(z, reach, counts, left_places, last, following, stages, settled, certain)
