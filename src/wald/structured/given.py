"""Sequences and their labels as users give them: parts of any kind, and labels as one array of one type."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .groups import FeatureGroup
from .names import a
from .sequences import Sequences, is_table, parts_of

_KINDS = {"b": "bool", "i": "int", "u": "int", "f": "float", "U": "str", "S": "bytes"}
_TYPES = ((bool | np.bool_, "bool"), (int | np.integer, "int"), (float | np.floating, "float"))
_TEXTS = ((str, "str"), (bytes, "bytes"))
_NO_LABELS = (type(None), Mapping, list, tuple, set, frozenset, np.ndarray)


def sequences_for(
    groups: Sequence[FeatureGroup], X: Any, lengths: ArrayLike | None = None, *, as_before: bool = False
) -> Sequences:
    """Read sequences as `Sequences.of` does; where all groups have extractors, parts may be anything.

    ``as_before``: parts were handed over as they are before, and so they are now, even if all are rows of numbers.
    """
    unordered = isinstance(X, str | bytes | Mapping | Set)
    if unordered or not (sparse.issparse(X) or isinstance(X, Sequences) or hasattr(X, "__iter__")):
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
    if not (as_before or _of_any_kind(items)):
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
    """Whether a part, wherever it stands, is no row of numbers as long as the others."""
    lengths: set[int] = set()
    for item in items:
        if sparse.issparse(item) or is_table(item):
            continue
        # those of a generator are read once; what is no sequence is reported
        if not isinstance(item, list | tuple | np.ndarray) or not all(map(_is_row, item)):
            return True
        lengths.update(part.shape[-1] if hasattr(part, "shape") else len(part) for part in item)
    return len(lengths) > 1 or lengths == {0}


def _is_row(part: Any) -> bool:
    if sparse.issparse(part):
        return True
    if isinstance(part, np.ndarray):
        return part.ndim == 1 and part.dtype.kind in "buif"
    if not isinstance(part, list | tuple) or hasattr(part, "_fields"):  # a record, whose fields have names
        return False
    return all(isinstance(value, Number) for value in part)


def _are_words(X: Any) -> bool:
    items = X if isinstance(X, list | tuple) else ()
    return isinstance(next((part for item in items if isinstance(item, list | tuple) for part in item), None), str)


def _read(item: Any, i: int) -> list[Any]:
    if isinstance(item, list):
        return item
    return item.tolist() if isinstance(item, np.ndarray) and item.ndim == 1 else parts_of(item, i)


# ---- labels ---------------------------------------------------------------------------------------------------------


def labels_of(y: Any, sequences: Sequences) -> NDArray[Any]:
    """Concatenate the labels of all parts: strings, bytes, integers, floats, booleans, or objects that can be sorted.

    Raises ValueError if numbers of sequences or parts differ, labels are of several types, or a label is None, a
    container, NaN or infinite.
    """
    y = settled_labels(y)
    if is_flat(y):
        flat: NDArray[Any] = y
    else:
        if isinstance(y, str | bytes | Mapping) or not hasattr(y, "__iter__"):
            raise ValueError(f"y must hold the labels of each sequence. Got {y!r:.60}, {a(y)}.")
        given = list(y)
        if len(given) != sequences.n_sequences:
            raise ValueError(f"y must hold the labels of {sequences.n_sequences} sequences. Got {len(given)}.")
        items = []
        first: tuple[str, Any, str] | None = None  # kind, label and place of the first label
        for i, (labels, n) in enumerate(zip(given, np.diff(sequences.offsets), strict=True)):
            where = f"sequence {sequences.number(i)}"
            values = _values(labels, where)
            shape = np.shape(values) if isinstance(values, np.ndarray) else (len(values),)
            if shape != (n,):
                raise ValueError(f"Sequence {sequences.number(i)} has {n} parts, and labels of shape {shape}.")
            array, first = _of_one_kind(values, "y", where, first)
            items.append(array)
        flat = np.concatenate(items)
        if flat.dtype.kind == "f" and first is not None and first[0] == "int":
            raise ValueError("y must hold integers that fit into one type, int64 or uint64.")
    if len(flat) != sequences.n_parts:
        raise ValueError(f"y must hold {sequences.n_parts} labels. Got {len(flat)}.")
    if flat.dtype.kind in "fc" and not np.isfinite(flat).all():
        raise ValueError("y must not hold NaN or infinity.")
    if flat.dtype.kind in "mM" and np.isnat(flat).any():
        raise ValueError("y must not hold NaT.")
    return np.asarray(flat)


def classes_of(labels: ArrayLike) -> NDArray[Any]:
    """Return the different labels, sorted, or raise ValueError for labels of several types."""
    array, _ = _of_one_kind(_values(labels, "classes"), "classes", "classes", None)
    try:
        return np.unique(array)
    except TypeError as error:
        raise ValueError(f"Labels must be strings, numbers, or other objects that can be sorted: {error}.") from None


def require_alike(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Raise ValueError for labels that are of another type than the classes, texts for numbers, say."""
    kinds = [("number" if array.dtype.kind in "biuf" else _kind_of(array)) for array in (labels, classes)]
    if kinds[0] != kinds[1] and len(labels) and len(classes):
        raise ValueError(
            f"y must hold labels of the type of the classes, such as {classes[:1].tolist()[0]!r}. "
            f"Got {labels[:1].tolist()[0]!r}, {a(labels[:1].tolist()[0])}."
        )


