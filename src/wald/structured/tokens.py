"""Sentences as users have them, lists of words, as treebanks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .conll import Treebank

#: What follows the word in its line.
_REST = "\t_\t_\t_\t_\t_\t_\t_\t_\n"


def treebank_of_tokens(sentences: Treebank | Iterable[Any]) -> Treebank:
    """Make a treebank of sentences, which may be one already.

    Parameters
    ----------
    sentences : Treebank or iterable
        Each sentence a sequence of words: strings, or what `Treebank.from_words` takes.

    Raises
    ------
    ValueError, TypeError
        As `Treebank.from_words`; and for texts that are not split into sentences and words.

    Examples
    --------
    >>> treebank_of_tokens([["Dogs", "bark"]])[0].forms
    ['Dogs', 'bark']
    """
    if isinstance(sentences, Treebank):
        return sentences
    if not hasattr(sentences, "__iter__"):
        raise TypeError(f"Sentences must be lists of words, such as [['Dogs', 'bark']]. Got {sentences!r:.60}.")
    if isinstance(sentences, str | bytes):
        raise TypeError(
            f"Sentences must be lists of words, such as [['Dogs', 'bark']]. Got the text {sentences!r:.60}: split it "
            "into sentences and words first, with spaCy, say."
        )
    items = [
        list(sentence)
        if isinstance(sentence, Sequence | Iterator | np.ndarray) and not isinstance(sentence, str | bytes)
        else sentence
        for sentence in sentences
    ]
    for number, item in enumerate(items):
        if isinstance(item, str):
            raise TypeError(
                f"Sentence {number} must be a list of words. Got the text {item!r:.60}: split it into words first; for "
                "one sentence, pass [sentence]."
            )
    text = _text_of(items)
    if text is not None:
        return Treebank(text, name="<words>")
    for number, item in enumerate(items):
        for place, word in enumerate(item if type(item) is list else (), 1):
            if isinstance(word, bytes) or not isinstance(word, Sequence | np.ndarray):
                raise TypeError(f"Word {place} of sentence {number} must be a text. Got {word!r:.60}.")
    return Treebank.from_words(
        [
            [(word, None, None) if isinstance(word, str) else word for word in item] if type(item) is list else item
            for item in items
        ]
    )


def _text_of(items: list[Any]) -> bytes | None:
    """The file of lists of strings; None where something else is among them, which `from_words` reads or refuses."""
    if not all(type(item) is list for item in items):
        return None
    try:
        blocks = ["".join([f"{i}\t" + word + _REST for i, word in enumerate(item, 1)]) for item in items]
        text = "\n".join(blocks) + "\n" if blocks else ""
        n = sum(map(len, items))
        plain = text.count("\t") == 9 * n and text.count("\n") == n + len(items) and "\r" not in text
        return text.encode() if plain and all(blocks) else None
    except (TypeError, UnicodeEncodeError):
        return None
