"""Extractors for a `FeatureGroup` that are ready-made, beside the functions, transformers and models that it takes.

Each gets the parts of sentences: words or, with ``of``, anything that a word is found in, such as dicts or records.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..calls import Calls
from ..calls.running import is_async
from ..stopping.core.validation import require_integer
from .context import Context, wants_context
from .groups import function_of, require_no_class
from .rows import UnusableError, as_floats, listed, names_in

__all__ = ["Context", "Embeddings", "Neighbours", "Patterns", "Shapes"]


@dataclass(frozen=True)
class Shapes:
    """A word, its shape, prefixes and suffixes, as names.

    Parameters
    ----------
    affixes : int, default=3
        Longest prefix and suffix, in characters.
    of : callable, default=None
        Function from a part to its word; None: parts are words.

    Examples
    --------
    >>> from wald.structured.extractors import Shapes
    >>> Shapes(affixes=2)(["McCoy", "1980s"])[0]
    ['word=mccoy', 'shape=XxXx', 'prefix=m', 'suffix=y', 'prefix=mc', 'suffix=oy']
    >>> Shapes(affixes=0, of=lambda part: part["form"])([{"form": "1980s"}])
    [['word=1980s', 'shape=dx']]
    """

    affixes: int = 3
    of: Callable[[Any], str] | None = None

    def __post_init__(self) -> None:
        require_integer("Shapes", "affixes", self.affixes, 0)

    def __call__(self, parts: Sequence[Any]) -> list[list[str]]:
        """Describe parts."""
        return [self._names(word) for word in _words(self, parts)]

    def _names(self, word: str) -> list[str]:
        lower = word.lower()
        # runs of characters of the same kind count once
        kinds = ("X" if c.isupper() else "x" if c.isalpha() else "d" if c.isdigit() else c for c in word)
        names = [f"word={lower}", f"shape={''.join(kind for kind, _ in groupby(kinds))}"]
        for n in range(1, min(self.affixes, len(word)) + 1):
            names += [f"prefix={lower[:n]}", f"suffix={lower[-n:]}"]
        return names


@dataclass(frozen=True)
class Patterns:
    r"""Whether regular expressions are found in a word: a column of 0 and 1 for each.

    Parameters
    ----------
    patterns : dict from name to regular expression, or list of regular expressions
        Names are for the reader alone.
    of : callable, default=None
        Function from a part to its word; None: parts are words.

    Examples
    --------
    >>> from wald.structured.extractors import Patterns
    >>> Patterns({"year": r"^(19|20)\d\d$", "plural": "s$"})(["1984", "years"])
    array([[1., 0.],
           [0., 1.]], dtype=float32)
    """

    patterns: Mapping[str, str] | Sequence[str]
    of: Callable[[Any], str] | None = None
    _compiled: list[re.Pattern[str]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given: Any = self.patterns
        if isinstance(given, str) or not given:
            raise ValueError(f"Patterns needs a dict or list of regular expressions. Got {given!r}.")
        patterns = given.values() if isinstance(given, Mapping) else given
        object.__setattr__(self, "_compiled", [re.compile(pattern) for pattern in patterns])

    def __call__(self, parts: Sequence[Any]) -> NDArray[np.float32]:
        """Describe parts."""
        words, found = _words(self, parts), self._compiled
        return np.array([[each.search(word) is not None for each in found] for word in words], dtype=np.float32)


@dataclass(frozen=True)
class Embeddings:
    """Vectors of words that are looked up in a table; zeros for a word that is not there.

    Parameters
    ----------
    table : mapping from word to vector
        A dict, a file that behaves as one, or what has ``in``, ``[...]`` and ``vector_size``, as gensim's vectors.
    of : callable, default=None
        Function from a part to what it is in the table; None: the part itself.

    Raises
    ------
    ValueError
        If the table is empty; when words are looked up, if their vectors are of different lengths.

    Examples
    --------
    >>> from wald.structured.extractors import Embeddings
    >>> Embeddings({"dog": [0.5, 1.0], "cat": [0.5, 0.8]})(["cat", "unicorn"])
    array([[0.5, 0.8],
           [0. , 0. ]], dtype=float32)
    """

    table: Any
    of: Callable[[Any], Any] | None = None
    _size: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = getattr(self.table, "vector_size", None)
        if size is None:
            values = getattr(self.table, "values", None)
            if not callable(values):
                raise TypeError(f"Embeddings needs a mapping from word to vector. Got a {type(self.table).__name__}.")
            first = next(iter(values()), None)
            if first is None:
                raise ValueError("Embeddings needs a table with at least one vector. Got an empty one.")
            if np.ndim(first) != 1:
                raise ValueError(f"Embeddings needs vectors, lists of numbers. Got {first!r:.60}.")
            size = len(first)
        object.__setattr__(self, "_size", int(size))

    def __call__(self, parts: Sequence[Any]) -> NDArray[np.float32]:
        """Look up parts."""
        found = np.zeros((len(parts), self._size), dtype=np.float32)
        for row, part in enumerate(parts):
            word = part if self.of is None else self.of(part)
            if word in self.table:
                vector = np.asarray(self.table[word], dtype=np.float32)
                if vector.shape != (self._size,):
                    raise ValueError(f"The vector of {word!r} must have {self._size} numbers. Got {vector.shape}.")
                found[row] = vector
        return found


@dataclass(frozen=True)
class Neighbours:
    """Features of the parts beside each, by another extractor: names with the offset in front, or columns side by side.

    Parameters
    ----------
    extract : callable, or fitted transformer or model
        From a list of parts to their features, as `FeatureGroup` takes it, but neither ``async def`` nor `wald.Calls`,
        and without a context. It gets each neighbour as the user has it.
    offsets : sequence of int, default=(-1, 1)
        Which neighbours: -1 is the part before, 1 the part after.

    Examples
    --------
    >>> import numpy as np
    >>> from wald.structured.extractors import Context, Neighbours, Shapes
    >>> words = ["the", "dog"]
    >>> Neighbours(Shapes(affixes=0))(words, Context(np.array([0, 1]), [words, words]))[1]
    {'-1': ['word=the', 'shape=x'], '+1': ['(end)']}
    """

    extract: Callable[[Any], Any]
    offsets: Sequence[int] = (-1, 1)
    _function: Callable[[Any], Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        extract: Any = self.extract
        require_no_class(extract, "The extractor of Neighbours")
        function = None if isinstance(extract, Calls) else function_of(extract)
        if not callable(function) or wants_context(function) or is_async(function):
            raise TypeError(
                "Neighbours needs a plain function of a list of parts alone, or a fitted transformer or model. Got "
                f"{extract!r}. How a service is called is said around Neighbours, as in Calls(Neighbours(...), ...)."
            )
        object.__setattr__(self, "_function", function)
        offsets: Any = self.offsets
        if not len(offsets) or not all(isinstance(o, int | np.integer) and o for o in offsets):
            raise ValueError(f"The offsets of Neighbours must be whole numbers other than 0. Got {offsets!r}.")

    def __call__(self, parts: Any, context: Context) -> Any:
        """Describe the neighbours of parts."""
        beside = [context.at(offset) for offset in self.offsets]
        there = [part for parts_there in beside for part in parts_there if part is not None]
        asked = there or [parts[0]]  # one at least, to know how many features there are
        features = listed(self._function(np.array(asked) if isinstance(parts, np.ndarray) else asked))
        if isinstance(features, list | tuple) and (names := names_in(features)) is not None:
            if len(names) != len(asked):
                raise UnusableError(f"must have one row for each of {len(asked)} neighbours. Got {len(names)}")
            return self._named(beside, names)
        rows = as_floats(features, len(asked))
        with_none = [rows, rows[:1] * 0]
        rows = sparse.vstack(with_none, format="csr") if sparse.issparse(rows) else np.vstack(with_none)
        place, columns = 0, []
        for each in beside:
            present = np.array([part is not None for part in each])
            at = np.where(present, place + np.cumsum(present) - 1, len(asked))  # the last row is 0
            columns.append(rows[at])
            place += int(present.sum())
        return sparse.hstack(columns, format="csr") if sparse.issparse(rows) else np.hstack(columns)

    def _named(self, beside: list[list[Any]], names: list[Any]) -> list[dict[str, Any]]:
        given = iter(names)
        found: list[dict[str, Any]] = [{} for _ in beside[0]]
        for offset, each in zip(self.offsets, beside, strict=True):
            beyond = ["(start)" if offset < 0 else "(end)"]
            for one, part in zip(found, each, strict=True):
                one[f"{offset:+d}"] = beyond if part is None else next(given)
        return found


def _words(extractor: Any, parts: Sequence[Any]) -> list[str]:
    words = list(parts) if extractor.of is None else [extractor.of(part) for part in parts]
    for word in words:
        if not isinstance(word, str):
            raise TypeError(
                f"{type(extractor).__name__} needs texts. Got {word!r}; with of=, a function from a part to its text, "
                "parts may be anything."
            )
    return words
