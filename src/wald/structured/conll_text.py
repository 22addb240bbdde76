"""Bytes of CoNLL files, which may be packed, the words of a sentence, and lists of words as the text of a file."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np


def unpacked(path: str | PathLike[str]) -> bytes:
    """Read a file; one whose name ends in ``.gz`` is decompressed, or refused with a ValueError."""
    data = Path(path).read_bytes()
    if not fspath(path).endswith(".gz"):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"{fspath(path)}: no gzip file, or a damaged one: {error}.") from None


def packed(path: str | PathLike[str], data: bytes) -> bytes:
    """What to write to a file of this name."""
    return gzip.compress(data, mtime=0) if fspath(path).endswith(".gz") else data


@dataclass(frozen=True)
class Sentence:
    """One sentence of a `Treebank`, made on access; tags are ``"_"`` where none is given."""

    forms: list[str]
    upos: list[str]
    xpos: list[str]
    heads: list[int]  # positions counted from 1; 0 for the root, -1 where none is given
    deprels: list[str]
    comments: list[str]  # the lines before the first word

    def __len__(self) -> int:
        return len(self.forms)


def text_of_words(sentences: Iterable[Any]) -> str:
    """Write sentences of words, as `Treebank.from_words` takes them, or refuse them."""
    if not hasattr(sentences, "__iter__"):
        raise TypeError(f"sentences must be a list of lists of words. Got {sentences!r:.60}.")
    lines: list[str] = []
    for number, sentence in enumerate(sentences):
        n = 0
        for n, word in enumerate(_items(sentence, f"sentence {number}"), 1):
            where = f"word {n} of sentence {number}"
            form, upos, xpos, head, deprel = _fields(word, where)
            if any(mark in field for field in (form, upos, xpos, head, deprel) for mark in "\t\n\r"):
                raise ValueError(f"a tab or line end within {where}.")
            lines.append(f"{n}\t{form}\t_\t{upos}\t{xpos}\t_\t{head}\t{deprel}\t_\t_\n")
        if not n:
            raise ValueError(f"sentence {number} has no words.")
        lines.append("\n")
    return "".join(lines)


def _items(values: Any, what: str) -> list[Any]:
    """What a list, tuple or array holds; raises TypeError for texts, dicts, sets and others without an order.

    The words of a sentence of a treebank keep their form, tags, head and relation.
    """
    if isinstance(values, Sentence):
        return list(zip(values.forms, values.upos, values.xpos, values.heads, values.deprels, strict=True))
    ordered = isinstance(values, Sequence | Iterator) or hasattr(values, "__array__")
    if not ordered or isinstance(values, str | bytes | bytearray):
        got = f"the text {values!r}" if isinstance(values, str) else f"{type(values).__name__}"
        raise TypeError(f"sentences must be lists of words: {what} must be a list. Got {got}.")
    return list(values)


def _fields(word: Any, where: str) -> list[str]:
    """The five fields of a word, as texts; None is what is not given, ``_``."""
    fits = isinstance(word, Sequence | np.ndarray) and not isinstance(word, str | bytes | bytearray)
    if not fits or len(word) not in (3, 5):
        got = f"the text {word!r}" if isinstance(word, str) else f"{len(word)} fields" if fits else type(word).__name__
        raise ValueError(
            f"a word must be (form, upos, xpos) or (form, upos, xpos, head, deprel). Got {got} in {where}."
        )
    fields = []
    for name, field in zip(("form", "upos", "xpos", "head", "deprel"), word, strict=False):
        if field is None and name != "form":
            fields.append("_")
        elif isinstance(field, str):
            fields.append(str.__str__(field))
        elif name == "head" and isinstance(field, int | np.integer) and not isinstance(field, bool):
            fields.append("_" if field == -1 else str(int(field)))  # -1: not given, as in `Sentence.heads`
        else:
            wanted = "an integer or None" if name == "head" else "a string" if name == "form" else "a string or None"
            raise TypeError(f"the {name} of {where} must be {wanted}. Got {field!r}.")
    return fields if len(fields) == 5 else [*fields, "_", "_"]
