"""A file of named arrays behind a JSON header.

========  ========  =========================================================================
bytes     type      meaning
========  ========  =========================================================================
0 to 7    bytes     magic; its line ends and its high bit show transfers that altered the file
8 to 11   uint32    version of the format
12 to 15  uint32    length of the header
16 to 23  uint64    length of the file
24 to 27  uint32    CRC-32 of bytes 0 to 23 and of everything from byte 32 on
28 to 31            zero
from 32             the header in UTF-8, then the arrays in C order, each at a multiple of 64
========  ========  =========================================================================

All numbers are little-endian. The header's ``arrays`` lists name, dtype, shape and offset (from the first array on).
Arrays follow each other without gaps but for the alignment, so that offsets say nothing new; they are there for
readers in other languages, and must agree.
"""

from __future__ import annotations

import io
import math
import os
import re
import stat
import struct
import zlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import IO, Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from ..codec.header import MOST_BYTES, MOST_CHARACTERS, FileFormatError, parse, plain_text, render, shown
from ..utils.files import atomic_file
from .foreign import foreign

MAGIC = b"\x93WALD\r\n\x1a"
#: Version of the format.
FORMAT = 1
ALIGNMENT = 64
#: A mean of a few hundred models, each with some twenty arrays, is the largest that a file holds.
MOST_ARRAYS, MOST_DIMENSION = 1 << 13, 2**48
CHUNK = 1 << 20

_PREFIX = struct.Struct("<8sIIQI4x")
_CHECKED = 24  # bytes of the prefix that the checksum covers
_NUMBERS = ("|b1", "|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8", "<u8", "<f2", "<f4", "<f8")
_TEXT = re.compile(r"<U([1-9][0-9]{0,3})")


@dataclass(frozen=True)
class _Entry:
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @property
    def end(self) -> int:
        return self.offset + math.prod(self.shape) * self.dtype.itemsize


