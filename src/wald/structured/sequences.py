"""Sequences as users have them, in one form: all parts one behind the other, and where each sequence starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

Offsets = NDArray[np.int64]

#: Columns that feature dicts are hashed to.
HASHED_COLUMNS = 2**18


@dataclass(frozen=True, eq=False)
class Sequences:
    """Sequences of any length, all parts one behind the other.

    Attributes
    ----------
    parts : ndarray or CSR matrix of shape (n_parts, n_features)
    offsets : int64 ndarray of shape (n_sequences + 1,)
        Sequence ``i`` has parts ``offsets[i]`` to ``offsets[i + 1]``.

    Examples
    --------
    >>> import numpy as np
    >>> words = Sequences.of([np.zeros((3, 2)), np.ones((1, 2))])
    >>> words.parts.shape, words.offsets.tolist()
    ((4, 2), [0, 3, 4])
    """

    parts: Any
    offsets: Offsets

    @classmethod
    def of(cls, X: Any, lengths: ArrayLike | None = None) -> Sequences:
        """Read sequences.

        Parameters
        ----------
        X : list of arrays (length, n_features), of CSR matrices, or of lists of feature dicts
            Dicts map names to numbers, strings, booleans, or nested dicts and lists, as in python-crfsuite, and are
            hashed to 2^18 columns. Or, with ``lengths``, one array or CSR matrix of all parts (n_parts, n_features).
        lengths : array-like of int, default=None
            Parts of each sequence.

        Raises
        ------
        ValueError, TypeError
            If there are no sequences, one is empty, or they differ in their number of features.
        """
        if isinstance(X, Sequences):
            return X
        if lengths is not None:
            return cls._of_lengths(X, lengths)
        if sparse.issparse(X) or (isinstance(X, np.ndarray) and X.dtype != object and X.ndim != 3):
            raise ValueError("One array of all parts needs lengths=, the number of parts of each sequence.")
        items = list(X)
        if not items:
            raise ValueError("X must hold at least one sequence. Got none.")
        if _holds_dicts(items):
            return cls._of_dicts(items)
        if any(sparse.issparse(item) for item in items):
            blocks = [
                item.tocsr() if sparse.issparse(item) else sparse.csr_matrix(_matrix(item, i))
                for i, item in enumerate(items)
            ]
            _same_width(blocks)
            return cls(_checked(sparse.vstack(blocks, format="csr")), _offsets([b.shape[0] for b in blocks]))
        arrays = [_matrix(item, i) for i, item in enumerate(items)]
        _same_width(arrays)
        return cls(_checked(np.concatenate(arrays)), _offsets([len(a) for a in arrays]))

    @classmethod
    def _of_lengths(cls, X: Any, lengths: ArrayLike) -> Sequences:
        sizes = np.asarray(lengths)
        if sizes.ndim != 1 or sizes.dtype.kind not in "iu":
            raise ValueError(f"lengths must be a 1-D array of integers. Got {lengths!r}.")
        parts = X.tocsr() if sparse.issparse(X) else np.asarray(X)
        if parts.ndim != 2 or sizes.sum() != parts.shape[0]:
            raise ValueError(f"lengths add up to {sizes.sum()} parts, X has shape {parts.shape}.")
        return cls(_checked(parts), _offsets(sizes.tolist()))

    @classmethod
    def _of_dicts(cls, items: list[Any]) -> Sequences:
        hasher = FeatureHasher(HASHED_COLUMNS, dtype=np.float32)
        flat = [_flattened(part) for item in items for part in item]
        return cls(_checked(hasher.transform(flat)), _offsets([len(item) for item in items]))

    @property
    def n_sequences(self) -> int:
        """Number of sequences."""
        return len(self.offsets) - 1

    @property
    def n_parts(self) -> int:
        """Number of parts of all sequences."""
        return int(self.offsets[-1])

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """Cut an array with one entry per part into one array per sequence."""
        return np.split(values, self.offsets[1:-1])


def labels_of(y: Any, sequences: Sequences) -> NDArray[Any]:
    """Labels of all parts, one behind the other.

    Parameters
    ----------
    y : sequence of label sequences, or array of shape (n_parts,)
    sequences : Sequences
        They must have as many parts.
    """
    if isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object:
        flat = y
    else:
        items = [np.asarray(labels) for labels in y]
        if len(items) != sequences.n_sequences:
            raise ValueError(f"y must hold the labels of {sequences.n_sequences} sequences. Got {len(items)}.")
        for i, (labels, n) in enumerate(zip(items, np.diff(sequences.offsets), strict=True)):
            if labels.shape != (n,):
                raise ValueError(f"Sequence {i} has {n} parts, and labels of shape {labels.shape}.")
        flat = np.concatenate(items)
    if len(flat) != sequences.n_parts:
        raise ValueError(f"y must hold {sequences.n_parts} labels. Got {len(flat)}.")
    if flat.dtype.kind == "f" and not np.isfinite(flat).all():
        raise ValueError("y must not hold NaN or infinity.")
    return flat


def _matrix(item: Any, i: int) -> NDArray[Any]:
    array = np.asarray(item)
    if array.dtype.kind not in "buif" or array.ndim != 2:
        raise ValueError(
            f"Sequence {i} must be a numeric array (length, n_features). Got {array.dtype}, shape {array.shape}."
        )
    return array


def _same_width(blocks: Sequence[Any]) -> None:
    widths = sorted({b.shape[1] for b in blocks})
    if len(widths) > 1:
        other = next(i for i, b in enumerate(blocks) if b.shape[1] != blocks[0].shape[1])
        raise ValueError(f"Sequence {other} has {blocks[other].shape[1]} features, the first one {blocks[0].shape[1]}.")


def _offsets(lengths: list[int]) -> Offsets:
    empty = [i for i, n in enumerate(lengths) if n <= 0]
    if empty:
        raise ValueError(f"Sequence {empty[0]} is empty; every sequence needs at least one part.")
    if not lengths:
        raise ValueError("X must hold at least one sequence. Got none.")
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _checked(parts: Any) -> Any:
    data = parts.data if sparse.issparse(parts) else parts
    if data.dtype.kind not in "buif":
        raise TypeError(f"Parts must be numbers. Got {data.dtype}.")
    if data.dtype.kind == "f" and not np.isfinite(data).all():
        raise ValueError("X must not hold NaN or infinity.")
    return parts


def _holds_dicts(items: list[Any]) -> bool:
    first = next((item for item in items if isinstance(item, list | tuple) and len(item) > 0), None)
    return first is not None and isinstance(first[0], Mapping)


def _flattened(part: Any, prefix: str = "") -> dict[str, float]:
    """Name a part's features the way python-crfsuite does: ``name:value`` for strings and nested names."""
    if not isinstance(part, Mapping):
        raise TypeError(f"Every part of a sequence of feature dicts must be a dict. Got {type(part).__name__}.")
    out: dict[str, float] = {}
    for name, value in part.items():
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            out |= _flattened(value, f"{key}:")
        elif isinstance(value, str):
            out[f"{key}:{value}"] = 1.0
        elif isinstance(value, list | tuple | set):
            out |= {f"{key}:{v}": 1.0 for v in value}
        elif isinstance(value, int | float | np.number):
            out[key] = float(value)
        else:
            raise TypeError(
                f"Feature {key!r} must be a number, a string, a boolean, or a dict or list of them. Got {value!r}."
            )
    return out
