"""What extractors give, as rows of float32."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..calls import BadAnswerError
from .kept import Row
from .names import hashed, holds_names


class UnusableError(BadAnswerError):
    """Features that cannot be used; in the text, ``{part}`` stands for the first of ``places``."""


def as_floats(values: Any, n: int) -> Any:
    """Return features as a float32 array or CSR matrix (n, any), or raise UnusableError; names are hashed.

    A writeable CSR matrix is copied, because its indices are not checked again.
    """
    values = listed(values)
    if isinstance(values, list | tuple) and (names := names_in(values)) is not None:
        if len(names) != n:
            raise UnusableError(f"must have one dict or list for each of {n} parts. Got {len(names)}")
        values = _hashed(names)
    if not sparse.issparse(values):
        values = _array(values)
    if values.dtype.kind not in "buif":
        raise _no_numbers(values)
    if values.ndim == 1 and values.shape[0] == n:
        values = values.reshape(n, 1)
    if values.ndim != 2 or values.shape[0] != n:
        raise UnusableError(f"must have one row for each of {n} parts. Got shape {values.shape}")
    with np.errstate(over="ignore"):  # infinity is reported with its part
        if not sparse.issparse(values):
            return np.ascontiguousarray(values, dtype=np.float32)
        if _is_fixed(values):
            return values
        values = sparse.csr_matrix(values).astype(np.float32)
    values.sum_duplicates()
    return values


def as_answers(values: Any, for_a_cache: bool) -> Any:
    """Return features so that NumPy makes an array with one entry for each part of them, or raise UnusableError.

    A user's cache keeps names, not what these are hashed to.
    """
    values = listed(values)
    if sparse.issparse(values):
        rows = packed(_finite(as_floats(values, values.shape[0])))
        return _objects([SparseRow(row) for row in rows] if for_a_cache else rows)
    if not isinstance(values, list | tuple):
        return values
    names = names_in(values)
    if names is None:
        return _array(values)
    if not for_a_cache:
        return _objects(rows_of(_finite(_hashed(names))))
    return _objects([dict.fromkeys(part, 1.0) if _is_list_of_names(part) else part for part in names])


def kept_rows(answers: NDArray[Any]) -> NDArray[Any]:
    """Answers of parts, as `as_answers` gave them, as an object array of `Row`, all finite, or UnusableError."""
    if answers.dtype == object and isinstance(answers[0], bytes):
        return answers
    if answers.dtype == object and isinstance(answers[0], SparseRow):
        return _objects([row.content for row in answers])
    return _objects(rows_of(_finite(as_floats(answers, len(answers)))))


def _finite(features: Any) -> Any:
    """The same features; an error names the first part with NaN or infinity."""
    finite = np.isfinite(features.data if sparse.issparse(features) else features)
    if not finite.all():
        first = int(np.argmin(finite)) if sparse.issparse(features) else int(np.argmin(finite.all(axis=1)))
        place = int(np.searchsorted(features.indptr, first, side="right")) - 1 if sparse.issparse(features) else first
        raise UnusableError("has NaN or infinity at {part}", [place])
    return features


def rows_of(features: Any) -> list[Row]:
    """Cut float32 features into rows of their own memory."""
    return list(packed(features)) if sparse.issparse(features) else list(np.array(features))


def packed(matrix: sparse.csr_matrix) -> list[bytes]:
    """Cut a float32 matrix into rows as bytes: the number of all columns, those that are not 0, all int32; values."""
    head, ends = np.int32(matrix.shape[1]).tobytes(), (4 * matrix.indptr.astype(np.int64)).tolist()
    columns, values = matrix.indices.astype(np.int32).tobytes(), matrix.data.tobytes()
    return [head + columns[a:b] + values[a:b] for a, b in pairwise(ends)]


def joined(rows: Sequence[Row]) -> Any:
    """Put rows together: a float32 array if all are dense, else a canonical CSR matrix.

    Raises UnusableError if they differ in their number of features.
    """
    widths = [_width(row) for row in rows]
    if other := next((i for i, width in enumerate(widths) if width != widths[0]), 0):
        raise UnusableError(f"must have {widths[0]} features, as before. Got {widths[other]} for {{part}}", [other])
    if not any(isinstance(row, bytes) for row in rows):
        return np.array(rows)
    given = [row if isinstance(row, bytes) else packed(sparse.csr_matrix(row[None]))[0] for row in rows]
    middles = [2 + len(row) // 2 for row in given]
    columns = b"".join([row[4:middle] for row, middle in zip(given, middles, strict=True)])
    values = b"".join([row[middle:] for row, middle in zip(given, middles, strict=True)])
    ends = np.concatenate([[0], np.cumsum([len(row) // 8 for row in given])])
    numbers = np.frombuffer(values, dtype=np.float32), np.frombuffer(columns, dtype=np.int32), ends
    matrix = sparse.csr_matrix(numbers, shape=(len(given), widths[0]))
    matrix.has_canonical_format = True
    return matrix


def _width(row: Row) -> int:
    return int.from_bytes(row[:4], sys.byteorder) if isinstance(row, bytes) else len(row)


class SparseRow:
    """A sparse row in a user's cache, where bytes could be anything."""

    def __init__(self, content: bytes) -> None:
        self.content = content


