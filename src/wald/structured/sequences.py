"""Sequences in one form: all parts concatenated, and the offset at which each sequence starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .keeping import Extracted
from .names import hashed, holds_names

Offsets = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of any length, with all parts concatenated.

    Sequence ``i`` has parts ``offsets[i]`` to ``offsets[i + 1]``.
    """

    parts: Any  # array or CSR matrix (n_parts, n_features)
    offsets: Offsets
    extracted: Extracted | None = None  # features that are extracted already; folds of a policy's `fit` have them
    numbers: NDArray[np.int64] | None = None  # of the sequences in messages, where empty ones were left out
    named: list[Any] | None = None  # the parts as they were given, where they are no numbers; extractors get these

    @classmethod
    def of(cls, X: Any, lengths: ArrayLike | None = None) -> Sequences:
        """Read sequences.

        Parameters
        ----------
        X : list of arrays (length, n_features), of CSR matrices, or of lists of feature dicts
            Dicts map names to numbers, strings, booleans, or nested dicts and lists of strings, as in python-crfsuite,
            and so does a list of strings, all 1; bytes are texts in UTF-8. They are hashed to 2^18 columns, as by
            scikit-learn's `FeatureHasher`. Or, with ``lengths``, one array or
            CSR matrix of all parts (n_parts, n_features).
        lengths : array-like of int, default=None
            Parts of each sequence.

        """
        if isinstance(X, Sequences):
            return X
        if lengths is not None:
            return cls._of_lengths(X, lengths)
        if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3):
            raise ValueError(
                "One array of all parts needs lengths=, the number of parts of each sequence. For one sequence, pass "
                "[sequence]."
            )
        numbers = getattr(X, "numbers", None)
        plain = isinstance(X, list) and all(map(_is_matrix, X))
        items = X if plain else settled(X)
        if not plain and holds_names(items):
            return cls._of_names(items, numbers)
        blocks = items if plain else [_matrix(item, _number(i, numbers)) for i, item in enumerate(items)]
        offsets = _offsets([block.shape[0] for block in blocks])
        other = next((i for i, block in enumerate(blocks) if block.shape[1] != blocks[0].shape[1]), None)
        if other is not None:
            width, first = blocks[other].shape[1], blocks[0].shape[1]
            raise ValueError(f"Sequence {_number(other, numbers)} has {width} features, the first one {first}.")
        if not plain and any(map(sparse.issparse, blocks)):
            blocks = [block if sparse.issparse(block) else sparse.csr_matrix(block) for block in blocks]
            parts: Any = sparse.vstack(blocks, format="csr")
        else:
            parts = np.concatenate(blocks)
        return cls(_checked(parts, offsets, numbers), offsets, numbers=numbers)

    @classmethod
    def _of_lengths(cls, X: Any, lengths: ArrayLike, numbers: NDArray[np.int64] | None = None) -> Sequences:
        sizes = np.asarray(lengths)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
            raise ValueError(f"lengths must be a 1-D array of integers. Got {lengths!r}.")
        offsets = _offsets(sizes.tolist())
        parts = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if parts.ndim != 2:
            raise ValueError(
                "With lengths=, X must be one array or CSR matrix of all parts (n_parts, n_features). X has shape "
                f"{parts.shape}."
            )
        if offsets[-1] != parts.shape[0]:
            raise ValueError(f"lengths add up to {offsets[-1]} parts, X has shape {parts.shape}.")
        return cls(_checked(parts, offsets, numbers), offsets, numbers=numbers)

    @classmethod
    def _of_names(cls, items: list[Any], numbers: NDArray[np.int64] | None) -> Sequences:
        items = [
            item if type(item) is list else parts_of(item, _number(i, numbers), _NAMES) for i, item in enumerate(items)
        ]
        offsets = _offsets([len(item) for item in items])
        columns = hashed(items, lambda i, j: f"Part {j} of sequence {_number(i, numbers)}")
        named = list(chain.from_iterable(items))
        return cls(_checked(columns, offsets, numbers), offsets, numbers=numbers, named=named)

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.offsets) - 1

    @property
    def n_parts(self) -> int:
        """Number of parts of all sequences."""
        return int(self.offsets[-1])

    def number(self, i: int) -> int:
        """Return the number of sequence ``i`` in messages: its index among all given ones, empty ones included."""
        return _number(i, self.numbers)

    def split(self, values: Any) -> list[Any]:
        """Cut an array or a list with one entry per part into one per sequence."""
        return [values[a:b] for a, b in pairwise(self.offsets.tolist())]  # np.split takes six times as long


