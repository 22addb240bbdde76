"""Keys of rows in a cache: texts that depend on what a row holds alone, the same in every process."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from numbers import Number
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy import sparse


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
    row : array, number, text, bytes, None, or tuple, list or dict of these

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
    elif isinstance(value, list | tuple | np.ndarray):
        _write(digest, [b"list", str(len(value)).encode()])
        for inner in value:
            _add(digest, inner)
        return
    else:
        raise TypeError(f"a row holds a {type(value).__name__}, which has no key: give key=, a function of one row")
    _write(digest, parts)


def _write(digest: Any, parts: list[bytes]) -> None:
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
