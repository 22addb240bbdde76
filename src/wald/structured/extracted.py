"""Features that were extracted once and are kept for reuse."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .keeping import LIMITS, SECONDS_A_BYTE, on_disk


@dataclass(frozen=True, eq=False)
class Extracted:
    """Features of some parts.

    Attributes
    ----------
    names : tuple of str
        Names of all groups.
    values : tuple of float32 ndarray, CSR matrix or None
        Features of each group, a row for every part; None for a group without an extractor.
    each : float64 ndarray of shape (n_groups,)
        Seconds that the extraction of a part took.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    each: NDArray[np.float64]

    def take(self, parts: NDArray[np.int64]) -> Self:
        """Return the features of these parts."""
        return replace(self, values=tuple(None if rows is None else rows[parts] for rows in self.values))

    def kept(self, seconds: float) -> Self | None:
        """The same features, in temporary files if they are too large for memory; None if that does not pay.

        Parameters
        ----------
        seconds : float
            What their extraction took.
        """
        if self.n_bytes <= LIMITS.memory:
            return self
        if self.n_bytes > LIMITS.disk or seconds < SECONDS_A_BYTE * self.n_bytes:
            return None
        try:
            return replace(self, values=tuple(None if rows is None else _moved(rows) for rows in self.values))
        except OSError:  # the disk is full
            return None

    @property
    def n_bytes(self) -> int:
        """Memory that the features take."""
        return sum(array.nbytes for rows in self.values if rows is not None for array in _arrays(rows))


def fingerprint(sequences: Any) -> bytes:
    """Hash of `Sequences` whose parts are numbers; features may depend on where sequences begin."""
    parts = sequences.parts
    digest = hashlib.blake2b(repr((sparse.issparse(parts), parts.shape)).encode(), digest_size=16)
    for array in (*_arrays(parts), sequences.offsets):
        digest.update(array.dtype.str.encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _moved(rows: Any) -> Any:
    if not sparse.issparse(rows):
        return on_disk(rows)
    moved = sparse.csr_matrix(tuple(map(on_disk, _arrays(rows))), shape=rows.shape)
    moved.has_canonical_format = rows.has_canonical_format
    return moved


def _arrays(rows: Any) -> list[NDArray[Any]]:
    return [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [rows]
