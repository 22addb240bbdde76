"""Features of parts, evaluated when they are needed, once each, and timed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .groups import FeatureGroup
from .sequences import Sequences


class ExtractionError(ValueError):
    """An extractor raised, or gave features of a wrong shape or value."""


class LazyFeatures:
    """What is known of some sequences: the rows of every group that were extracted so far.

    Parameters
    ----------
    groups : sequence of FeatureGroup
        The first one belongs to every part.
    sequences : Sequences
    sizes : sequence of int, default=None
        Features of each group, where they are known already.

    Attributes
    ----------
    seconds : float64 ndarray of shape (n_groups,)
        Time that the extractors took.
    extracted : int64 ndarray of shape (n_groups,)
        Parts that they were called for.
    """

    def __init__(
        self, groups: Sequence[FeatureGroup], sequences: Sequences, sizes: Sequence[int] | None = None
    ) -> None:
        self.groups, self.sequences = tuple(groups), sequences
        self.seconds = np.zeros(len(self.groups))
        self.extracted = np.zeros(len(self.groups), dtype=np.int64)
        self._sizes = sizes
        self._rows = [np.full(sequences.n_parts, -1, dtype=np.int64) for _ in self.groups]
        self._values: list[Any] = [None] * len(self.groups)
        self.buy(np.zeros((sequences.n_parts, len(self.groups) - 1), dtype=bool))

    def buy(self, state: NDArray[np.bool_]) -> None:
        """Extract what a state (n_parts, n_groups - 1) needs and is not there yet."""
        for g in range(len(self.groups)):
            wanted = self._rows[g] < 0 if g == 0 else state[:, g - 1] & (self._rows[g] < 0)
            parts = np.flatnonzero(wanted)
            if len(parts):
                self._add(g, parts)
            elif self._values[g] is None and self._sizes is not None:
                self._values[g] = np.empty((0, self._sizes[g]), dtype=np.float32)

    def packed(self, state: NDArray[np.bool_]) -> list[_core.ChainGroup]:
        """Groups as the engine reads them, each with the parts that have it in this state."""
        self.buy(state)
        rows = [self._rows[0], *(np.where(state[:, g], self._rows[g + 1], -1) for g in range(len(self.groups) - 1))]
        return [_packed(values, row) for values, row in zip(self._values, rows, strict=True)]

    @property
    def sizes(self) -> list[int]:
        """Features of each group."""
        return [int(v.shape[1]) for v in self._values]

    def _add(self, g: int, parts: NDArray[np.int64]) -> None:
        group = self.groups[g]
        raw = self.sequences.parts
        chosen = raw if len(parts) == self.sequences.n_parts else raw[parts]
        start = time.perf_counter()
        if group.extract is None:
            values = chosen
        else:
            try:
                values = group.extract(chosen)
            except Exception as error:
                raise ExtractionError(
                    f"The extractor of group {group.name!r} failed on {_named(parts)}: {error}"
                ) from error
        self.seconds[g] += time.perf_counter() - start
        self.extracted[g] += len(parts)
        values = self._checked(g, values, parts)
        known = self._values[g]
        self._rows[g][parts] = np.arange(len(parts)) + (0 if known is None else known.shape[0])
        if known is None or known.shape[0] == 0:
            self._values[g] = values
        elif sparse.issparse(values):
            self._values[g] = sparse.vstack([known, values], format="csr")
        else:
            self._values[g] = np.concatenate([known, values])

    def _checked(self, g: int, values: Any, parts: NDArray[np.int64]) -> Any:
        name = self.groups[g].name
        if sparse.issparse(values):
            values = values.tocsr().astype(np.float32)
            values.sum_duplicates()
            values.eliminate_zeros()
        else:
            values = np.asarray(values)
            if values.dtype.kind not in "buif":
                raise ExtractionError(f"The extractor of group {name!r} must give numbers. Got {values.dtype}.")
            values = np.ascontiguousarray(values, dtype=np.float32)
        if values.ndim != 2 or values.shape[0] != len(parts):
            raise ExtractionError(
                f"The extractor of group {name!r} must give one row for each of {len(parts)} parts. "
                f"Got shape {values.shape}."
            )
        expected = (
            self._sizes[g] if self._sizes is not None else None if self._values[g] is None else self._values[g].shape[1]
        )
        if expected is not None and values.shape[1] != expected:
            raise ExtractionError(
                f"The extractor of group {name!r} gave {values.shape[1]} features instead of {expected}."
            )
        rows = values.nonzero()[0] if sparse.issparse(values) else np.arange(len(values))
        finite = np.isfinite(values.data) if sparse.issparse(values) else np.isfinite(values).all(axis=1)
        if not finite.all():
            bad = np.unique(rows[~finite])
            raise ExtractionError(f"The extractor of group {name!r} gave NaN or infinity for {_named(parts[bad])}.")
        return values


def _named(parts: NDArray[np.int64]) -> str:
    some = ", ".join(str(p) for p in parts[:3])
    return f"part {some}" if len(parts) == 1 else f"parts {some}{', ...' if len(parts) > 3 else ''}"


def _packed(values: Any, row: NDArray[np.int64]) -> _core.ChainGroup:
    row = np.ascontiguousarray(row, dtype=np.int64)
    if sparse.issparse(values):
        return _core.ChainGroup.csr(
            values.data, values.indices.astype(np.int32), values.indptr.astype(np.int64), values.shape[1], row
        )
    return _core.ChainGroup.dense(values, row)
