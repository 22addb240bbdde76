"""Detection of changes of the wrapped model after it was read: a cheap check and a full hash."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Collection, Iterable
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

SMALL = 1 << 14  # arrays of at most so many bytes are compared in full
SAMPLE = 1 << 11  # largest prefix of larger arrays that is compared, in bytes
ENTRIES = 2  # of larger dicts and lists, so many are compared at each end, and the length
FEW = 64  # dicts and lists of at most so many entries are compared in full
MISSING = object()


class Snapshot(NamedTuple):
    """One attribute of the model when it was read."""

    owner: object
    name: str
    value: Any
    by_value: bool  # whether an equal value counts as unchanged, in addition to the same object
    read: Callable[[], bytes] | None  # returns the compared bytes of an array
    memory: bytes  # the bytes that it returned


class Asked(NamedTuple):
    """What a fitted object tells when it is asked, where it does not keep that as an attribute.

    Parameters
    ----------
    owner : object
    name : str
        What it is, in messages.
    ask : callable
        Without arguments; it can be pickled, and gives something that is compared by ``==``.
    """

    owner: object
    name: str
    ask: Callable[[], Any]


class Watch:
    """Attributes of a fitted model that decide its labels, as they were when the model was read.

    Comparing bytes is exact, and several times faster than a checksum. A change in place of a large array beyond its
    first bytes is not detected; `digest` detects it.

    Parameters
    ----------
    attributes : iterable of (object, str)
        Owners and names of attributes. Arrays, also inside CSR matrices, dicts and lists are watched by identity and
        content, numbers, strings and the steps of pipelines by value, everything else by identity. If an attribute
        does not exist, its later appearance is a change.
    inside : iterable of Watch, default=()
        Watches whose attributes are included.
    asked : iterable of Asked, default=()
        What else is compared.
    """

    def __init__(
        self, attributes: Iterable[tuple[Any, str]], inside: Iterable[Watch] = (), asked: Iterable[Asked] = ()
    ) -> None:
        inside = tuple(inside)
        self._asked = [(each, each.ask()) for each in asked]
        self._asked += [pair for watch in inside for pair in watch._asked]
        self._snapshots = [snapshot for owner, name in attributes for snapshot in _snapshots(owner, name)]
        self._snapshots += [snapshot for watch in inside for snapshot in watch._snapshots]

    def changed(self) -> str | None:
        """Compare with the present state.

        Returns
        -------
        str or None
            A sentence that names the first attribute that changed, or None.
        """
        for owner, name, value, by_value, read, memory in self._snapshots:
            now = getattr(owner, name, MISSING)
            if now is not value and not (by_value and type(now) is type(value) and now == value):
                return f"{name} of {type(owner).__name__} was replaced after wald read the model."
            if read is not None and read() != memory:
                return f"{name} of {type(owner).__name__} was changed in place after wald read the model."
        for (owner, name, ask), told in self._asked:
            if ask() != told:
                return f"{name} of {type(owner).__name__} changed after wald read the model."
        return None

    # Unpickled arrays are new objects, so identities are recorded anew; values and bytes are pickled.
    def __getstate__(self) -> dict[str, list[Any]]:
        known = [(s.owner, s.name, s.by_value, s.value if s.by_value else None, s.memory) for s in self._snapshots]
        return {"known": known, "asked": self._asked}

    def __setstate__(self, state: dict[str, list[Any]]) -> None:
        self._asked = state["asked"]
        self._snapshots = []
        for owner, name, by_value, value, memory in state["known"]:
            now = value if by_value else getattr(owner, name, MISSING)
            self._snapshots.append(Snapshot(owner, name, now, by_value, None if by_value else _reader(now), memory))


def _snapshots(owner: object, name: str) -> list[Snapshot]:
    value = getattr(owner, name, MISSING)
    # A NaN is not equal to itself, so it is compared by identity.
    if value is None or (isinstance(value, (str, bool, int, float, np.generic)) and value == value):
        return [Snapshot(owner, name, value, True, None, b"")]
    if isinstance(value, list) and (
        all(isinstance(item, tuple) and len(item) == 2 for item in value)
        or all(isinstance(item, BaseEstimator) for item in value)
        or all(isinstance(item, (int, float)) for item in value)
    ):
        # A list of steps, estimators or weights can be changed in place, so it is compared with a copy.
        return [Snapshot(owner, name, list(value), True, None, b"")]
    read = _reader(value)
    snapshots = [Snapshot(owner, name, value, False, read, b"" if read is None else read())]
    if sparse.issparse(value):
        snapshots += [snapshot for inner in ("data", "indices") for snapshot in _snapshots(value, inner)]
    return snapshots


def _reader(value: Any) -> Callable[[], bytes] | None:
    """Return a function that reads the compared bytes of an array, dict or list; None for objects without such."""
    if type(value) is dict or (type(value) is list and all(type(item) is str for item in value)):
        return lambda: _ends(value.items() if isinstance(value, dict) else value)
    if not isinstance(value, np.ndarray) or value.dtype.hasobject or not value.nbytes:
        return None
    part: NDArray[Any] = value
    if part.nbytes > SMALL:
        while part.nbytes > SAMPLE:
            part = part[: len(part) // 2] if len(part) > 1 else part[0]
    return part.tobytes


def _ends(entries: Collection[Any]) -> bytes:
    """The number of entries, and those at both ends; all of few."""
    if len(entries) <= FEW:
        return repr([*entries]).encode(errors="surrogatepass")
    ends = [*islice(entries, ENTRIES), *islice(reversed(entries), ENTRIES)]  # type: ignore[call-overload]  # both have it
    return f"{len(entries)} {ends!r}".encode(errors="surrogatepass")


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
    if id(part) in open_objects:  # a cyclic reference
        return
    open_objects.add(id(part))
    hasher.update(f"<{type(part).__module__}.{type(part).__qualname__}".encode())
    for inner in _content(part):
        _feed(hasher, inner, open_objects)
    hasher.update(b">")
    open_objects.discard(id(part))


def _is_cached(kind: type, name: str) -> bool:
    return isinstance(getattr(kind, name, None), cached_property)


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
    if hasattr(part, "fingerprint"):  # a model inside: its numbers, whoever answers by them
        return [part.fingerprint()]
    if getattr(part, "__dict__", None):
        kept = [item for item in sorted(vars(part).items()) if not _is_cached(type(part), item[0])]
        return [inner for item in kept for inner in item]
    try:
        return [pickle.dumps(part, protocol=4)]
    except Exception:  # an object that cannot be pickled counts by its class
        return []
