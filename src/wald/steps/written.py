"""What a transformer wrote: an array, or a sparse matrix where one-hot columns are too many for an array."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

#: A 2-D array, or a CSR matrix with sorted indices and without zeros.
Written = Any
Floats = NDArray[np.floating[Any]]


def canonical(written: Any) -> Written:
    """A sparse matrix as the functions here take it."""
    rows = sparse.csr_matrix(written)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    return rows


def stacked(parts: Sequence[Written]) -> Written:
    """Rows one below the other."""
    return canonical(sparse.vstack(parts)) if sparse.issparse(parts[0]) else np.concatenate(parts)


def columns_of(written: Written, columns: NDArray[np.intp]) -> Written:
    """Some columns."""
    return canonical(written[:, columns]) if sparse.issparse(written) else written[:, columns]


def differing(written: Written, base: Floats) -> NDArray[np.bool_]:
    """The columns in which a row is not equal to a certain row; NaN equals NaN."""
    if not sparse.issparse(written):
        different: NDArray[np.bool_] = np.asarray(~alike(written, base).all(axis=0))
        return different
    n, width = written.shape
    equal = np.bincount(written.indices[alike(written.data, base[written.indices])], minlength=width)
    held = np.bincount(written.indices, minlength=width)
    found: NDArray[np.bool_] = np.where(base == 0, held > 0, equal < n)
    return found


def keys_of(written: Written) -> list[bytes]:
    """For each row something that equal rows have in common, and no others."""
    if not sparse.issparse(written):
        plain = np.where(np.isnan(written), np.nan, written) if written.dtype.kind == "f" else written
        return [row.tobytes() for row in np.ascontiguousarray(plain)]
    starts, indices, data = written.indptr.tolist(), written.indices.astype(np.int64), written.data
    # of one length or of another: a key tells how many numbers it is made of
    return [indices[i:j].tobytes() + data[i:j].tobytes() for i, j in pairwise(starts)]


def equal(one: Written, other: Written) -> bool:
    """Whether all numbers are equal; NaN equals NaN."""
    if one.shape != other.shape:
        return False
    if not sparse.issparse(one):
        return bool(alike(one, other).all())
    same = np.array_equal(one.indptr, other.indptr) and np.array_equal(one.indices, other.indices)
    return same and bool(alike(one.data, other.data).all())


def alike(one: Floats, other: Floats) -> NDArray[np.bool_]:
    """Where numbers are equal; NaN equals NaN."""
    same: NDArray[np.bool_] = (one == other) | ((one != one) & (other != other))
    return same
