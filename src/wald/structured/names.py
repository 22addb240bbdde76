"""Parts described by names: dicts of features and lists of strings, hashed to columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

from .. import _core

#: Columns that names are hashed to.
HASHED_COLUMNS = 2**18

#: Types whose objects are numbers, in addition to int and float.
NUMBERS = (np.integer, np.floating, np.bool_, Decimal, Fraction)

_LISTS = (list, tuple, set, frozenset)


def holds_names(items: Iterable[Any]) -> bool:
    """Return True if the parts of these sequences are dicts or lists of strings.

    The first part that shows its kind decides. A list without features shows none; where all parts are such lists,
    they are lists of no strings.
    """
    some = False
    for item in items:
        if isinstance(item, np.ndarray) and item.dtype == object and item.ndim == 1:
            item = item.tolist()
        if not isinstance(item, list | tuple):
            if isinstance(item, np.ndarray) or sparse.issparse(item):
                return False
            continue
        for part in item:
            if isinstance(part, Mapping | set | frozenset):
                return True
            if not isinstance(part, list | tuple):
                return False
            if part:
                return isinstance(part[0], str | bytes)
            some = True
    return some


def hashed(items: Sequence[list[Any]], name: Callable[[int, int], str]) -> sparse.csr_matrix:
    """Hash the names of all parts of all sequences: float32 CSR (n_parts, HASHED_COLUMNS).

    It is canonical, with read-only arrays. ``name`` names part ``j`` of sequence ``i`` in messages.
    """
    try:
        values, columns, ends = _core.hash_names(list(items), HASHED_COLUMNS, NUMBERS, flattened)
    except (TypeError, ValueError) as error:
        where = _refused(items)
        raise type(error)(f"{name(*where)}: {error}" if where else str(error)) from None
    if len(values) <= np.iinfo(np.int32).max:
        ends = ends.astype(np.int32)  # the columns' type, which saves SciPy a search for a common one
    for array in (values, columns):  # read-only, so that extracted features need no copy
        array.flags.writeable = False
    parts = sparse.csr_matrix((values, columns, ends), shape=(len(ends) - 1, HASHED_COLUMNS))
    parts.has_canonical_format = True
    return parts


def _refused(items: Sequence[list[Any]]) -> tuple[int, int] | None:
    """Sequence and part that cannot be hashed."""
    for i, item in enumerate(items):
        for j, part in enumerate(item):
            try:
                flattened(part)
            except (TypeError, ValueError):
                return i, j
    return None


def flattened(part: Any, prefix: bytes = b"") -> dict[bytes, float]:
    """Name a part's features the way python-crfsuite does: ``name:value`` for strings and nested names.

    The engine does this by itself for plain dicts, lists and numbers, and calls this for everything else.
    """
    try:
        return _flattened(part, prefix)
    except RecursionError:
        raise ValueError("Features must not be nested so deeply, nor hold themselves.") from None


def _flattened(part: Any, prefix: bytes) -> dict[bytes, float]:
    if isinstance(part, _LISTS):
        if not all(isinstance(name, str | bytes) for name in part):
            raise TypeError(f"Lists of features must hold strings. Got {part!r}.")
        return {_bytes(name, prefix): 1.0 for name in part}
    if not isinstance(part, Mapping):
        got = f"the text {part!r}" if isinstance(part, str) else type(part).__name__
        raise TypeError(f"Every part must be a dict or a list of strings, as the other parts. Got {got}.")
    out: dict[bytes, float] = {}
    for name, value in part.items():
        if not isinstance(name, str | bytes):
            raise TypeError(f"Names of features must be strings. Got {name!r}, {a(name)}.")
        key = _bytes(name, prefix)
        if isinstance(value, Mapping | list | tuple | set | frozenset):
            out |= _flattened(value, key + b":")
        elif isinstance(value, str | bytes):
            out[_bytes(value, key + b":")] = 1.0
        elif isinstance(value, (int, float, *NUMBERS)):
            try:
                out[key] = float.__float__(value) if isinstance(value, float) else float(value)
            except (OverflowError, ValueError):  # a Decimal that signals
                raise ValueError(
                    f"Feature {_shown(key)} must lie within what a float can hold. Got {value!r}."
                ) from None
        else:
            raise TypeError(
                f"Feature {_shown(key)} must be a number, a string, or a dict or list of them. Got {value!r}."
            )
    return out


def _bytes(text: str | bytes, prefix: bytes) -> bytes:
    """A name as the hasher reads it; of types derived from str and bytes, the text itself."""
    if isinstance(text, bytes):
        return prefix + bytes(text)
    try:
        return prefix + str.encode(text)
    except UnicodeEncodeError:
        shown = prefix.decode(errors="backslashreplace") + text
        raise ValueError(f"Feature {shown!r} holds half of a surrogate pair, which is no character.") from None


def _shown(name: bytes) -> str:
    return repr(name.decode(errors="backslashreplace"))


def a(value: Any) -> str:
    """The type of a value, with its article."""
    kind = type(value).__name__
    return f"{'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def name_columns(parts: list[Any]) -> dict[bytes, tuple[int, bool]]:
    """Names of all features of some parts, with their columns, and whether values are negated there."""
    return _core.name_columns([parts], HASHED_COLUMNS, NUMBERS, flattened)
