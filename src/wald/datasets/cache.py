"""Find a published file on this machine, or download it."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.request import urlopen

from sklearn.datasets import get_data_home

from ..utils.files import atomic_file

T = TypeVar("T")

_CHUNK = 1 << 18
_TIMEOUT = 30  # seconds without data


def obtain(
    folder: str,
    name: str,
    read: Callable[[Path], T],
    *,
    mirrors: Sequence[str],
    max_bytes: int,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> T:
    """Read a published file from ``$WALD_DATA``, from the user's cache, or from where it is published.

    Parameters
    ----------
    folder, name : str
        The file is ``folder/name`` in ``$WALD_DATA`` and in the cache.
    read : callable
        Reads the file and checks it: it raises ValueError for content that is not the published one.
    mirrors : sequence of str
        Addresses of folders that hold the file, tried in turn.
    max_bytes : int
        A download is abandoned after this many bytes.
    data_home : path-like, optional
        The cache; ``wald`` in scikit-learn's data folder by default.
    download_if_missing : bool, default=True
        Whether to download a file that is not on this machine.

    Returns
    -------
    object
        The result of `read`.
    """
    cache = Path(get_data_home()) / "wald" if data_home is None else Path(data_home).expanduser()
    cached = cache / folder / name
    places = [cached]
    if data := os.environ.get("WALD_DATA"):
        places.insert(0, Path(data).expanduser() / folder / name)
    for place in places:
        if place.is_file():
            return read(place)

    searched = " and ".join(map(str, places))
    if not download_if_missing:
        raise FileNotFoundError(f"There is no {searched}; download_if_missing=True would download it.")
    failures = []
    for mirror in mirrors:
        try:
            return _download(f"{mirror}/{name}", cached, read, max_bytes)
        except (OSError, ValueError) as error:
            failures.append(f"  {mirror}/{name}: {error}")
    raise OSError(
        f"There is no {searched}, and it could not be downloaded:\n" + "\n".join(failures) + "\n"
        f"Put the file at {cached}, or let the environment variable WALD_DATA name a folder with it."
    )


def published(path: Path, *, sha256: str, n_bytes: int) -> bytes:
    """Read a file, gzipped or not, whose content must be the published one, bit for bit.

    Parameters
    ----------
    path : Path
        Named by errors.
    sha256 : str
        SHA-256 of the content, in hexadecimal.
    n_bytes : int
        Length of the content; little more is ever unpacked.
    """
    advice = "Delete the file or put an intact copy in its place."
    try:
        with path.open("rb") as raw, gzip.open(raw) if raw.peek(2).startswith(b"\x1f\x8b") else raw as stream:
            content: bytes = stream.read(n_bytes + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"Cannot use {path}: it is not an intact gzip file ({error}). {advice}") from error
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ValueError(
            f"Cannot use {path}: its content is another one, of SHA-256 {found} instead of {sha256}. {advice}"
        )
    return content


def _download(url: str, target: Path, read: Callable[[Path], T], max_bytes: int) -> T:
    """Download into a temporary file, check it, and move it to its place."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(target) as beside:
        with beside.open("wb") as file, urlopen(url, timeout=_TIMEOUT) as response:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                if file.tell() > max_bytes:
                    raise ValueError(f"it is longer than {max_bytes} bytes")
        return read(beside)
