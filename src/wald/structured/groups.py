"""Groups of features that describe a part of a structure, each with its cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from ..calls import Calls, Counts
from .context import wants_context
from .kept import Kept

#: Parts in a call of a plain function of words and other objects: what is lost at most when it fails.
BATCH = 256
#: What an object that cannot be called is asked with, the first that it has: fitted transformers and models.
_METHODS = ("transform", "predict_proba", "predict")


@dataclass(frozen=True)
class FeatureGroup:
    """Features that are bought together, part by part.

    Parameters
    ----------
    name : str
        Names the group in costs and errors.
    extract : callable, `wald.Calls`, or fitted transformer or model, default=None
        From n parts to their features. Parts are a list of n words, dicts, records or images as the user has them;
        where sequences are arrays of numbers, an array or CSR matrix (n, d). A second argument, if it has one, is a
        `Context`: the places of the parts, and their sequences. Features are numbers, an array or CSR matrix (n, d) or
        (n,), or a list of n dicts, lists of strings or strings, which are hashed to 2^18 columns. It is called for
        parts that need the group, any number at a time, must treat each part alone, given its context, and must not
        change it. It may be ``async def``; `wald.Calls` says besides how large batches are, how many may run at once,
        with which timeout, and how often a call is tried again. Of an object that cannot be called, ``transform``,
        ``predict_proba`` or ``predict`` is. None: the parts themselves.
    cost : float, default=None
        Cost of a part, in any unit; None: measured in seconds while fitting.

    Attributes
    ----------
    counts : Counts
        What the extractor has taken so far: calls, parts, seconds.

    Raises
    ------
    ValueError, TypeError
        If the name is empty, the extractor cannot be called, or the cost is not positive.

    See Also
    --------
    wald.structured.extractors : Shapes of words, embeddings, patterns and neighbours.

    Notes
    -----
    No part is asked about twice: what was extracted is kept, by what the part is (and its sequence, with a context), as
    long as the group lives: 256 MB in memory, and more in a temporary file, see `keep_features`. Models, their clones,
    policies and predictors with this group share it, and it stays when a later call fails. `forget` frees it, which is
    needed if the extractor has changed. Only a plain function of arrays is called anew in every session. Parts that
    have no content to be known by, such as objects of a class without ``__hash__``, need a key, as in
    ``Calls(function, key=...)``. Pickles and files keep nothing; `wald.Calls` has a ``cache`` for that.

    Examples
    --------
    >>> FeatureGroup("pixels")
    FeatureGroup(name='pixels', extract=None, cost=None)

    An extractor gets the parts as they are; here, sentences are lists of words:

    >>> from wald.structured import ChainClassifier
    >>> sentences, tags = [["the", "dog", "barks"], ["the", "cat"]] * 9, [["DET", "NOUN", "VERB"], ["DET", "NOUN"]] * 9
    >>> dictionary = {"the": "DET", "dog": "NOUN", "cat": "NOUN", "barks": "VERB"}
    >>> def look_up(words):
    ...     return [dictionary[word] for word in words]
    >>> initial = FeatureGroup("initial", lambda words: [word[0] for word in words])
    >>> groups = [initial, FeatureGroup("dictionary", look_up)]
    >>> model = ChainClassifier(groups, max_iter=5, random_state=0).fit(sentences, tags)
    >>> model.predict([["the", "cat", "barks"]]), groups[1].counts.rows
    ([['DET', 'NOUN', 'VERB']], 4)
    """

    name: str
    extract: Callable[..., Any] | Calls | Any = None
    cost: float | None = None

    def __post_init__(self) -> None:
        if not self.name or not isinstance(self.name, str):
            raise ValueError(f"FeatureGroup needs a name. Got {self.name!r}.")
        if self.extract is not None and not callable(function_of(self.extract)):
            raise TypeError(
                f"The extractor of group {self.name!r} must be callable, wald.Calls, a fitted transformer or model, or "
                f"None. Got {self.extract!r}."
            )
        require_no_class(self.extract, f"The extractor of group {self.name!r}")
        cost: Any = self.cost
        if cost is not None and not (isinstance(cost, int | float | np.number) and math.isfinite(cost) and cost > 0):
            raise ValueError(f"The cost of group {self.name!r} must be a finite, positive number. Got {self.cost!r}.")
        _ = self.kept  # made now, so that threads share it

    @cached_property
    def kept(self) -> Kept:
        """What the extractor gave, by parts."""
        return Kept()

    @cached_property
    def calls(self) -> Calls:
        """How the extractor is called."""
        return self.extract if isinstance(self.extract, Calls) else Calls(self.function, batch_size=BATCH)

    @cached_property
    def function(self) -> Callable[..., Any]:
        """What is called."""
        found: Callable[..., Any] = function_of(self.extract)
        return found

    @cached_property
    def has_context(self) -> bool:
        """Whether the function gets a `Context`, too."""
        return wants_context(self.function)

    @property
    def counts(self) -> Counts:
        """What the extractor has taken so far."""
        return self.kept.counts

    def forget(self) -> None:
        """Free the features that are kept; the extractor will be asked about these parts again."""
        self.kept.forget()

    def __sklearn_clone__(self) -> Self:
        return self  # so that clones do not ask again


def function_of(extract: Any) -> Any:
    """The function of an extractor; None if it has none."""
    if isinstance(extract, Calls):
        return extract.function
    if callable(extract):
        return extract
    return next((getattr(extract, method) for method in _METHODS if hasattr(extract, method)), None)


def require_no_class(extract: Any, what: str) -> None:
    """Raise TypeError for a class whose objects are extractors."""
    kind: Any = function_of(extract)
    if isinstance(kind, type) and (hasattr(kind, "transform") or any("__call__" in vars(k) for k in kind.__mro__)):
        raise TypeError(f"{what} is a class, {kind.__name__}. Give an object of it, as in {kind.__name__}().")


def checked_groups(groups: Iterable[FeatureGroup], least: int = 1, most: int = 5) -> tuple[FeatureGroup, ...]:
    """So many groups of different names, or ValueError."""
    found = tuple(groups) if hasattr(groups, "__iter__") else ()
    fits = least <= len(found) <= most and all(isinstance(g, FeatureGroup) for g in found)
    if not fits or not hasattr(groups, "__iter__"):
        raise ValueError(f"feature_groups must be a list of {least} to {most} FeatureGroups. Got {groups!r:.200}.")
    if len({g.name for g in found}) < len(found):
        raise ValueError(f"feature_groups must have different names. Got {[g.name for g in found]}.")
    return found
