"""The bytes of DATA, from a file, plain or compressed, or from a stream, which is copied first; and their format."""

from __future__ import annotations

import atexit
import io
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ...utils.files import discard_unfinished, temporary_name
from ..errors import UserError

#: The path that means standard input.
STDIN = "-"
#: Compressions by suffix.
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "zstd": "compression.zstd"}  # zstd: Python 3.14
_MAGIC_NUMBERS = (
    (re.compile(rb"\x1f\x8b"), "gzip"),
    (re.compile(rb"BZh[1-9]1AY&SY"), "bzip2"),
    (re.compile(rb"\xfd7zXZ\x00"), "xz"),
    (re.compile(rb"\x28\xb5\x2f\xfd"), "zstd"),
)
#: A line of svmlight: a label, and at least one INDEX:VALUE.
_SVMLIGHT = re.compile(rb"[^\s:,;\"]+(\s+qid:\d+)?(\s+\d+:[^\s:]+)+\s*(#.*)?")
#: Number of bytes from which the format is inferred.
_FIRST_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """Bytes that can be read more than once.

    Attributes
    ----------
    name : str
        Name of the rows in messages.
    path : Path
        The file that holds them.
    compression : str or None
        The compression, inferred from the file's first bytes.
    """

    name: str
    path: Path
    compression: str | None = None

    def __str__(self) -> str:
        return self.name

    @contextmanager
    def decompressed(self) -> Iterator[tuple[IO[bytes], Callable[[], float]]]:
        """Open the decompressed bytes; also yields a function that returns the share read so far."""
        with self.path.open("rb") as raw:
            size = max(1, os.fstat(raw.fileno()).st_size)
            if self.compression is None:
                yield raw, lambda: raw.tell() / size
                return
            with opener(self.compression, self.name)(raw, "rb") as file:
                yield file, lambda: min(1.0, raw.tell() / size)


def opener(compression: str, name: str) -> Any:
    """Return the function that opens a compressed file as ``open`` does."""
    try:
        return import_module(_MODULES[compression]).open
    except ModuleNotFoundError:
        raise UserError(
            f"{name} is packed by {compression}, which this Python cannot unpack: {compression} -d, or use .gz."
        ) from None


def damage_errors() -> tuple[type[Exception], ...]:
    """Types of exceptions that reading a truncated or damaged file raises."""
    kinds: list[type[Exception]] = [OSError, EOFError]
    for module, name in (("zlib", "error"), ("lzma", "LZMAError"), ("compression.zstd", "ZstdError")):
        with suppress(ImportError):
            kinds.append(getattr(import_module(module), name))
    return tuple(kinds)


@contextmanager
def source_of(path: Path) -> Iterator[Source]:
    """Find the bytes of DATA.

    Parameters
    ----------
    path : Path
        ``-`` is standard input. Anything but a regular file is copied into a temporary file, because it can be read
        only once.

    Yields
    ------
    Source
    """
    if str(path) == STDIN:
        with _copied("standard input", sys.stdin.buffer if hasattr(sys.stdin, "buffer") else io.BytesIO()) as source:
            yield source
        return
    mode = path.stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        with path.open("rb") as file:  # raises the same errors for all formats
            compression = _compression(file.read(16))
        yield Source(str(path), path, compression)
        return
    with path.open("rb") as stream, _copied(str(path), stream) as source:
        yield source


@contextmanager
def _copied(name: str, stream: IO[bytes]) -> Iterator[Source]:
    with temporary_name(Path(tempfile.gettempdir())) as copy:
        with copy.open("xb") as file:
            copy.chmod(0o600)
            try:
                shutil.copyfileobj(stream, file, 1 << 20)
            except OSError as error:
                place = f"the temporary folder {copy.parent}"
                raise UserError(f"{name} cannot be copied into {place}: {error.strerror or error}") from error
        with copy.open("rb") as file:
            compression = _compression(file.read(16))
        try:
            yield Source(name, copy, compression)
        finally:
            try:
                copy.unlink(missing_ok=True)
            except OSError:  # Windows does not delete a file that is still mapped
                atexit.register(discard_unfinished)


def _compression(beginning: bytes) -> str | None:
    return next((compression for pattern, compression in _MAGIC_NUMBERS if pattern.match(beginning)), None)


def infer_format(source: Source) -> str:
    """Infer the format of a source from its first bytes.

    Parameters
    ----------
    source : Source

    Returns
    -------
    str
        "npy", "parquet", "svmlight" or "csv".
    """
    with source.decompressed() as (file, _):
        beginning = file.read(_FIRST_BYTES)
    if beginning.startswith(b"\x93NUMPY"):
        return "npy"
    if beginning.startswith(b"PAR1"):
        return "parquet"
    lines = [line for line in beginning.splitlines() if line.strip() and not line.lstrip().startswith(b"#")]
    return "svmlight" if lines and _SVMLIGHT.fullmatch(lines[0].strip()) else "csv"
