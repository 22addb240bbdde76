"""JSON objects whose names are different."""

from __future__ import annotations

from collections import Counter
from typing import Any


class RepeatedNameError(ValueError):
    """A JSON object has a name twice."""


def with_names_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object, as ``object_pairs_hook`` of `json.loads`, which by itself keeps the last of two values of a name.

    Raises
    ------
    RepeatedNameError
        If it has a name more than once.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, times = Counter(name for name, _ in pairs).most_common(1)[0]
        raise RepeatedNameError(f"has the name {twice!r} {times} times")
    return found