def settled(X: Any) -> list[Any]:
    """A list of sequences, with those that can be read only once, such as generators, and other lists as lists."""
    return [list(item) if isinstance(item, Iterator) or _is_other_list(item) else item for item in X]


def _is_other_list(item: Any) -> bool:
    """Whether a sequence is a list of another type: a deque, or a series of pandas that holds objects."""
    if isinstance(item, list | tuple | np.ndarray | str | bytes):
        return False
    holds_objects = getattr(getattr(item, "dtype", None), "kind", "") == "O" and getattr(item, "ndim", 0) == 1
    return isinstance(item, Sequence) or holds_objects


def lasting(X: Any) -> Any:
    """The same sequences, those that can be read only once as lists."""
    once = isinstance(X, Iterator) or (isinstance(X, list | tuple) and any(isinstance(item, Iterator) for item in X))
    return settled(X) if once else X


def without_empty(X: Any, lengths: ArrayLike | None = None) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Leave out examples without a part, of sequences as `Sequences.of` reads them, or of a list of other examples.

    Returns X and lengths without them, and which examples (n_examples,) are kept: all where sizes are unknown, as the
    reader of X reports errors.
    """
    if isinstance(X, Sequences):
        sizes = np.diff(X.offsets)
        if (sizes > 0).all():
            return X, lengths, sizes > 0
        ends = np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int64)
        left = np.flatnonzero(sizes > 0)
        return replace(X, offsets=ends, numbers=left if X.numbers is None else X.numbers[left]), lengths, sizes > 0
    if lengths is not None:
        sizes = np.asarray(lengths)
        if sizes.ndim != 1:
            return X, lengths, np.ones(1, dtype=bool)
        if len(sizes) and (sizes == 0).any() and (sizes != 0).any():
            return Sequences._of_lengths(X, sizes[sizes != 0], np.flatnonzero(sizes)), None, sizes != 0
        return X, sizes if len(sizes) else np.empty(0, dtype=np.int64), sizes != 0
    if isinstance(X, Iterator | list | tuple) or (isinstance(X, np.ndarray) and (X.dtype == object or X.ndim == 3)):
        if isinstance(X, Iterator) or any(isinstance(item, Iterator) for item in X):
            X = settled(X)
        present = np.fromiter((_size(item) > 0 for item in X), np.bool_, len(X))
        return X if present.all() else _NonEmpty(X, present), None, present
    return X, lengths, np.ones(len(X) if hasattr(X, "__len__") else 1, dtype=bool)


class _NonEmpty(list[Any]):
    """The examples that are not empty, with their numbers among all."""

    def __init__(self, X: Any, present: NDArray[np.bool_]) -> None:
        super().__init__(item for item, there in zip(X, present, strict=True) if there)
        self.numbers = np.flatnonzero(present)


def with_empty(answers: list[Any], present: NDArray[np.bool_], nothing: Callable[[], Any]) -> list[Any]:
    """Return the answers of all examples, with ``nothing()`` for those that `without_empty` left out."""
    if present.all():
        return answers
    given = iter(answers)
    return [next(given) if there else nothing() for there in present]


def _size(item: Any) -> int:
    """Number of an example's parts; 1 if it has no length or is no sequence of parts, which its reader reports."""
    if sparse.issparse(item):
        return int(item.shape[0])
    if isinstance(item, str | bytes | Mapping):
        return 1
    try:
        return len(item)
    except TypeError:
        return 1


def _number(i: int, numbers: NDArray[np.int64] | None) -> int:
    return i if numbers is None else int(numbers[i])


#: What parts are, where they are names; in messages.
_NAMES = ", each a dict or a list of strings"
#: Where one sequence was given in place of several, and where several were given in place of one.
ONE_SEQUENCE = " For one sequence, pass [sequence]."
SEVERAL_SEQUENCES = " predict_one takes one sequence, a list of parts; predict takes several."
_SEVERAL_GIVEN = " Got a list of dicts or lists."


