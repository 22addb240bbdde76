"""Atomic writing of files."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_unfinished: set[Path] = set()
#: Says what is done and how to go on, where a signal ends the process; None: there is nothing to say.
last_words: Callable[[], str] | None = None


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield an empty file beside ``path``, which replaces ``path`` if the block succeeds.

    No other process sees a partial file. A replaced file stays readable to processes that have it open, and a link
    stays a link.

    Parameters
    ----------
    path : path-like

    Yields
    ------
    Path
        The file to write to.
    """
    target = Path(os.path.realpath(path))
    with temporary_name(target.parent) as beside:
        beside.touch(exist_ok=False)
        yield beside
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)


@contextmanager
def temporary_name(folder: Path) -> Iterator[Path]:
    """Yield the name of a file that does not exist yet; a file of this name is deleted at the end.

    Parameters
    ----------
    folder : Path

    Yields
    ------
    Path
    """
    # The name is recorded before the file is made, because Ctrl-C may come right after.
    path = folder / f".{secrets.token_hex(8)}.tmp"
    _unfinished.add(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _unfinished.discard(path)


def discard_unfinished() -> None:
    """Delete unfinished files, for a process that ends at once."""
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink(missing_ok=True)
