"""Docstrings that are written once and complete those of others."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

_T = TypeVar("_T", bound=Callable[..., Any])
_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(?=\S)", re.MULTILINE)


def completes_documentation(*shared: Any, outcome: Any = None) -> Callable[[_T], _T]:
    """Complete a docstring with what those of `shared` say of its parameters and attributes, unless it says it itself.

    Parameters
    ----------
    *shared : class or function
        With sections of numpydoc in their docstrings.
    outcome : function, default=None
        What its docstring returns and raises follows what the docstring itself says of this.
    """
    outcomes = () if outcome is None else (outcome,)

    def complete(owner: _T) -> _T:
        if not owner.__doc__ or not all(other.__doc__ for other in (*shared, *outcomes)):  # python -OO strips them
            return owner
        own, bases = _sections(owner.__doc__), [_sections(other.__doc__) for other in shared]
        known = {name: entry for base in bases for name, entry in _entries(base["Parameters"]).items()}
        known |= _entries(own.pop("Parameters"))
        attributes = {name: entry for base in bases for name, entry in _entries(base.get("Attributes", "")).items()}
        attributes |= _entries(own.pop("Attributes", ""))
        for other in outcomes:
            more = _sections(other.__doc__)
            own |= {
                name: f"{own.get(name, '')}\n{more[name]}".lstrip() for name in ("Returns", "Raises") if name in more
            }
        sections = {
            "": own.pop(""),
            "Parameters": "\n".join(known[name] for name in inspect.signature(owner).parameters if name in known),
            **({"Attributes": "\n".join(attributes.values())} if attributes else {}),
            **own,
        }
        owner.__doc__ = "\n\n".join(
            f"{name}\n{'-' * len(name)}\n{body}" if name else body for name, body in sections.items()
        )
        return owner

    return complete


def _sections(docstring: str) -> dict[str, str]:
    """Sections of a docstring by their headings; the text before the first heading has the key ""."""
    parts = ["", *_HEADING.split(inspect.cleandoc(docstring))]
    return {name: body.rstrip() for name, body in zip(parts[::2], parts[1::2], strict=True)}


def _entries(section: str) -> dict[str, str]:
    """Entries of a section by name."""
    return {entry.split(" :")[0].rstrip(): entry.rstrip() for entry in _ENTRY.split(section) if entry}
