"""Is the wrapped model still the one that was read? A cheap check, and a full hash."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

__all__ = ["Watch", "digest"]

SMALL = 1 << 14  # arrays of up to so many bytes are compared in full
SAMPLE = 1 << 11  # of larger ones, so many bytes from the start
MISSING = object()


class Sight(NamedTuple):
    """One attribute of the model as it was."""

    owner: Any
    name: str
    value: Any
    plain: bool  # compared by value, where identity says too little
    read: Callable[[], bytes] | None  # gives the bytes of (a part of) an array
    memory: bytes  # what it gave


class Watch:
    """Attributes of a fitted model that decide its labels, as they were when the model was read.

    Comparing bytes is several times faster than any checksum of them, and exact. What is not noticed: a
    change in place of a large array beyond its first bytes. `digest` notices that too.

    Parameters
    ----------
    attributes : iterable of (object, str)
        Owners and names of attributes. Arrays, also inside CSR matrices, are watched by identity and content,
        numbers, strings and the steps of pipelines by value, everything else by identity. A name that does
        not exist is watched for appearing.
    inside : iterable of Watch, default=()
        What they watch is watched here, too.
    """

    def __init__(self, attributes: Iterable[tuple[Any, str]], inside: Iterable[Watch] = ()) -> None:
        self._sights = [sight for owner, name in attributes for sight in _sights(owner, name)]
        self._sights += [sight for watch in inside for sight in watch._sights]

    def changed(self) -> str | None:
        """Compare with the present state.

        Returns
        -------
        str or None
            A sentence that names the first attribute that changed, or None.
        """
        for owner, name, value, plain, read, memory in self._sights:
            now = getattr(owner, name, MISSING)
            if now is not value and not (plain and type(now) is type(value) and now == value):
                return f"{name} of {type(owner).__name__} was replaced after wald read the model."
            if read is not None and read() != memory:
                return f"{name} of {type(owner).__name__} was changed in place after wald read the model."
        return None

    # A copied array is another object, so identities are taken anew; remembered values travel along.
    def __getstate__(self) -> list[tuple[Any, str, bool, Any, bytes]]:
        return [(s.owner, s.name, s.plain, s.value if s.plain else None, s.memory) for s in self._sights]

    def __setstate__(self, state: list[tuple[Any, str, bool, Any, bytes]]) -> None:
        self._sights = []
        for owner, name, plain, value, memory in state:
            now = value if plain else getattr(owner, name, MISSING)
            self._sights.append(Sight(owner, name, now, plain, None if plain else _reader(now), memory))


def _sights(owner: Any, name: str) -> list[Sight]:
    value = getattr(owner, name, MISSING)
    # A NaN equals nothing, and counts by identity.
    if value is None or (isinstance(value, (str, bool, int, float, np.generic)) and value == value):
        return [Sight(owner, name, value, True, None, b"")]
    if isinstance(value, list) and (
        all(isinstance(item, tuple) and len(item) == 2 for item in value)
        or all(isinstance(item, BaseEstimator) for item in value)
    ):
        # Steps of a pipeline, or estimators, can be exchanged within the list: it is compared with a copy.
        return [Sight(owner, name, list(value), True, None, b"")]
    read = _reader(value)
    sights = [Sight(owner, name, value, False, read, b"" if read is None else read())]
    if sparse.issparse(value):
        sights += [sight for inner in ("data", "indices") for sight in _sights(value, inner)]
    return sights


def _reader(value: Any) -> Callable[[], bytes] | None:
    """Give access to the bytes of an array; None when there are none that mean anything."""
    if not isinstance(value, np.ndarray) or value.dtype.hasobject or not value.nbytes:
        return None
    part: NDArray[Any] = value
    if part.nbytes > SMALL:
        while part.nbytes > SAMPLE:
            part = part[: len(part) // 2] if len(part) > 1 else part[0]
    return part.tobytes


def digest(*parts: Any) -> str:
    """Hash objects by content, the same in every process.

    Parameters
    ----------
    *parts : object
        Arrays, sparse matrices, numbers, strings, containers of those, and objects by their attributes.
        Functions count by name.

    Returns
    -------
    str
        A SHA-256 in hexadecimal.
    """
    hasher = hashlib.sha256()
    _feed(hasher, parts, set())
    return hasher.hexdigest()


def _feed(hasher: Any, part: Any, open_objects: set[int]) -> None:
    if isinstance(part, np.ndarray) and not part.dtype.hasobject:
        hasher.update(f"array {part.dtype.str} {part.shape}".encode())
        hasher.update(np.ascontiguousarray(part).tobytes())
        return
    if part is None or isinstance(part, (str, bytes, bool, int, float, complex, np.generic)):
        hasher.update(f"{type(part).__name__} {part!r};".encode())
        return
    if id(part) in open_objects:  # an object that holds itself
        return
    open_objects.add(id(part))
    hasher.update(f"<{type(part).__module__}.{type(part).__qualname__}".encode())
    for inner in _content(part):
        _feed(hasher, inner, open_objects)
    hasher.update(b">")
    open_objects.discard(id(part))


def _content(part: Any) -> Iterable[Any]:
    if isinstance(part, np.ndarray):
        return [part.shape, *part.ravel().tolist()]
    if sparse.issparse(part):
        rows = part.tocsr()
        return [rows.shape, rows.data, rows.indices.astype(np.int64), rows.indptr.astype(np.int64)]
    if isinstance(part, dict):
        return [inner for item in part.items() for inner in item]
    if isinstance(part, (list, tuple)):
        return part
    if isinstance(part, (set, frozenset)):
        return sorted(part, key=repr)
    if hasattr(part, "__qualname__"):  # functions and classes
        return [part.__module__, part.__qualname__]
    if getattr(part, "__dict__", None):
        return [inner for name, value in sorted(vars(part).items()) for inner in (name, value)]
    try:
        return [pickle.dumps(part, protocol=4)]
    except Exception:  # whatever an unknown object raises: then its class alone counts
        return []
