"""Where the tokens of a text lie in it, and the words that hold them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .token_ends import BLANKS

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TokenPlaces:
    """Places of tokens, and of the words that hold them.

    Parameters
    ----------
    text : str
        The text; as the vectorizer reads it, if its characters are not those of the text one by one.
    tokens : int64 ndarray of shape (n_tokens, 2)
        First character of each token in `text` and the one behind its last, in the order of the analyzer.
    words : int64 ndarray of shape (n_words, 2)
        The same for words, in the order of the text; for slices of characters, what lies between white space.
    word_characters : int64 ndarray of shape (n_words, 2)
        The same in the text as it is cut into slices.
    """

    text: str
    tokens: Ints
    words: Ints
    word_characters: Ints

    @classmethod
    def of(cls, vectorizer: Any, text: str | bytes) -> TokenPlaces:
        """Find the tokens of ``vectorizer.build_analyzer()(text)``.

        Parameters
        ----------
        vectorizer : CountVectorizer, TfidfVectorizer or HashingVectorizer
        text : str or bytes
        """
        given = vectorizer.decode(text)
        read = vectorizer.build_preprocessor()(given)
        source = _source_of_characters(vectorizer, given, read)
        shown = read if source is None else given
        if vectorizer.analyzer == "word":
            scanned, first, last = read, np.arange(len(read)), np.arange(1, len(read) + 1)
            tokens, words = _word_tokens(vectorizer, read)
        elif vectorizer.analyzer == "char":
            scanned, first, last = _without_runs_of_blanks(read)
            tokens = _slices(vectorizer.ngram_range, len(scanned))
            words = [word.span() for word in re.finditer(r"\S+", scanned)]
        else:
            scanned, first, last = _padded(read)
            tokens, words = _word_slices(vectorizer.ngram_range, scanned)
        found: list[Ints] = []
        for spans in (tokens, words):
            starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 2).T
            begin, end = np.append(first, len(read))[starts], np.append(0, last)[ends]
            if source is not None:
                begin, end = np.append(source, len(given))[begin], np.append(-1, source)[end] + 1
            found.append(np.column_stack([begin, end]).astype(np.int64))
        return cls(shown, found[0], found[1], np.array(words, dtype=np.int64).reshape(-1, 2))


def _word_tokens(vectorizer: Any, read: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """N-grams of words, without stop words, and all words."""
    least, most = vectorizer.ngram_range
    stop_words = vectorizer.get_stop_words() or ()
    words, kept = [], []
    for word in re.finditer(vectorizer.token_pattern, read):
        words.append(word.span())
        if word.group() not in stop_words:
            kept.append(word.span())
    tokens = [
        (begin, end) for n in range(least, most + 1) for (begin, _), (_, end) in zip(kept, kept[n - 1 :], strict=False)
    ]
    return tokens, words


def _slices(ngram_range: tuple[int, int], n: int) -> list[tuple[int, int]]:
    """Slices of n characters, the shortest first."""
    least, most = ngram_range
    return [(i, i + size) for size in range(least, min(most, n) + 1) for i in range(n - size + 1)]


def _word_slices(ngram_range: tuple[int, int], padded: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Slices within words and the blanks around them, and the words."""
    least, most = ngram_range
    tokens, words = [], [word.span() for word in re.finditer(r"\S+", padded)]
    for begin, end in words:
        begin, n = begin - 1, end - begin + 2
        for size in range(least, most + 1):
            tokens += [(begin + i, begin + i + size) for i in range(n - size + 1)] or [(begin, begin + n)]
            if size >= n:  # the word itself, once
                break
    return tokens, words


def _without_runs_of_blanks(read: str) -> tuple[str, Ints, Ints]:
    """The text with one blank for each run, and where each of its characters begins and ends in the text before."""
    first, end = [], 0
    for run in BLANKS.finditer(read):
        first += [*range(end, run.start() + 1)]
        end = run.end()
    starts = np.array([*first, *range(end, len(read))], dtype=np.int64)
    return BLANKS.sub(" ", read), starts, np.append(starts[1:], len(read))[: len(starts)]


def _padded(read: str) -> tuple[str, Ints, Ints]:
    """Words with one blank around each, and where each character begins and ends in the text; blanks have no length."""
    words = [word.span() for word in re.finditer(r"\S+", read)]
    if not words:
        return "", np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    first, last = [], [words[0][0]]
    for begin, end in words:
        first += [begin, *range(begin, end)]
        last += [*range(begin + 1, end + 1), end]
    first.append(words[-1][1])
    return f" {' '.join(read.split())} ", np.array(first, dtype=np.int64), np.array(last, dtype=np.int64)


def _source_of_characters(vectorizer: Any, given: str, read: str) -> Ints | None:
    """For each character that is read, the one of the text that it was made of; None if that cannot be told."""
    made = vectorizer.build_preprocessor()
    size = {character: len(made(character)) for character in set(given)}
    source = np.repeat(np.arange(len(given)), [size[character] for character in given])
    return source if len(source) == len(read) else None
