"""Bytes of CoNLL files, which may be packed."""

from __future__ import annotations

import gzip
import zlib
from os import PathLike, fspath
from pathlib import Path


def unpacked(path: str | PathLike[str]) -> bytes:
    """Read a file; one whose name ends in ``.gz`` is decompressed, or refused with a ValueError."""
    data = Path(path).read_bytes()
    if not fspath(path).endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{fspath(path)}: no gzip file, or a damaged one: {error}.") from None


def write_packed(path: str | PathLike[str], data: bytes) -> None:
    """Write a file; one whose name ends in ``.gz`` is compressed."""
    Path(path).write_bytes(packed(path, data))


def packed(path: str | PathLike[str], data: bytes) -> bytes:
    """What to write to a file of this name."""
    return gzip.compress(data, mtime=0) if fspath(path).endswith(".gz") else data
