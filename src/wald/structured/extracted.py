"""Features that were extracted once, for all who need them again."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: Features of more bytes are not kept from a chain's `fit` for that of a policy, which then extracts them once more.
MOST_KEPT = 2**28


@dataclass(frozen=True, eq=False)
class Extracted:
    """Features of some parts.

    Attributes
    ----------
    names : tuple of str
        Of all groups.
    values : tuple of float32 ndarray, CSR matrix or None
        Of each group, a row for every part; None for a group without an extractor.
    each : float64 ndarray of shape (n_groups,)
        Seconds that the extraction of a part took.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    each: NDArray[np.float64]

    def take(self, parts: NDArray[np.int64]) -> Self:
        """Those of some parts."""
        return replace(self, values=tuple(None if rows is None else rows[parts] for rows in self.values))

    @property
    def n_bytes(self) -> int:
        """Memory that the features take."""
        return sum(array.nbytes for rows in self.values if rows is not None for array in _arrays(rows))


def fingerprint(parts: Any) -> bytes:
    """What distinguishes raw parts, an array or CSR matrix, from others."""
    digest = hashlib.blake2b(repr((sparse.issparse(parts), parts.shape)).encode(), digest_size=16)
    for array in _arrays(parts):
        digest.update(array.dtype.str.encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _arrays(rows: Any) -> list[NDArray[Any]]:
    return [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [rows]
