"""What extractors gave, kept by what a part is: nothing is asked twice, nor by two threads at once."""

from __future__ import annotations

import hashlib
import marshal
import os
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..calls import Counts
from ..calls.keys import key_of
from ..utils.locks import ForkLock
from .keeping import LIMITS, Place, RowFile

_ATOMS = frozenset({str, int, float, bool, bytes, type(None)})
#: Hashes that do not know all that an object of a derived type holds: its place in memory alone, or its text. Tensors
#: of PyTorch have one of their own, which is their place in memory, too, and their content may change.
_BLIND = (object.__hash__, str.__hash__, bytes.__hash__, int.__hash__, float.__hash__)
#: Approximate bytes of a kept row besides its numbers.
_OVERHEAD = 500


#: The features of one part: float32 of shape (n_features,), or a sparse row as bytes, see `rows.packed`. Neither is
#: tracked by Python's garbage collector, whose passes would take longer than all else.
Row = NDArray[np.float32] | bytes


class Claim:
    """What one thread asks about; others wait for its answers, which are complete, but for failures, once it ends."""

    def __init__(self) -> None:
        self.answers: dict[Hashable, Row] = {}
        self.ended = threading.Event()

    def wait(self, until: float | None) -> None:
        """Wait for the end, or for a moment by ``time.monotonic``."""
        while not self.ended.is_set():
            left = 0.5 if until is None else min(until - time.monotonic(), 0.5)
            if left <= 0:
                return
            self.ended.wait(left)  # in pieces, as a wait without an end cannot be interrupted on Windows


class Claims:
    """Who asks about which keys now.

    A thread ends its claim before it waits for those of others. So none waits for another that waits for it.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._held: dict[Hashable, Claim] = {}
        self._process = os.getpid()

    def take(self, keys: Iterable[Hashable]) -> tuple[Claim, list[Hashable], dict[Hashable, Claim]]:
        """Claim what nobody asks about: a claim, which must be ended, its keys, and the claims that have the others."""
        claim, mine, theirs = Claim(), list[Hashable](), dict[Hashable, Claim]()
        with self._lock:
            if self._process != os.getpid():  # a fork does not have the threads that would end the claims
                self._held, self._process = {}, os.getpid()
            for key in keys:
                held = self._held.setdefault(key, claim)
                if held is claim:
                    mine.append(key)
                else:
                    theirs[key] = held
        return claim, mine, theirs

    def end(self, claim: Claim, mine: Iterable[Hashable]) -> None:
        """Give the keys of a claim free, and wake those who wait for it."""
        with self._lock:
            for key in mine:
                if self._held.get(key) is claim:
                    del self._held[key]
        claim.ended.set()


class Kept:
    """Features by the keys of parts, and what the extractor has taken for them.

    If they take more memory than `keep_features` allows, the oldest go to a temporary file, which begins anew when it
    is full.
    """

    def __init__(self) -> None:
        self.counts, self.seconds, self.claims = Counts(), 0.0, Claims()
        self._lock = ForkLock()
        self._rows: dict[Hashable, Row] = {}
        self._places: dict[Hashable, Place] = {}
        self._file: RowFile | None = None
        self._bytes = 0

    def __getstate__(self) -> dict[str, Any]:
        return {}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]  # pickles and copies keep nothing

    def __len__(self) -> int:
        return len(self._rows) + len(self._places)

    @property
    def seconds_each(self) -> float:
        """Mean time of a part that was asked about; of those from a user's cache, if it had all; 0 without any."""
        return self.seconds / max(self.counts.rows or self.counts.cached, 1)

    def get(self, key: Hashable) -> Row | None:
        """The features of a part."""
        row = self._rows.get(key)
        place = self._places.get(key) if row is None else None  # after the rows: one that moves is in both for a while
        if place is None:
            return row
        try:
            return place.file.read(place)
        except OSError:  # then the part is asked about again
            self._places.pop(key, None)
            return None

    def put(self, keys: Iterable[Hashable], rows: Iterable[Row]) -> None:
        """Keep the features of parts."""
        with self._lock:
            for key, row in zip(keys, rows, strict=True):
                if key not in self._rows and key not in self._places:
                    self._rows[key] = row
                    self._bytes += _size(row)
            while self._bytes > LIMITS.memory:
                oldest = next(iter(self._rows))
                self._move(oldest, self._rows[oldest])
                self._bytes -= _size(self._rows.pop(oldest))

    def _move(self, key: Hashable, row: Row) -> None:
        """Write a row to the file; one that is full is left, with all that it holds."""
        size = len(row) if isinstance(row, bytes) else row.nbytes
        if size > LIMITS.disk:
            return
        if self._file is not None and self._file.size + size > LIMITS.disk:
            self._file, self._places = None, {}
        try:
            if self._file is None or self._file.process != os.getpid():
                self._file = RowFile()
            self._places[key] = self._file.add(row)
        except OSError:  # the disk is full
            return

    def spend(self, spent: Counts, seconds: float) -> None:
        """Add what calls have taken."""
        with self._lock:
            for name, value in vars(spent).items():
                setattr(self.counts, name, getattr(self.counts, name) + value)
            self.seconds += seconds

    def forget(self) -> None:
        """Free the features."""
        with self._lock:
            self._rows, self._places, self._file, self._bytes = {}, {}, None, 0


