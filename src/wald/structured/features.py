"""Features of parts, extracted when they are needed, once each, checked and timed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .extracted import Extracted
from .groups import FeatureGroup
from .names import HASHED_COLUMNS, hashed, holds_names
from .sequences import Sequences


class ExtractionError(ValueError):
    """An extractor raised, or gave features of a wrong shape or value.

    Attributes
    ----------
    answers
        If a policy was buying: the answers from what could be extracted before, one per example, as the model gives
        them. Else None.
    state : bool ndarray of shape (n_parts, K) or None
        The state under which these answers were computed.
    """

    def __init__(self, message: str, answers: Any = None, state: NDArray[np.bool_] | None = None) -> None:
        super().__init__(message)
        self.answers, self.state = answers, state


class ExtractionTimeoutError(ExtractionError):
    """An extractor took longer than it may."""


class LazyFeatures:
    """The features of some sequences that were extracted so far.

    Parameters
    ----------
    groups : sequence of FeatureGroup
        The first one is extracted for every part at once.
    sequences : Sequences
    sizes : sequence of int, default=None
        Features of each group, where they are known already.

    Attributes
    ----------
    seconds : float64 ndarray of shape (n_groups,)
        Time that the extractors took.
    extracted : int64 ndarray of shape (n_groups,)
        Parts that have the group: those that its extractor was called for, or whose features came with the sequences.
    stores : list of _core.ChainGroup
        Features as the engine reads them.
    patience : callable or None
        Gives the seconds that the next call of an extractor may take; None: no limit. A call that takes longer is
        abandoned in a thread of its own, and `ExtractionTimeoutError` is raised.

    Raises
    ------
    ExtractionError
        From the constructor and from `buy`.
    """

    def __init__(
        self, groups: Sequence[FeatureGroup], sequences: Sequences, sizes: Sequence[int] | None = None
    ) -> None:
        self.groups, self.sequences = tuple(groups), sequences
        self.seconds = np.zeros(len(self.groups))
        self.extracted = np.zeros(len(self.groups), dtype=np.int64)
        self.patience: Callable[[], float] | None = None
        self._ready = self._given()
        self._whole: list[Any] = [None] * len(self.groups)
        self._missing = np.ones((len(self.groups), sequences.n_parts), dtype=bool)
        self.stores: list[_core.ChainGroup] = []
        for g in range(len(self.groups)):
            if sizes is not None:
                self.stores.append(_core.ChainGroup(sequences.n_parts, sizes[g]))
            if g == 0 or sizes is None:  # the first parts show the number of features
                self._extract(g, np.arange(sequences.n_parts))

    @property
    def sizes(self) -> list[int]:
        """Features of each group."""
        return [store.n_features for store in self.stores]

    @property
    def seconds_each(self) -> NDArray[np.float64]:
        """Time that the extraction of each group takes for a part, where it was seen; else 0."""
        each = self.seconds / np.maximum(self.extracted, 1)
        if self._ready is not None:
            given = np.array([values is not None for values in self._ready.values])
            each = np.where(given, self._ready.each, each)
        return each

    def everything(self) -> Extracted:
        """Features of all groups that have an extractor; extracts those that are missing."""
        self.buy(np.ones((self.sequences.n_parts, len(self.groups) - 1), dtype=bool))
        return Extracted(tuple(group.name for group in self.groups), tuple(self._whole), self.seconds_each)

    def buy(self, state: NDArray[np.bool_]) -> None:
        """Extract the missing features that a state (n_parts, n_groups - 1) needs."""
        for g in range(1, len(self.groups)):
            parts = np.flatnonzero(state[:, g - 1] & self._missing[g])
            if len(parts):
                self._extract(g, parts)

    def _extract(self, g: int, parts: NDArray[np.int64]) -> None:
        group = self.groups[g]
        chosen = self._parts(parts, as_given=group.extract is not None)
        ready = None if self._ready is None else self._ready.values[g]
        start = time.perf_counter()
        try:
            if ready is not None:
                values = ready if len(parts) == self.sequences.n_parts else ready[parts]
            else:
                values = chosen if group.extract is None else self._call(group.extract, chosen)
        except ExtractionTimeoutError as error:
            self.seconds[g] += time.perf_counter() - start
            raise ExtractionTimeoutError(f"Group {group.name!r}: {error} on {self._named(parts)}.") from None
        except Exception as error:
            raise ExtractionError(
                f"Group {group.name!r}: the extractor failed on {self._named(parts)}{self._shown(parts)}: "
                f"{type(error).__name__}: {error}"
            ) from error
        self.seconds[g] += 0 if ready is not None else time.perf_counter() - start
        self.extracted[g] += len(parts)
        values = self._as_floats(group.name, values, parts)
        if group.extract is not None and len(parts) == self.sequences.n_parts:
            self._whole[g] = values
        if g == len(self.stores):
            self.stores.append(_core.ChainGroup(self.sequences.n_parts, values.shape[1]))
        if values.shape[1] != self.stores[g].n_features:
            before, now = self.stores[g].n_features, values.shape[1]
            raise ExtractionError(
                f"Group {group.name!r} must have {'names' if before == HASHED_COLUMNS else f'{before} features'}, as "
                f"before. Got {'names' if now == HASHED_COLUMNS else now} for {self._named(parts)}."
            )
        if sparse.issparse(values):
            indices, indptr = values.indices.astype(np.int32, copy=False), values.indptr.astype(np.int64, copy=False)
            bad = self.stores[g].add_csr(values.data, indices, indptr, parts)
        else:
            bad = self.stores[g].add_dense(values, parts)
        if bad >= 0:
            raise ExtractionError(f"Group {group.name!r} has NaN or infinity at {self._named(parts[bad : bad + 1])}.")
        self._missing[g, parts] = False

    @property
    def bought(self) -> NDArray[np.bool_]:
        """State (n_parts, n_groups - 1) of the costly groups extracted so far."""
        return ~self._missing[1:].T

    def _parts(self, parts: NDArray[np.int64], *, as_given: bool) -> Any:
        """Rows of these parts or, for an extractor, the list of parts as users have them, if they are names."""
        everything = len(parts) == self.sequences.n_parts
        if as_given and self.sequences.named is not None:
            named = self.sequences.named
            return list(named) if everything else [named[part] for part in parts]
        return self.sequences.parts if everything else self.sequences.parts[parts]

    def _shown(self, parts: NDArray[np.int64]) -> str:
        """The first of some parts that are dicts or lists of names, in brackets, for a message."""
        if self.sequences.named is None:
            return ""
        text = repr(self.sequences.named[parts[0]])
        return f" ({text if len(text) <= 80 else text[:76] + ' ...'})"

    def _call(self, extract: Callable[[Any], Any], parts: Any) -> Any:
        """Call an extractor, and wait for it as long as `patience` allows."""
        if self.patience is None:
            return extract(parts)
        seconds = max(self.patience(), 0.0)
        answer: list[tuple[Any, BaseException | None]] = []

        def call() -> None:
            try:
                answer.append((extract(parts), None))
            except BaseException as error:  # SystemExit and others that would end the thread
                answer.append((None, error))

        thread = threading.Thread(target=call, name="wald extractor", daemon=True)
        thread.start()
        thread.join(seconds)
        if not answer:
            raise ExtractionTimeoutError(f"the extractor was not waited for after {seconds:.3g} seconds")
        values, error = answer[0]
        if error is not None:
            raise error
        return values

    def _given(self) -> Extracted | None:
        """Return the features that came with the sequences, if they are of these groups."""
        given = self.sequences.extracted
        fits = given is not None and given.names == tuple(group.name for group in self.groups)
        return given if fits else None

    def _as_floats(self, name: str, values: Any, parts: NDArray[np.int64]) -> Any:
        """Return features as a float32 array or CSR matrix (n_parts, any); dicts and lists of strings are hashed.

        A writeable CSR matrix is copied, because its indices are not checked again.
        """
        n = len(parts)
        if isinstance(values, np.ndarray) and values.dtype == object and values.ndim == 1:
            values = values.tolist()
        if isinstance(values, list | tuple) and holds_names([values]):
            if len(values) != n:
                raise ExtractionError(
                    f"Group {name!r} must have one dict or list for each of {n} parts. Got {len(values)}."
                )
            try:
                values = hashed([list(values)], lambda _, j: self._named(parts[j : j + 1]))
            except (TypeError, ValueError) as error:
                raise ExtractionError(f"Group {name!r}: {error}") from error
        if not sparse.issparse(values):
            try:
                values = np.asarray(values)
            except ValueError as error:
                raise ExtractionError(f"Group {name!r} must be numbers, as many for each part: {error}") from error
        if values.dtype.kind not in "buif":
            raise ExtractionError(
                f"Group {name!r} must be numbers, or a dict or list of strings for each part. Got {values.dtype}."
            )
        if values.ndim != 2 or values.shape[0] != n:
            raise ExtractionError(f"Group {name!r} must have one row for each of {n} parts. Got shape {values.shape}.")
        with np.errstate(over="ignore"):  # infinity is reported with its part
            if not sparse.issparse(values):
                return np.ascontiguousarray(values, dtype=np.float32)
            if _is_fixed(values):
                return values
            values = sparse.csr_matrix(values).astype(np.float32)
        values.sum_duplicates()
        return values

    def _named(self, parts: NDArray[np.int64]) -> str:
        """Name parts in a message: the first one, numbered within its sequence, and the number of others."""
        offsets = self.sequences.offsets
        sequence = int(np.searchsorted(offsets, parts[0], side="right")) - 1
        others = f" and {len(parts) - 1} others" if len(parts) > 1 else ""
        return f"part {parts[0] - offsets[sequence]} of sequence {self.sequences.number(sequence)}{others}"


def _is_fixed(values: Any) -> bool:
    """Return True for canonical CSR in the engine's dtypes and in read-only arrays."""
    return bool(
        values.format == "csr"
        and not (values.data.flags.writeable or values.indices.flags.writeable)
        and (values.dtype, values.indices.dtype) == (np.float32, np.int32)
        and values.has_canonical_format
    )
