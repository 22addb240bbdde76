"""One file of this process, for readers that take a path."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="wald-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def written(data: bytes, name: str) -> Path:
    """Write bytes to a new file of this name, which the next call replaces."""
    path = _folder() / name
    path.unlink(missing_ok=True)  # a mapped file keeps its content
    path.write_bytes(data)
    return path
