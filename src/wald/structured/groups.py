"""Groups of features that describe a part of a structure, each with its cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class FeatureGroup:
    """Features that are bought together, part by part.

    Parameters
    ----------
    name : str
        Names the group in costs and errors.
    extract : callable, default=None
        From n parts to their features. Parts are an array or CSR matrix (n, d) or, where they were given as dicts or
        lists of strings, a list of n of these. Features are an array or CSR matrix (n, d_group), or a list of n dicts
        or lists of strings, which are hashed to 2^18 columns as such parts are. It is called only for parts that need
        the group, any number at a time, must treat each part alone, and must not change it. None: the parts themselves.
    cost : float, default=None
        Cost of a part, in any unit; None: measured in seconds while fitting.

    Raises
    ------
    ValueError, TypeError
        If the name is empty, the extractor cannot be called, or the cost is not positive.

    Examples
    --------
    >>> FeatureGroup("pixels")
    FeatureGroup(name='pixels', extract=None, cost=None)

    An extractor of parts that are dicts is given a list of these dicts:

    >>> tags = {"dog": "NOUN", "barks": "VERB"}
    >>> dictionary = FeatureGroup("dictionary", lambda parts: [[tags.get(part["word"], "?")] for part in parts])
    >>> dictionary.extract([{"word": "dog"}, {"word": "a"}])
    [['NOUN'], ['?']]
    """

    name: str
    extract: Callable[[Any], Any] | None = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise ValueError(f"FeatureGroup needs a name. Got {self.name!r}.")
        if self.extract is not None and not callable(self.extract):
            raise TypeError(f"The extractor of group {self.name!r} must be callable or None. Got {self.extract!r}.")
        if self.cost is not None and not (math.isfinite(self.cost) and self.cost > 0):
            raise ValueError(f"The cost of group {self.name!r} must be finite and positive. Got {self.cost!r}.")


def checked_groups(groups: Iterable[FeatureGroup], most: int = 5) -> tuple[FeatureGroup, ...]:
    """One to five groups of different names, or ValueError."""
    found = tuple(groups)
    if not 1 <= len(found) <= most or not all(isinstance(g, FeatureGroup) for g in found):
        raise ValueError(f"feature_groups must be one to {most} FeatureGroups. Got {found!r}.")
    if len({g.name for g in found}) < len(found):
        raise ValueError(f"feature_groups must have different names. Got {[g.name for g in found]}.")
    return found
