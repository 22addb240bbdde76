"""Feature groups for images: raw pixels, and histograms of oriented gradients."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

#: Where a block's normalization is clipped (Dalal and Triggs).
CLIP = 0.2


@dataclass(frozen=True)
class HOG:
    """Histograms of oriented gradients of flat images (Dalal and Triggs, 2005), as an extractor of a `FeatureGroup`.

    Gradients are central differences (0 at the rim); each cell counts unsigned orientations by magnitude, without
    interpolation; blocks of cells are normalized by L2-Hys.

    Parameters
    ----------
    shape : (int, int)
        Rows and columns of an image.
    cell : int, default=3
        Pixels along a cell's side. Pixels beyond the last whole cell are left out.
    block : int, default=2
        Cells along a block's side.
    orientations : int, default=9

    Raises
    ------
    ValueError, TypeError
        If the sizes are no integers, or no block fits into an image.

    References
    ----------
    N. Dalal and B. Triggs, "Histograms of Oriented Gradients for Human Detection", CVPR 2005, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> HOG((16, 8))(np.zeros((2, 128))).shape
    (2, 144)
    """

    shape: tuple[int, int]
    cell: int = 3
    block: int = 2
    orientations: int = 9

    def __post_init__(self) -> None:
        sizes = (self.cell, self.block, self.orientations)
        shape: object = self.shape
        if not isinstance(shape, Sequence) or len(shape) != 2:
            raise ValueError(f"shape must be (rows, columns). Got {self.shape!r}.")
        if not all(isinstance(n, numbers.Integral) for n in (*self.shape, *sizes)):
            raise TypeError(f"shape, cell, block and orientations must be integers. Got {self}.")
        if min(sizes) < 1:
            raise ValueError(f"cell, block and orientations must be at least 1. Got {self}.")
        if min(self.shape) < self.cell * self.block:
            raise ValueError(
                f"shape must hold a block of {self.block} cells of {self.cell} pixels a side. Got {self.shape}."
            )

    def __call__(self, images: ArrayLike) -> NDArray[np.float32]:
        """Describe flat images (n, rows * columns); float32 features (n, n_blocks * block^2 * orientations)."""
        flat = np.asarray(images, dtype=np.float32)
        if flat.ndim != 2 or flat.shape[1] != self.shape[0] * self.shape[1]:
            raise ValueError(f"images must have shape (n, {self.shape[0] * self.shape[1]}). Got {flat.shape}.")
        cells = self._cells(flat.reshape(-1, *self.shape))
        n, down, across, _ = cells.shape
        blocks = [
            cells[:, i : i + self.block, j : j + self.block].reshape(n, self.block**2 * self.orientations)
            for i in range(down - self.block + 1)
            for j in range(across - self.block + 1)
        ]
        return np.ascontiguousarray(np.hstack([_normalized(b) for b in blocks]))

    def _cells(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Orientation histograms (n, rows of cells, columns of cells, orientations)."""
        down, across = self.shape[0] // self.cell, self.shape[1] // self.cell
        vertical, horizontal = np.zeros_like(images), np.zeros_like(images)
        vertical[:, 1:-1] = images[:, 2:] - images[:, :-2]
        horizontal[:, :, 1:-1] = images[:, :, 2:] - images[:, :, :-2]
        inside = np.s_[:, : down * self.cell, : across * self.cell]
        vertical, horizontal = vertical[inside], horizontal[inside]
        magnitude = np.hypot(vertical, horizontal)
        angle = np.rad2deg(np.arctan2(vertical, horizontal)) % 180
        kind = np.minimum((angle * (self.orientations / 180)).astype(np.int64), self.orientations - 1)
        image, row, column = np.ix_(*map(np.arange, magnitude.shape))
        cell = ((image * down + row // self.cell) * across + column // self.cell) * self.orientations + kind
        counts = np.bincount(
            cell.ravel(), weights=magnitude.ravel(), minlength=len(images) * down * across * self.orientations
        )
        return (counts / self.cell**2).reshape(len(images), down, across, self.orientations).astype(np.float32)


def _normalized(block: NDArray[np.float32]) -> NDArray[np.float32]:
    tiny = 1e-5**2
    unit = block / np.sqrt((block**2).sum(axis=1, keepdims=True) + tiny)
    clipped = np.minimum(unit, CLIP)
    return np.asarray(clipped / np.sqrt((clipped**2).sum(axis=1, keepdims=True) + tiny), dtype=np.float32)
