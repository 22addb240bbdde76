"""Rows that nobody gave, on which a misread model shows: at the model's thresholds, and near a change of its label."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ...models.protocols import Thresholded
from ...sources import Source, source_of
from .predictor import Predictor

#: Numbers of rows at thresholds of the model, and of segments that are searched for a change of the label.
THRESHOLD_ROWS, SEGMENTS = 48, 8
#: Halvings of a segment; both ends after half of them, and after all, are compared. They end after `SECONDS`.
HALVINGS, SECONDS = 16, 0.004
#: As many rows of a kind are compared as the engine evaluates in this time, but at least `FEWEST`.
ENGINE_SECONDS, FEWEST = 0.002, 4

Floats = NDArray[np.float64]


def made_rows(predictor: Predictor, Z: Source | None) -> Any:
    """Rows at the model's thresholds, and near a change of the label between these and preprocessed rows; or None."""
    terms = predictor.model.terms
    ends = None
    if Z is not None:
        ends = Z.array(terms.accepts.conversion)
        if not Z.is_sparse:
            ends = np.asarray(ends, dtype=np.float64 if ends.dtype.kind != "f" else ends.dtype)
    thresholded = Thresholded.of(terms)
    made = None if thresholded is None else thresholded.at_thresholds(THRESHOLD_ROWS, np.random.default_rng(0))
    if made is not None:
        made = made[: affordable(predictor, source_of(made))]
        ends = made if ends is None or sparse.issparse(ends) else np.vstack([ends, made])
    near = None if ends is None else _near_a_change(predictor, ends)
    parts = [rows for rows in (made, near) if rows is not None]
    return stacked(parts) if parts else None


def with_and_without_nan(rows: Any) -> Iterator[Any]:
    """The rows, and then, for models that refuse NaN, the rows with numbers in its place."""
    filled = [] if sparse.issparse(rows) or not np.isnan(rows).any() else [np.nan_to_num(rows)]
    return iter([rows, *filled])


def stacked(parts: list[Any]) -> Any:
    """Arrays, or sparse matrices, as one."""
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)


def affordable(predictor: Predictor, Z: Source) -> int:
    """Number of preprocessed rows that the engine evaluates in time; the wrapped object is slower, but not by much."""
    n, few = Z.n_rows, Z.take(slice(FEWEST))
    spent = np.inf
    for _ in range(2):  # the first call may be slow
        start = time.perf_counter()
        predictor.by_engine(few)
        spent = min(spent, time.perf_counter() - start)
    return n if spent * n <= ENGINE_SECONDS * FEWEST else max(min(n, FEWEST), int(FEWEST * ENGINE_SECONDS / spent))


def _near_a_change(predictor: Predictor, ends: Any) -> Any:
    """Rows on both sides of a change of the engine's label, on segments between rows; None if all labels are equal."""
    codes, settled = predictor.by_engine(ends)
    first = np.flatnonzero(settled & (codes == codes[0]))
    second = np.flatnonzero(settled & (codes != codes[0]))
    if not settled[0] or not len(second):
        return None
    n = min(SEGMENTS, max(len(first), len(second)))
    a, b = ends[first[np.arange(n) % len(first)]], ends[second[np.arange(n) % len(second)]]
    low, high = np.zeros(n), np.ones(n)
    kept = []
    deadline = time.perf_counter() + SECONDS
    for k in range(HALVINGS):
        middle = (low + high) / 2
        found, settled = predictor.by_engine(_between(a, b, middle))
        same = settled & (found == codes[0])
        low, high = np.where(same, middle, low), np.where(same, high, middle)
        if k == HALVINGS // 2:
            kept += [_between(a, b, low), _between(a, b, high)]
        if time.perf_counter() > deadline:
            break
    kept = [_between(a, b, low), _between(a, b, high), *kept]
    return stacked(kept)


def _between(a: Any, b: Any, t: Floats) -> Any:
    if sparse.issparse(a):
        mixed = (sparse.diags(1 - t) @ a + sparse.diags(t) @ b).tocsr()
        return mixed.astype(a.dtype)
    with np.errstate(invalid="ignore"):
        mixed = a * (1 - t[:, None]) + b * t[:, None]
    return np.ascontiguousarray(mixed, dtype=a.dtype)
