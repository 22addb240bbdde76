"""Warnings that name the line of the user's own code."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

#: The folder of this package; frames of code in it are not the user's.
_PACKAGE = Path(__file__).parents[1].as_posix() + "/"


def warn_caller(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called wald, however deep in the package the warning arises.

    Parameters
    ----------
    message : str or Warning
    category : type, default=UserWarning
        Of a message that is a string.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and Path(frame.f_code.co_filename).as_posix().startswith(_PACKAGE):
        frame = frame.f_back
    warnings.warn_explicit(
        message,
        type(message) if isinstance(message, Warning) else category,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
