"""Files that appear whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
    # Its name is known before it is made: Ctrl-C may come right after.
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        beside.touch(exist_ok=False)
        yield beside
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
