"""How errors of extractors name parts, and what they suggest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .groups import FeatureGroup
from .kept import NoKeyError, keyed
from .sequences import Sequences


def named(sequences: Sequences, parts: NDArray[np.int64]) -> str:
    """Name parts: the first one, numbered within its sequence, and the number of others."""
    offsets = sequences.offsets
    sequence = int(np.searchsorted(offsets, parts[0], side="right")) - 1
    others = f" and {len(parts) - 1} others" if len(parts) > 1 else ""
    return f"part {parts[0] - offsets[sequence]} of sequence {sequences.number(sequence)}{others}"


def shown(sequences: Sequences, parts: NDArray[np.int64]) -> str:
    """The first of some parts, in brackets, unless it is numbers."""
    if sequences.named is None:
        return ""
    text = repr(sequences.named[parts[0]])
    return f" ({text if len(text) <= 80 else text[:76] + ' ...'})"


def told(error: BaseException) -> str:
    """An error's kind and text."""
    return f"{type(error).__name__}: {error}"


def no_key(group: FeatureGroup, error: NoKeyError) -> str:
    """What to do about a part without a key."""
    if group.calls.key is not None:
        return f": its key= failed on {{parts}}: {error}"
    return (
        ": nothing tells whether {parts} is there again. Give a key, a function of one part, as in "
        f"FeatureGroup({group.name!r}, Calls(extract, key=...))"
    )


def repeats(sequences: Sequences, parts: NDArray[np.int64]) -> str:
    """A hint for an extractor that gave another number of rows, where some parts are the same."""
    given = sequences.named
    try:
        keys = keyed(sequences.parts[parts] if given is None else [given[part] for part in parts], None)
    except NoKeyError:
        return ""
    different = len(set(keys))
    hint = f". {different} of the parts are different: one that is there again needs a row of its own, too"
    return hint if different < len(keys) else ""