def write(path: str | os.PathLike[str], fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a file, whole or not at all.

    A file that is replaced stays readable to whoever has it open.

    Parameters
    ----------
    path : str or path-like
    fields : mapping
        The header, but for its ``arrays``.
    arrays : mapping from name to ndarray
    """
    with atomic_file(path) as beside, beside.open("wb") as file:
        _write(file, fields, arrays)
        file.flush()
        os.fsync(file.fileno())


def to_bytes(fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return the content of the file that `write` would write."""
    file = io.BytesIO()
    _write(file, fields, arrays)
    return file.getvalue()


def _write(file: IO[bytes], fields: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    ready = {name: _little(array) for name, array in arrays.items()}
    entries = list(_laid_out((name, a.dtype, a.shape) for name, a in ready.items()))
    header = render({**fields, "arrays": [[e.name, e.dtype.str, list(e.shape), e.offset] for e in entries]})
    _require_readable(header, len(entries))
    start = _aligned(_PREFIX.size + len(header))
    length = start + (entries[-1].end if entries else 0)
    file.write(bytes(_PREFIX.size))
    sum_ = zlib.crc32(_PREFIX.pack(MAGIC, FORMAT, len(header), length, 0)[:_CHECKED])
    for piece in _pieces(header, start, entries, ready):
        file.write(piece)
        sum_ = zlib.crc32(piece, sum_)
    file.seek(0)
    file.write(_PREFIX.pack(MAGIC, FORMAT, len(header), length, sum_))


def _require_readable(header: bytes, n_arrays: int) -> None:
    """Raise ValueError for a header that `read` would refuse because it is too large."""
    try:
        if n_arrays > MOST_ARRAYS:
            raise FileFormatError(f"it has {n_arrays} arrays; at most {MOST_ARRAYS} are allowed")
        parse(header)
    except FileFormatError as error:
        raise ValueError(
            f"This model has too many parts for a file ({error}), such as a mean of hundreds of members. Keep it with "
            "pickle or joblib."
        ) from None


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a file without trusting it.

    Nothing is allocated that the file is not large enough for.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    header : dict
        Without its ``arrays``.
    arrays : dict from name to ndarray

    Raises
    ------
    FileFormatError
        If the file is none of this format, was cut off or altered, or contradicts itself.
    """
    if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe would keep the reader waiting
        folder = stat.S_ISDIR(os.stat(path).st_mode)
        raise FileFormatError("this is no regular file" + (", but a folder" if folder else ""))
    with open(path, "rb", buffering=0) as file:
        return _read(file, os.fstat(file.fileno()).st_size)


def from_bytes(raw: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read the bytes of `to_bytes`, with the checks of `read`."""
    return _read(io.BytesIO(raw), len(raw))


def _read(file: IO[bytes], size: int) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    prefix = file.read(_PREFIX.size)
    if len(prefix) < _PREFIX.size or prefix[:8] != MAGIC:
        raise FileFormatError(f"this is no file that wald.save wrote, or its first bytes were altered{foreign(prefix)}")
    _, version, header_length, length, expected = _PREFIX.unpack(prefix)
    if header_length > MOST_BYTES:
        raise FileFormatError(f"bytes 12 to 15: a header of {header_length} bytes; at most {MOST_BYTES} are allowed")
    if version > FORMAT:
        raise _too_new(version, file.read(header_length))
    if version < 1 or prefix[28:] != bytes(4):
        raise FileFormatError(f"bytes 8 to 31: format version {version} is none, or the bytes behind it are not zero")
    if length != size:
        what = "was cut off" if length > size else "has something appended"
        raise FileFormatError(f"the file {what}: it should have {length} bytes, and has {size}")
    if _PREFIX.size + header_length > size:
        raise FileFormatError(f"bytes 12 to 15: a header of {header_length} bytes does not fit into {size}")
    with _Checked(file, prefix[:_CHECKED], aside=size > 8 * CHUNK) as source:
        header = source.read(header_length)
        fields = parse(header)
        entries = _table(fields)
        start = _aligned(_PREFIX.size + header_length)
        if start + (entries[-1].end if entries else 0) != size:
            raise FileFormatError(f"the header's arrays do not fill the file of {size} bytes exactly")
        arrays: dict[str, NDArray[Any]] = {}
        position = _PREFIX.size + header_length
        for entry in entries:
            source.skip(start + entry.offset - position)
            array = np.empty(entry.shape, dtype=entry.dtype)
            source.fill(_bytes_of(array))
            arrays[entry.name] = array.astype(entry.dtype.newbyteorder("="), copy=False)
            position = start + entry.end
        source.skip(size - position)
    if source.sum != expected:
        raise FileFormatError("the file is damaged: its checksum does not agree with its contents")
    return fields, arrays


class _Checked:
    """A file that is read from front to back, with the checksum of what has been read.

    Parameters
    ----------
    file : raw file
    start : bytes
        Bytes that the checksum covers first.
    aside : bool
        Whether a second thread computes the checksum while the next piece is read.
    """

    def __init__(self, file: IO[bytes], start: bytes, aside: bool) -> None:
        self._file, self.sum = file, zlib.crc32(start)
        self._pool = ThreadPoolExecutor(1) if aside else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def _add(self, piece: memoryview) -> None:
        self.sum = zlib.crc32(piece, self.sum)

    def fill(self, view: memoryview) -> None:
        """Read as much as fits."""
        done = 0
        while done < len(view):
            n: int = self._file.readinto(view[done : done + CHUNK])  # type: ignore[attr-defined]  # raw files have it
            if not n:
                raise FileFormatError("the file became shorter while it was read")
            piece = view[done : done + n]
            if self._pool is None:
                self._add(piece)
            else:  # one thread takes them in their order
                self._pool.submit(self._add, piece)
            done += n

    def read(self, n: int) -> bytes:
        """Read exactly so many bytes."""
        read = bytearray(n)
        self.fill(memoryview(read))
        return bytes(read)

    def skip(self, n: int) -> None:
        """Read zeros."""
        if any(self.read(n)):
            raise FileFormatError("the bytes between two arrays are not zero")


def _too_new(version: int, header: bytes) -> FileFormatError:
    import wald

    try:
        writer = plain_text(parse(header).get("library"), "library")
    except FileFormatError:
        writer = "a newer version"
    return FileFormatError(
        f"format version {version} was written by wald {writer}; wald {wald.__version__} reads version {FORMAT}. "
        f"Install wald {writer} or later"
    )


def _table(fields: dict[str, Any]) -> list[_Entry]:
    """Check the list of arrays against the layout that it must have."""
    rows = fields.pop("arrays", None)
    if not isinstance(rows, list):
        raise FileFormatError(f"header.arrays should be a list, and is {shown(rows)}")
    if len(rows) > MOST_ARRAYS:
        raise FileFormatError(f"header.arrays has {len(rows)} entries; at most {MOST_ARRAYS} are allowed")
    kinds: list[tuple[str, np.dtype[Any], tuple[int, ...]]] = []
    offsets: list[Any] = []
    for row in rows:
        if not isinstance(row, list) or len(row) != 4:
            raise FileFormatError("header.arrays: every entry is [name, dtype, shape, offset]")
        name, dtype, shape, offset = row
        plain_text(name, "header.arrays: a name")
        if any(name == known for known, _, _ in kinds):
            raise FileFormatError(f"header.arrays names {name!r} twice")
        whole = isinstance(shape, list) and all(type(n) is int and 0 <= n <= MOST_DIMENSION for n in shape)
        if not whole or len(shape) > 2:
            raise FileFormatError(f"header.arrays: the shape of {name!r} should be at most two whole numbers")
        kinds.append((name, _known_dtype(dtype, name), tuple(shape)))
        offsets.append(offset)
    entries = list(_laid_out(iter(kinds)))
    for entry_, offset in zip(entries, offsets, strict=True):
        if type(offset) is not int or offset != entry_.offset:
            raise FileFormatError(f"header.arrays: {entry_.name!r} should begin at {entry_.offset}")
    return entries


def _known_dtype(name: Any, of: str) -> np.dtype[Any]:
    text = _TEXT.fullmatch(name) if isinstance(name, str) else None
    if name in _NUMBERS or (text is not None and int(text[1]) <= MOST_CHARACTERS):
        return cast("np.dtype[Any]", np.dtype(name))
    raise FileFormatError(f"header.arrays: the dtype of {of!r} is none of {', '.join(_NUMBERS)}, <U1, <U2, ...")


def _little(array: NDArray[Any]) -> NDArray[Any]:
    return np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).reshape(array.shape)


def _bytes_of(array: NDArray[Any]) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _laid_out(kinds: Iterator[tuple[str, np.dtype[Any], tuple[int, ...]]]) -> Iterator[_Entry]:
    end = 0
    for name, dtype, shape in kinds:
        entry = _Entry(name, dtype, shape, _aligned(end))
        end = entry.end
        yield entry


def _pieces(
    header: bytes, start: int, entries: list[_Entry], arrays: Mapping[str, NDArray[Any]]
) -> Iterator[bytes | memoryview]:
    """Everything behind the prefix, in its order."""
    yield header
    position = _PREFIX.size + len(header)
    for entry in entries:
        yield bytes(start + entry.offset - position)
        if entry.end > entry.offset:
            yield _bytes_of(arrays[entry.name])
        position = start + entry.end
    yield bytes(start - position if not entries else 0)


def _aligned(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT
