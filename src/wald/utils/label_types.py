"""Labels of one type: NumPy makes one text of 1 and "1"."""

from __future__ import annotations

from typing import Any

import numpy as np


def require_one_type(y: Any, argument: str = "y") -> None:
    """Raise ValueError for labels of which some are texts and others are not, or one is None.

    Parameters
    ----------
    y : list, tuple or array
        Typed arrays hold one type, and are not looked at.
    argument : str, default="y"
        Its name in the message.
    """
    given = y if isinstance(y, list | tuple) else getattr(y, "values", y)
    if isinstance(given, np.ndarray) and given.dtype != object:
        return
    if not isinstance(given, list | tuple | np.ndarray):
        return
    kinds: dict[str, int] = {}
    for i, label in enumerate(given):
        kind = "text" if isinstance(label, str) else "bytes" if isinstance(label, bytes) else "another"
        if label is None:
            raise ValueError(f"{argument} must hold labels of one type, and not None. Entry {i} is None.")
        kinds.setdefault(kind, i)
        if len(kinds) > 1:
            first = given[next(iter(kinds.values()))]
            raise ValueError(f"{argument} must hold labels of one type. Got {first!r}, and {label!r} at entry {i}.")