def parts_of(item: Any, i: int, each: str = "") -> list[Any]:
    """The parts of sequence ``i``, or TypeError for what is none."""
    frame = is_table(item) and not isinstance(item, np.ndarray)  # which holds the names of its columns
    if frame or isinstance(item, str | bytes | Mapping | set | frozenset) or not hasattr(item, "__iter__"):
        raise _no_sequence(item, i, each)
    return list(item)


def is_table(item: Any) -> bool:
    """Whether a sequence is an array or a frame with a row for each part."""
    return len(getattr(item, "shape", ())) == 2 and getattr(getattr(item, "dtype", None), "kind", "") != "O"


def _no_sequence(item: Any, i: int, each: str) -> TypeError:
    shown = repr(item) if len(repr(item)) <= 40 else f"{repr(item)[:36]} ..."
    return TypeError(
        f"Sequence {i} must be a list of parts{each}. Got the {type(item).__name__} {shown}.{ONE_SEQUENCE}"
    )


def _is_matrix(item: Any) -> bool:
    """Whether a sequence is an array that needs no conversion."""
    return type(item) is np.ndarray and item.ndim == 2 and item.dtype.kind in "buif"


def raise_for_one(error: Exception) -> None:
    """Raise an error about the form of one sequence again, for who gave one, and not a list of them."""
    message = str(error)
    if type(error) in (TypeError, ValueError) and message.endswith((ONE_SEQUENCE, _SEVERAL_GIVEN)):
        raise type(error)(message.removesuffix(ONE_SEQUENCE) + SEVERAL_SEQUENCES) from None


def _matrix(item: Any, i: int) -> Any:
    """Sequence ``i`` as a numeric array or CSR matrix."""
    if sparse.issparse(item):
        return item.tocsr()
    if isinstance(item, str | bytes | Mapping | set | frozenset) or not hasattr(item, "__iter__"):
        raise _no_sequence(item, i, _NAMES)
    if isinstance(item, list | tuple) and item and isinstance(item[0], str):
        raise TypeError(
            f"Part 0 of sequence {i} must be numbers, a dict, or a list of strings. Got the text {item[0]!r}."
            f"{ONE_SEQUENCE}"
        )
    first = item[0] if isinstance(item, list | tuple) and item else None
    if isinstance(first, list | tuple) and any(isinstance(part, Mapping | list | tuple) for part in first):
        raise TypeError(f"Part 0 of sequence {i} must be numbers, a dict, or a list of strings.{_SEVERAL_GIVEN}")
    if isinstance(item, list | tuple) and holds_names([item]):
        raise TypeError(f"Part 0 of sequence {i} must be numbers, as in the other sequences. Got {item[0]!r}.")
    try:
        array = np.asarray(item)
    except ValueError as error:
        raise ValueError(f"Sequence {i} must be an array (length, n_features): {error}") from error
    if array.shape == (0,):
        raise ValueError(f"Sequence {i} is empty; every sequence needs at least one part.")
    if array.dtype.kind not in "buif" or array.ndim != 2:
        raise ValueError(
            f"Sequence {i} must be a numeric array (length, n_features). Got {array.dtype}, shape {array.shape}."
            + (ONE_SEQUENCE if array.ndim == 1 else "")
        )
    return array


def _offsets(lengths: list[int]) -> Offsets:
    if not lengths:
        raise ValueError("X must hold at least one sequence. Got none.")
    empty = next((i for i, n in enumerate(lengths) if n <= 0), None)
    if empty is not None:
        raise ValueError(
            f"Sequence {empty} is empty; every sequence needs at least one part. Leave it out, with its labels."
        )
    return np.fromiter(accumulate(lengths, initial=0), np.int64, len(lengths) + 1)


def _checked(parts: Any, offsets: Offsets, numbers: NDArray[np.int64] | None) -> Any:
    data = parts.data if sparse.issparse(parts) else parts
    if data.dtype.kind not in "buif":
        raise TypeError(f"Parts must be numbers. Got {data.dtype}.")
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        bad = np.argmin(np.isfinite(data)) if sparse.issparse(parts) else np.argmin(np.isfinite(data).all(axis=1))
        part = np.searchsorted(parts.indptr, bad, side="right") - 1 if sparse.issparse(parts) else bad
        sequence = int(np.searchsorted(offsets, part, side="right")) - 1
        raise ValueError(f"X must not hold NaN or infinity. Sequence {_number(sequence, numbers)} does.")
    return parts