def _size(row: Row) -> int:
    return (len(row) if isinstance(row, bytes) else row.nbytes) + _OVERHEAD


# ---- keys ------------------------------------------------------------------------------------------------------------


def key_of_part(part: Any) -> Hashable:
    """What a part is known by: equal for parts of equal content, in one process; TypeError for what has none."""
    kind: Any = type(part)
    if isinstance(part, str) and kind is str:
        return part
    if kind is dict and _ATOMS.issuperset(map(type, part.values())) and all(type(name) is str for name in part):
        names = sorted(part)  # in whichever order they were put in
        return "dict", marshal.dumps((names, [part[name] for name in names]), 2)
    if _is_plain(part):
        return marshal.dumps(part, 2)  # later formats depend on which texts are one object
    if isinstance(part, np.ndarray) and part.ndim == 1 and part.dtype.kind in "buif":
        return part.dtype.str, part.tobytes()
    try:
        return "set" if kind in (set, frozenset) else f"{kind.__module__}.{kind.__qualname__}", key_of(part)
    except TypeError:
        if kind.__hash__ in _BLIND or hash(part) == id(part):
            raise
        return (kind, part)


def keys_of_places(keys: Sequence[Hashable]) -> list[Hashable]:
    """Keys of the parts of one sequence, by the whole sequence and the place."""
    together: Any = tuple(keys)
    plain = _is_plain(together)
    whole = hashlib.blake2b(marshal.dumps(together, 2), digest_size=16).digest() if plain else _Whole(together)
    return [(whole, place) for place in range(len(keys))]


class _Whole:
    """Keys of all parts of a sequence, which are hashed once, and compared once with those of an equal sequence."""

    __slots__ = ("_hash", "_keys")

    def __init__(self, keys: tuple[Hashable, ...]) -> None:
        self._keys, self._hash = keys, hash(keys)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Whole) or self._hash != other._hash:
            return False
        alike = self._keys is other._keys or self._keys == other._keys
        if alike:
            self._keys = other._keys  # so that the next place of the sequence need not compare them again
        return alike


class NoKeyError(TypeError):
    """A part has no key: it is known by nothing but its place in memory, or ``key=`` has failed."""

    def __init__(self, place: int, error: Exception) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
        self.place = place


def keyed(parts: Any, key: Callable[[Any], Hashable] | None) -> list[Hashable]:
    """Keys of parts, rows of an array or matrix or a list of anything; NoKeyError for a part that has none."""
    if key is None and sparse.issparse(parts):
        kind, ends = parts.data.dtype.str, parts.indptr.tolist()
        return [(kind, parts.indices[a:b].tobytes(), parts.data[a:b].tobytes()) for a, b in pairwise(ends)]
    own = key_of_part if key is None else lambda part: ("key", key(part))
    try:
        keys = list(map(own, parts))
        set(keys)  # raises for what cannot be hashed
    except Exception:
        for place, part in enumerate(parts):
            try:
                hash(own(part))
            except Exception as error:
                raise NoKeyError(place, error) from error
        raise
    return keys


def _is_plain(value: Any) -> bool:
    """Whether a value consists of Python's own texts, numbers, lists and tuples."""
    kind = type(value)
    if kind in _ATOMS:
        return True
    return kind in (list, tuple) and (_ATOMS.issuperset(map(type, value)) or all(map(_is_plain, value)))