def _array(values: Any) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise UnusableError(f"must be numbers, as many for each part: {error}") from error
    if isinstance(values, list | tuple) and array.dtype.kind == "U":  # NumPy makes texts of numbers beside texts
        raise _no_numbers(np.fromiter(values, dtype=object, count=len(values)))
    return array


def _no_numbers(values: Any) -> UnusableError:
    """The error about features that are no numbers; it names the first part that has such a one."""
    must = "must be numbers, or a dict or list of strings for each part"
    if not isinstance(values, np.ndarray) or values.dtype != object or not values.ndim:
        return UnusableError(f"{must}. Got {values.dtype}")
    for place, row in enumerate(values):
        inner = np.ravel(row).tolist() if isinstance(row, np.ndarray) else row
        for value in inner if isinstance(inner, list | tuple) else [inner]:
            if not isinstance(value, int | float | np.number | np.bool_):
                return UnusableError(f"{must}. Got {value!r:.60} for {{part}}", [place])
    return UnusableError(f"{must}. Got whole numbers beyond 64 bits")


def listed(values: Any) -> Any:
    """Arrays of objects and of texts, and what is read once, as lists."""
    if isinstance(values, Iterator):
        return list(values)
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "OUT":
        return values.tolist()
    return values


def names_in(values: Sequence[Any]) -> list[Any] | None:
    """Names of parts as dicts or lists, where features are names; else None."""
    if values and isinstance(values[0], str):
        return [[part] if isinstance(part, str) else part for part in values]
    return list(values) if holds_names([list(values)]) else None


def _is_list_of_names(part: Any) -> bool:
    return isinstance(part, list | tuple | set | frozenset) and all(isinstance(name, str) for name in part)


def _hashed(names: list[Any]) -> sparse.csr_matrix:
    places: list[int] = []

    def name(_: int, place: int) -> str:
        places.append(place)
        return "{part}"

    try:
        return hashed([names], name)
    except (TypeError, ValueError) as error:
        raise UnusableError(f": {error}", places) from error


def _objects(items: Sequence[Any]) -> NDArray[Any]:
    return np.fromiter(items, dtype=object, count=len(items))


def _is_fixed(values: Any) -> bool:
    """Return True for canonical CSR in the engine's dtypes and in read-only arrays."""
    return bool(
        values.format == "csr"
        and not (values.data.flags.writeable or values.indices.flags.writeable)
        and (values.dtype, values.indices.dtype) == (np.float32, np.int32)
        and values.has_canonical_format
    )