def is_flat(y: Any) -> bool:
    """Return True if labels are one array for all parts, not one item for each sequence."""
    return isinstance(y, np.ndarray) and y.ndim == 1 and y.dtype != object


def given_as_lists(y: Any) -> bool:
    """Return True if labels are lists of lists, not arrays."""
    if isinstance(y, np.ndarray) and y.dtype != object:
        return False
    return isinstance(next(iter(y), None), list | tuple)


def settled_labels(y: Any) -> Any:
    """Labels that can be read only once, such as those of a generator, as lists."""
    if isinstance(y, Iterator):
        y = list(y)
    if isinstance(y, list | tuple) and any(isinstance(labels, Iterator) for labels in y):
        return [list(labels) if isinstance(labels, Iterator) else labels for labels in y]
    return y


def _values(labels: Any, where: str) -> Any:
    """Labels as a typed array, or a list of objects."""
    if isinstance(labels, str | bytes | Mapping | set | frozenset):
        raise ValueError(f"Labels must be a list or an array, one for each part. Got {labels!r} for {where}.")
    if isinstance(labels, list | tuple):
        return list(labels)
    array = np.asarray(labels)
    return array.tolist() if array.dtype == object and array.ndim == 1 else array


def _of_one_kind(
    values: Any, argument: str, where: str, first: tuple[str, Any, str] | None
) -> tuple[NDArray[Any], tuple[str, Any, str] | None]:
    """Return labels as an array, and the kind of the first label of all."""
    if isinstance(values, np.ndarray):
        found = {_kind_of(values): values[0]} if len(values) else {}
    else:
        found = {}
        for of in dict.fromkeys(map(type, values)):  # the first label of each kind, for the message
            found.setdefault(_named(of), next(label for label in values if type(label) is of))
    for kind, label in found.items():
        if isinstance(label, _NO_LABELS):
            raise ValueError(f"{argument} must hold labels of one type, strings or numbers. Got {label!r} in {where}.")
        if kind == "float" and not np.isfinite(label):
            raise ValueError(f"{argument} must not hold NaN or infinity. Got {label!r} in {where}.")
        first = (kind, label, where) if first is None else first
        if kind != first[0]:
            raise ValueError(
                f"{argument} must hold labels of one type. Got {first[1]!r} ({first[0]}) in {first[2]} and {label!r} "
                f"({kind}) in {where}."
            )
    if isinstance(values, np.ndarray):
        return values, first
    return _array(values, first[0] if first else "", argument, where), first


def _array(values: list[Any], kind: str, argument: str, where: str) -> NDArray[Any]:
    """An array from which `tolist` gives these values, all of one kind."""
    if kind in ("str", "bytes"):
        plain: list[Any] = [str.__str__(v) for v in values] if kind == "str" else [bytes(v) for v in values]
        end: Any = "\0" if kind == "str" else b"\0"
        if bad := [text for text in plain if text.endswith(end)]:  # NumPy's arrays drop it
            raise ValueError(f"{argument} must hold labels that do not end in NUL. Got {bad[0]!r} in {where}.")
        return np.array(plain)
    if kind == "int":
        for dtype in (np.int64, np.uint64):
            try:
                return np.array([int(v) for v in values], dtype=dtype)
            except OverflowError:
                continue
        raise ValueError(f"{argument} must hold integers that fit into one type, int64 or uint64; not in {where}.")
    if kind in ("bool", "float"):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _named(kind: type) -> str:
    for types, name in (*_TYPES, *_TEXTS):
        if issubclass(kind, types):
            return name
    return kind.__name__


def _kind_of(array: NDArray[Any]) -> str:
    if array.dtype == object:
        return _named(type(array[0])) if len(array) else "object"
    return _KINDS.get(array.dtype.kind, array.dtype.name)
