"""The table of centres and scales that every stopping rule comes down to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...utils.stage_table import FloatArray

#: Answers as which rows may leave.
Sides = Literal["both", "negative", "positive"]
SIDES: tuple[Sides, ...] = ("both", "negative", "positive")


@dataclass(frozen=True, eq=False)
class Boundary:
    """Two thresholds per early stage, both moved by one number `q`.

    A row leaves as positive when ``z > high_center + q * high_scale`` and as negative when ``z < low_center -
    q * low_scale``. Where rows leave on one side only, z is a margin, and the low side is disabled. At ``q = 1`` a rule
    is used as published; larger is more cautious, and ``q = inf`` never leaves.

    A side is disabled by an infinite centre (+inf above, -inf below); its scale is not used and is stored as 0. A
    finite centre with a scale of 0 is a threshold that no finite `q` moves.

    Parameters
    ----------
    low_center, low_scale, high_center, high_scale : array-like of shape (T,)
        Kept as read-only float64. Scales are finite and not negative.

    Raises
    ------
    ValueError
        If shapes differ, a centre is NaN, or a scale is negative or not finite.

    Examples
    --------
    >>> boundary = Boundary.symmetric(0.5, [2.0, 1.0])
    >>> low, high = boundary.thresholds(3.0, "float64")
    >>> low.tolist(), high.tolist()
    ([-5.5, -2.5], [6.5, 3.5])
    >>> boundary.restricted("negative").thresholds(3.0, "float64")[1].tolist()
    [inf, inf]
    """

    low_center: npt.NDArray[np.float64]
    low_scale: npt.NDArray[np.float64]
    high_center: npt.NDArray[np.float64]
    high_scale: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        for side in ("low", "high"):
            center = np.array(getattr(self, f"{side}_center"), dtype=np.float64)
            scale = np.array(getattr(self, f"{side}_scale"), dtype=np.float64)
            if center.ndim != 1 or center.shape != scale.shape or center.shape != np.shape(self.high_center):
                raise ValueError("A boundary needs four columns of one length.")
            if np.isnan(center).any():
                raise ValueError("The centres of a boundary must not be NaN.")
            if not (np.isfinite(scale) & (scale >= 0.0)).all():
                raise ValueError("The scales of a boundary must be finite and not negative.")
            scale[np.isinf(center)] = 0.0  # one representation of a disabled side
            for name, column in ((f"{side}_center", center), (f"{side}_scale", scale)):
                column.flags.writeable = False
                object.__setattr__(self, name, column)

    @classmethod
    def symmetric(cls, center: npt.ArrayLike, scale: npt.ArrayLike) -> Boundary:
        """Open both sides around one centre; `center` and `scale` broadcast."""
        center, scale = np.broadcast_arrays(np.asarray(center, np.float64), np.asarray(scale, np.float64))
        return cls(center, scale, center, scale)

    @classmethod
    def upper(cls, center: npt.ArrayLike, scale: npt.ArrayLike) -> Boundary:
        """Open the high side only, as for margins of several classes; `center` and `scale` broadcast."""
        return cls.symmetric(center, scale)._without(low=True)

    def rescaled(self, factors: npt.ArrayLike) -> Boundary:
        """Multiply the scales of both sides by `factors`, of shape (T,)."""
        by = np.asarray(factors, np.float64)
        return Boundary(self.low_center, self.low_scale * by, self.high_center, self.high_scale * by)

    @property
    def n_stages(self) -> int:
        """Number of early stages T."""
        return int(self.high_center.size)

    @property
    def fixed(self) -> bool:
        """Whether no `q` moves any threshold, as in lossless rules."""
        return not (self.low_scale.any() or self.high_scale.any())

    def sides(self, two_sided: bool = True) -> list[tuple[int, npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
        """Sign, centres and scales of the high side (1) and, if rows leave on two sides, of the low side (-1)."""
        high, low = (1, self.high_center, self.high_scale), (-1, self.low_center, self.low_scale)
        return [high, low] if two_sided else [high]

    def restricted(self, sides: Sides) -> Boundary:
        """Close the side to which no row may leave."""
        if sides not in SIDES:
            raise ValueError(f"sides must be one of {SIDES}. Got {sides!r} instead.")
        return self if sides == "both" else self._without(high=sides == "negative", low=sides == "positive")

    def thresholds(self, q: float, dtype: npt.DTypeLike) -> tuple[FloatArray, FloatArray]:
        """Give the two thresholds of every stage, in the precision of the scores.

        Parameters
        ----------
        q : float
            At least 0; infinity disables every side of every stage.
        dtype : float32 or float64
            Rounding to float32 goes outwards: the result is never bolder than the float64 threshold.

        Returns
        -------
        low, high : arrays of shape (T,)
            -inf and +inf disable a side.

        Raises
        ------
        ValueError
            If `q` is negative or NaN, or `dtype` is no float32 or float64.
        """
        if not q >= 0.0:
            raise ValueError(f"q must not be negative or NaN. Got {q!r} instead.")
        low, high = self.thresholds_along(np.array([q], dtype=np.float64), dtype)
        return low[0], high[0]

    def thresholds_along(self, scales: npt.NDArray[np.float64], dtype: npt.DTypeLike) -> tuple[FloatArray, FloatArray]:
        """Give the thresholds of `thresholds` for each of several scales, as arrays of shape (n_scales, T)."""
        kind = np.dtype(dtype)
        if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"Thresholds are float32 or float64. Got {kind} instead.")
        q = scales[:, None]
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow to infinity is cautious
            low = self.low_center - q * self.low_scale
            high = self.high_center + q * self.high_scale
        closed = np.isinf(scales)
        low[closed], high[closed] = -np.inf, np.inf
        # Centres that differ per side can cross at small q. Swapped, they leave a gap in which no row may
        # leave, instead of an overlap in which both sides claim it.
        low, high = np.minimum(low, high), np.maximum(low, high)
        return -_rounded_up(-low, kind), _rounded_up(high, kind)

    def _without(self, *, low: bool = False, high: bool = False) -> Boundary:
        nothing = np.zeros(self.n_stages)
        return Boundary(
            nothing - np.inf if low else self.low_center,
            nothing if low else self.low_scale,
            nothing + np.inf if high else self.high_center,
            nothing if high else self.high_scale,
        )


def _rounded_up(values: npt.NDArray[np.float64], dtype: np.dtype[Any]) -> FloatArray:
    """Cast, and step to the next number where the cast rounded down."""
    with np.errstate(over="ignore"):
        cast: FloatArray = values.astype(dtype)
        fell = cast.astype(np.float64) < values
        cast[fell] = np.nextafter(cast[fell], dtype.type(np.inf))
    return cast
