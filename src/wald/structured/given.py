"""Sequences of parts of any kind, where every group has an extractor that knows what to do with them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from .groups import FeatureGroup
from .sequences import Sequences, parts_of


def sequences_for(groups: Sequence[FeatureGroup], X: Any, lengths: ArrayLike | None = None) -> Sequences:
    """Read sequences as `Sequences.of` does; where all groups have extractors, parts may be anything."""
    if isinstance(X, str | bytes) or not (sparse.issparse(X) or isinstance(X, Sequences) or hasattr(X, "__iter__")):
        raise TypeError(f"X must be a list of sequences, each a list of parts. Got {X!r:.60}.")
    without = [group.name for group in groups if group.extract is None]
    if without or _is_whole(X, lengths):
        try:
            return Sequences.of(X, lengths)
        except TypeError as error:
            if not without or not _are_words(X):
                raise
            raise TypeError(
                f"{error} Or give group {without[0]!r} an extractor, a function from a list of parts to their "
                "features: then parts may be anything."
            ) from None
    items, numbers = X if isinstance(X, list) else list(X), getattr(X, "numbers", None)
    if not _of_any_kind(items):
        return Sequences.of(items, lengths)
    read = [_read(item, i if numbers is None else int(numbers[i])) for i, item in enumerate(items)]
    parts, sizes = list(chain.from_iterable(read)), [len(item) for item in read]
    if 0 in sizes:
        empty = sizes.index(0)
        raise ValueError(f"Sequence {empty} is empty; every sequence needs at least one part.")
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Sequences(np.fromiter(parts, dtype=object, count=len(parts)), offsets, numbers=numbers, named=parts)


def _is_whole(X: Any, lengths: ArrayLike | None) -> bool:
    """Whether sequences are no list of them."""
    array = isinstance(X, np.ndarray) and X.dtype.kind != "O"
    return array or lengths is not None or isinstance(X, Sequences) or sparse.issparse(X)


def _of_any_kind(items: list[Any]) -> bool:
    """Whether parts are no rows of numbers; the first part that shows it decides."""
    some = False
    for item in items:
        if sparse.issparse(item) or (isinstance(item, np.ndarray) and item.ndim == 2 and item.dtype.kind != "O"):
            return False
        if not isinstance(item, list | tuple | np.ndarray):
            return True  # a generator, whose parts are read once, or no sequence, which is reported
        for part in item:
            if isinstance(part, list | tuple) and not part:
                some = True
                continue
            return not _is_row(part)
    return some


def _is_row(part: Any) -> bool:
    """Whether a part is a row of numbers."""
    if sparse.issparse(part):
        return True
    if isinstance(part, np.ndarray):
        return part.ndim == 1 and part.dtype.kind in "buif"
    return isinstance(part, list | tuple) and all(isinstance(value, Number) for value in part)


def _are_words(X: Any) -> bool:
    """Whether sequences hold texts."""
    items = X if isinstance(X, list | tuple) else ()
    return isinstance(next((part for item in items if isinstance(item, list | tuple) for part in item), None), str)


def _read(item: Any, i: int) -> list[Any]:
    if isinstance(item, list):
        return item
    return item.tolist() if isinstance(item, np.ndarray) and item.ndim == 1 else parts_of(item, i)
