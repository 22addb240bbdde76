"""Vocabularies of vectorizers in files: UTF-8 bytes, where words end, and their columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..codec.reading import Section, require
from ..codec.room import TEXT_OBJECT
from ..codec.writing import Arrays

#: Field with the number of words.
WORDS = "words"
#: Bytes of an entry of a dict with its number.
ENTRY = 128


def encode_vocabulary(words: dict[str, Any], arrays: Arrays, where: str) -> dict[str, Any]:
    """Put words and their columns into ``arrays``, in their order.

    Raises
    ------
    UnicodeEncodeError
        If a word holds half of a surrogate pair, for which UTF-8 has no bytes.
    """
    raw = [word.encode() for word in words]
    arrays[f"{where}.utf8"] = np.frombuffer(b"".join(raw), dtype=np.uint8)
    arrays[f"{where}.ends"] = np.cumsum([len(word) for word in raw], dtype=np.int64)
    arrays[f"{where}.columns"] = np.fromiter(words.values(), dtype=np.int64, count=len(words))
    return {WORDS: len(words)}


def decode_vocabulary(section: Section) -> dict[str, int]:
    """Read what `encode_vocabulary` wrote: distinct words, with columns from 0 to their number."""
    n = section.integer(WORDS, 1)
    columns = section.integers("columns", ("int64",), n, low=0, high=n).tolist()
    ends = section.array("ends", ("int64",), n)
    utf8 = section.array("utf8", ("uint8",), None)
    section.done()
    rises = ends[0] >= 0 and bool(np.all(ends[:-1] <= ends[1:])) and ends[-1] == len(utf8)
    require(rises, f"the array {section.called('ends')!r} does not rise to the end of the words")
    section.room.reserve((TEXT_OBJECT + ENTRY) * n + 4 * len(utf8), f"words in {section.called('utf8')!r}")
    raw, start, words = utf8.tobytes(), 0, list[str]()
    try:
        for end in ends.tolist():
            words.append(raw[start:end].decode())
            start = end
    except UnicodeDecodeError:
        require(False, f"the array {section.called('utf8')!r} is no UTF-8 of words")
    found = dict(zip(words, columns, strict=True))
    require(len(found) == n, f"the array {section.called('utf8')!r} holds a word twice")
    return found
