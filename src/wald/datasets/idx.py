"""Reads the IDX format of the MNIST files; invalid and hostile files raise ValueError."""

from __future__ import annotations

import gzip
import hashlib
import math
import struct
import zlib
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

_UNSIGNED_BYTE = 0x08
_CHUNK = 1 << 20


def read_idx(path: str | PathLike[str], *, shape: tuple[int, ...], sha256: str | None = None) -> NDArray[np.uint8]:
    """Read a gzipped IDX file of unsigned bytes.

    Memory is bounded by the expected shape, whatever the header claims.

    Parameters
    ----------
    path : path-like
        The gzipped file.
    shape : tuple of int
        The shape that the file must have.
    sha256 : str, optional
        SHA-256 of the decompressed file, in hexadecimal.

    Returns
    -------
    ndarray of uint8
        The content, writable.

    Raises
    ------
    ValueError
        If the file is truncated, too long, altered or no IDX file. The message names the file.
    """
    path = Path(path)
    try:
        return _read(path, shape, sha256)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _refuse(path, f"it is not an intact gzip file ({error})") from error


def _read(path: Path, shape: tuple[int, ...], sha256: str | None) -> NDArray[np.uint8]:
    expected = struct.pack(f">HBB{len(shape)}I", 0, _UNSIGNED_BYTE, len(shape), *shape)
    content = np.empty(math.prod(shape), dtype=np.uint8)
    with gzip.open(path) as stream:
        header = stream.read(len(expected))
        if header != expected:
            raise _refuse(path, _header_error(header, shape))
        digest = hashlib.sha256(header)
        for start in range(0, content.size, _CHUNK):
            part = content[start : start + _CHUNK]
            data = stream.read(part.size)
            if len(data) < part.size:
                raise _refuse(path, f"it ends after {start + len(data)} of {content.size} bytes of content")
            part[:] = np.frombuffer(data, dtype=np.uint8)
            digest.update(data)
        if stream.read(1):  # at the end of the file, this also checks gzip's own checksum
            raise _refuse(path, f"it goes on after the {content.size} bytes of content that it announces")
    if sha256 is not None and digest.hexdigest() != sha256.lower():
        raise _refuse(path, f"its content is another one: SHA-256 {digest.hexdigest()} instead of {sha256}")
    return content.reshape(shape)


def _header_error(header: bytes, shape: tuple[int, ...]) -> str:
    if len(header) < 4:
        return "it ends within its header"
    zeros, kind, ndim = struct.unpack_from(">HBB", header)
    if zeros or kind != _UNSIGNED_BYTE:
        return f"its magic number is 0x{header[:4].hex()}, not that of an IDX file of unsigned bytes"
    if ndim != len(shape):
        return f"it announces {ndim} dimensions instead of {len(shape)}"
    if len(header) < 4 + 4 * ndim:
        return "it ends within its header"
    found = struct.unpack_from(f">{ndim}I", header, 4)
    return f"it announces the shape {found} instead of {shape}"


def _refuse(path: Path, reason: str) -> ValueError:
    return ValueError(f"Cannot use {path}: {reason}. Delete the file or put an intact copy in its place.")
