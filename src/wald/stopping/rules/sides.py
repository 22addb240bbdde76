"""One side of a two-sided rule; the lower side is mirrored, so that rules compute upper boundaries only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...utils.warn import warn_caller
from ..core.boundary import Boundary, Sides
from ..core.walk import Float64Array, Moments, Walk
from ..papers.levels import DegenerateBoundaryWarning


@dataclass(frozen=True, eq=False)
class Side:
    """A binary walk for one side: exits are upwards, and protected rows have full sums below `theta`.

    Parameters
    ----------
    walk : Walk
    positive : bool
        Whether the exits are answers of code 1. Otherwise every sum is mirrored.
    """

    walk: Walk
    positive: bool

    @property
    def sign(self) -> float:
        """1 for the upper side, -1 for the mirrored lower one."""
        return 1.0 if self.positive else -1.0

    @property
    def theta(self) -> float:
        """Decision threshold on the full sum, without the intercept: sums start at 0."""
        return self.sign * (self.walk.threshold - self.walk.intercept)

    @property
    def protected(self) -> npt.NDArray[np.bool_]:
        """Mask of the rows that an exit on this side would answer wrongly, of shape (N,)."""
        return np.asarray(self.walk.full == (0 if self.positive else 1))

    def moments(self, rows: npt.NDArray[np.bool_] | None = None) -> Moments | None:
        """Take the moments of some rows (all by default); None for fewer than two rows, or without spread."""
        chosen = np.ones(len(self.walk.full), dtype=bool) if rows is None else rows
        if np.count_nonzero(chosen) < 2:
            return None
        moments = self.walk.moments(chosen)
        # Equal sums can differ in their last bits.
        if moments.full_variance <= (1e-12 * moments.full_mean) ** 2:
            return None
        return moments if self.positive else moments.mirrored()


Columns = tuple[Float64Array, Float64Array]


def table(walk: Walk, sides: Sides, owner: str, upper: Callable[[Side], Columns | None]) -> Boundary:
    """Assemble a boundary for z from the boundaries of partial sums.

    Parameters
    ----------
    walk : Walk
    sides : {"both", "negative", "positive"}
        The answers that may be given early.
    owner : str
        Name of the rule, for messages.
    upper : callable
        From a side to two arrays of shape (T,), centre and height of the upper boundary: a row exits when its
        partial sum exceeds ``centre + height``. An infinite height disables the stage. None (the moments are
        degenerate, or no row needs protection) disables the whole side, with a warning.

    Returns
    -------
    Boundary
        Its `q` scales the height.
    """
    if not walk.two_sided:
        raise ValueError(f"{owner} is for binary models; for several classes use Ladder().")

    def columns(side: Side) -> Columns:
        disabled = np.full(walk.n_stages, side.sign * np.inf), np.zeros(walk.n_stages)
        if sides not in ("both", "positive" if side.positive else "negative"):
            return disabled
        found = upper(side)
        if found is None:
            label = "positive" if side.positive else "negative"
            warn_caller(
                f"{owner} lets no row exit as {label}: the plan rows that it takes moments of are fewer than two,"
                f" all their full scores are equal, or there is no row to protect.",
                DegenerateBoundaryWarning,
            )
            return disabled
        center, height = found
        # q could not move a height of 0, so it becomes a lower centre and a small scale, with the same sum.
        scale = np.maximum(height, walk.least_scale)
        with np.errstate(invalid="ignore"):  # where the stage is disabled
            moved = side.sign * (center + (height - scale)) + walk.offset
        is_open = np.isfinite(height)
        return np.where(is_open, moved, side.sign * np.inf), np.where(is_open, scale, 0.0)

    high, up = columns(Side(walk, positive=True))
    low, down = columns(Side(walk, positive=False))
    return Boundary(low, down, high, up)
