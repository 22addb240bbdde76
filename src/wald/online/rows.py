"""Rows as the compiled learner reads them: in place where their layout allows it."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .. import _core
from ..sources.arrays import check_indices


def learner_rows(X: Any, dtype: np.dtype[Any], n_columns: int, summed: bool = False) -> _core.Rows:
    """View validated rows.

    Dense rows of the learner's own type with contiguous features are not copied, whatever the distance between rows;
    nor are CSR rows with int32 indices, whatever their order. Duplicate entries of a CSR row add up in every linear
    sum; `summed` merges them beforehand. `n_columns` exceeds the number of features where rows are narrower than a
    register: such rows are copied and padded with zeros.
    """
    if sparse.issparse(X):
        return _csr(X, dtype, summed)
    X = np.asarray(X)
    if X.shape[1] < n_columns:
        wide = np.zeros((X.shape[0], n_columns), dtype=dtype)
        wide[:, : X.shape[1]] = X
        return _core.Rows.dense(wide)
    contiguous = X.dtype == dtype and X.flags.aligned and X.dtype.isnative and (X.strides[1] == X.itemsize)
    return _core.Rows.dense(X if contiguous else np.ascontiguousarray(X, dtype=dtype))


def _csr(X: Any, dtype: np.dtype[Any], summed: bool) -> _core.Rows:
    X = X.tocsr()
    check_indices(X)
    if summed:
        X = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
        X.check_format()  # scipy's sums trust every index
        if not X.has_canonical_format:  # sorted indices without duplicates
            X = X.copy()
            X.sum_duplicates()
    return _core.Rows.csr(
        np.ascontiguousarray(X.data, dtype=dtype),
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        X.shape[1],
        ascending=False,
    )
