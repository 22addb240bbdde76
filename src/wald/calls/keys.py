"""Keys of rows in a cache: texts that depend on what a row holds alone, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from enum import Enum
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse

#: Modules whose types hold nothing besides what they are equal by.
_KNOWN = frozenset({"builtins", "collections", "datetime", "decimal", "fractions", "numpy"})


def rows_of(batch: Any) -> Sequence[Any]:
    """A batch in any form as a sequence of rows."""
    if isinstance(batch, list | tuple):
        return batch
    if sparse.issparse(batch):
        batch = sparse.csr_array(batch)
        return [(row.indices.tolist(), row.data) for row in (batch[[i]] for i in range(batch.shape[0]))]
    if nw.dependencies.is_into_dataframe(batch):
        return list(nw.from_native(batch, eager_only=True).rows())
    return list(batch)


def key_of(row: Any) -> str:
    """A text that tells rows of different content apart.

    Parameters
    ----------
    row : array, number, text, bytes, None, or tuple, list, set or dict of these
        Of a type derived from one of these, the attributes count, too: two words that are texts with a tag each differ
        if the tags do.

    Raises
    ------
    TypeError
        For an object of another kind, of which nobody knows whether it is the same again.
    """
    digest = hashlib.blake2b(digest_size=16)
    _add(digest, row)
    return digest.hexdigest()


def _add(digest: Any, value: Any) -> None:
    """Add a value to a digest, with its kind and its length, so that no two values look the same one after another."""
    if isinstance(value, np.generic):
        value = value.item()
    if attributes := _attributes(value):
        _write(digest, [b"attributes"])
        _add(digest, attributes)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufcMmSU":
        parts = [b"array", value.dtype.str.encode(), repr(value.shape).encode(), np.ascontiguousarray(value).tobytes()]
    elif isinstance(value, str):
        parts = [b"text", value.encode("utf-8", "surrogatepass")]
    elif isinstance(value, bytes):
        parts = [b"bytes", value]
    elif value is None or isinstance(value, Number) or type(value).__module__ == "datetime":
        parts = [type(value).__name__.encode(), repr(value).encode()]
    elif isinstance(value, dict):
        items = sorted(value.items(), key=repr)
        parts = [b"dict", str(len(items)).encode()]
        _write(digest, parts)
        for name, inner in items:
            _add(digest, name)
            _add(digest, inner)
        return
    elif isinstance(value, set | frozenset):
        parts = [b"set", *sorted(key_of(inner).encode() for inner in value)]
    elif isinstance(value, list | tuple | np.ndarray):
        _write(digest, [b"list", str(len(value)).encode()])
        for inner in value:
            _add(digest, inner)
        return
    else:
        raise TypeError(f"a row holds a {type(value).__name__}, which has no key: give key=, a function of one row")
    _write(digest, parts)


def _attributes(value: Any) -> Any:
    """What an object of a derived type holds besides a text, a number or items; None for nothing."""
    kind = type(value)
    if kind.__module__ in _KNOWN or not isinstance(value, str | bytes | Number | dict | list | tuple | set | frozenset):
        return None
    return None if isinstance(value, Enum) else object.__getstate__(value)


def _write(digest: Any, parts: list[bytes]) -> None:
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
