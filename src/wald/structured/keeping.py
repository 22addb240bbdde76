"""How much of what extractors gave is kept, in memory and in temporary files."""

from __future__ import annotations

import hashlib
import os
import tempfile
import weakref
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..stopping.core.validation import require_integer
from ..utils.locks import ForkLock


@dataclass
class KeptBytes:
    """Bytes that are kept of each `FeatureGroup`, and of each `ChainClassifier` for plain functions of arrays."""

    memory: int = 2**28
    disk: int = 2**30  # in a temporary file


#: The limits in force.
LIMITS = KeptBytes()
#: What writing and reading a byte takes, in seconds, at least: features that take less time are extracted again.
SECONDS_A_BYTE = 2.0**-28


def keep_features(*, memory: int | None = None, disk: int | None = None) -> KeptBytes:
    """Say how much of what extractors gave is kept.

    What does not fit into memory goes to a temporary file, which has no name and ends with the process: asking again
    costs more than reading. When the file is full, what is in it is forgotten, and it begins anew.

    Parameters
    ----------
    memory : int, default=None
        Bytes in memory, of each group; at first 256 MB. None: as before.
    disk : int, default=None
        Bytes in a temporary file, of each group; at first 1 GB. 0: no file. None: as before.

    Returns
    -------
    KeptBytes
        The limits that were in force before.

    Notes
    -----
    The file is where Python's `tempfile` makes files: the variable ``TMPDIR`` names the folder. If the disk is full,
    what does not fit is forgotten. A `ChainClassifier` whose extractors are plain functions of arrays uses a file only
    where they took longer than writing it takes, some second for 256 MB.

    Examples
    --------
    >>> from wald.structured import keep_features
    >>> before = keep_features(memory=2**30)
    >>> keep_features(memory=before.memory)
    KeptBytes(memory=1073741824, disk=1073741824)
    """
    before = KeptBytes(LIMITS.memory, LIMITS.disk)
    for name, value in (("memory", memory), ("disk", disk)):
        if value is not None:
            require_integer("keep_features", name, value, 0)
    LIMITS.memory = before.memory if memory is None else int(memory)
    LIMITS.disk = before.disk if disk is None else int(disk)
    return before


class Place(NamedTuple):
    """Where a row is."""

    file: RowFile
    start: int
    size: int
    dense: bool


class RowFile:
    """Rows in a temporary file, one after another; a fork reads what is there, and writes to a file of its own."""

    def __init__(self) -> None:
        self.size, self.process = 0, os.getpid()
        self._file: Any = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # closed by the next line
        weakref.finalize(self, self._file.close)
        self._lock = ForkLock()

    def add(self, row: NDArray[np.float32] | bytes) -> Place:
        """Write a row; OSError if that fails."""
        dense = not isinstance(row, bytes)
        content = row if isinstance(row, bytes) else row.tobytes()
        with self._lock:
            self._file.seek(self.size)
            if self._file.write(content) != len(content):
                raise OSError("the disk is full")
            place = Place(self, self.size, len(content), dense)
            self.size += len(content)
        return place

    def read(self, place: Place) -> NDArray[np.float32] | bytes:
        """Read a row; OSError if that fails."""
        if hasattr(os, "pread"):  # a fork shares the file's position
            content = os.pread(self._file.fileno(), place.size, place.start)
        else:
            with self._lock:
                self._file.seek(place.start)
                content = self._file.read(place.size)
        if len(content) != place.size:
            raise OSError("the file is too short")
        return np.frombuffer(content, dtype=np.float32) if place.dense else content


def _on_disk(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only, in a temporary file that ends with it; OSError if the disk is full."""
    if not array.size:
        return array
    with tempfile.TemporaryFile() as file:
        np.ascontiguousarray(array).tofile(file)
        file.flush()
        return np.memmap(file, dtype=array.dtype, mode="r", shape=array.shape)


@dataclass(frozen=True, eq=False)
class Extracted:
    """Features of some parts, extracted once for several models.

    ``names`` are those of all groups; ``values`` their features, a row for every part, as a float32 array or CSR
    matrix, or None for a group without an extractor; ``each`` the seconds (n_groups,) that a part took.
    """

    names: tuple[str, ...]
    values: tuple[Any, ...]
    each: NDArray[np.float64]

    def take(self, parts: NDArray[np.int64]) -> Self:
        """Return the features of these parts."""
        return replace(self, values=tuple(None if rows is None else rows[parts] for rows in self.values))

    def kept(self, seconds: float) -> Self | None:
        """The same features, in temporary files if they are too large for memory.

        None if that does not pay, as their extraction took so few seconds.
        """
        n_bytes = sum(array.nbytes for rows in self.values if rows is not None for array in _arrays(rows))
        if n_bytes <= LIMITS.memory:
            return self
        if n_bytes > LIMITS.disk or seconds < SECONDS_A_BYTE * n_bytes:
            return None
        try:
            return replace(self, values=tuple(None if rows is None else _moved(rows) for rows in self.values))
        except OSError:  # the disk is full
            return None


def fingerprint(sequences: Any) -> bytes:
    """Hash of `Sequences` whose parts are numbers; features may depend on where sequences begin."""
    parts = sequences.parts
    digest = hashlib.blake2b(repr((sparse.issparse(parts), parts.shape)).encode(), digest_size=16)
    for array in (*_arrays(parts), sequences.offsets):
        digest.update(array.dtype.str.encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.digest()


def _moved(rows: Any) -> Any:
    if not sparse.issparse(rows):
        return _on_disk(rows)
    moved = sparse.csr_matrix(tuple(map(_on_disk, _arrays(rows))), shape=rows.shape)
    moved.has_canonical_format = rows.has_canonical_format
    return moved


def _arrays(rows: Any) -> list[NDArray[Any]]:
    return [rows.data, rows.indices, rows.indptr] if sparse.issparse(rows) else [rows]
