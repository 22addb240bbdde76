"""Files that appear whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_unfinished: set[Path] = set()


@contextmanager
def appearing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give an empty file beside ``path`` to write to; it takes that place when all went well.

    Nobody ever sees a part of it. A file that is replaced stays readable to whoever has it open, and a link stays a
    link.

    Parameters
    ----------
    path : path-like

    Yields
    ------
    Path
        Of the file to write to, by its name.
    """
    target = Path(os.path.realpath(path))
    with vanishing(target.parent) as beside:
        beside.touch(exist_ok=False)
        yield beside
        beside.replace(target)


@contextmanager
def vanishing(folder: Path) -> Iterator[Path]:
    """Give the name of a file that does not exist yet; what is made of that name is deleted at the end.

    Parameters
    ----------
    folder : Path

    Yields
    ------
    Path
    """
    # Its name is known before it is made: Ctrl-C may come right after.
    path = folder / f".{secrets.token_hex(8)}.tmp"
    _unfinished.add(path)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)
        _unfinished.discard(path)


def discard_unfinished() -> None:
    """Delete what was being written; for a process that ends at once."""
    for path in list(_unfinished):
        with suppress(OSError):
            path.unlink(missing_ok=True)
