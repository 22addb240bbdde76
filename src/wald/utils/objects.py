"""JSON objects whose names are different."""

from __future__ import annotations

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
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise RepeatedNameError(f"has the name {twice!r} {names.count(twice)} times")
    return found
