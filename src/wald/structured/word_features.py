"""Words as a tagger takes them: lists of them as a treebank, and their features, rows of which the engine reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .conll import Treebank
from .sequences import Sequences

#: What follows the word in its line.
_REST = "\t_\t_\t_\t_\t_\t_\t_\t_\n"
#: A word has a class if it was seen this often; the class names its labels that are frequent enough, three at most.
_SEEN, _SHARE, _LABELS = 5, 0.05, 3


@dataclass(frozen=True, eq=False)
class WordVocabulary:
    """Words whose usual labels are known, and features that were seen often enough.

    ``words`` are hashes of the words in lower case that have a class, a number of labels that they usually have;
    ``keys`` are hashes of the known features, template by template, and ``ends`` tells where those of each template
    end.
    """

    words: NDArray[np.uint64]
    classes: NDArray[np.int32]
    keys: NDArray[np.uint64]
    ends: NDArray[np.int64]

    @classmethod
    def learn(cls, bank: Treebank, codes: NDArray[np.int64], min_count: int) -> Self:
        """Collect the features that occur at least ``min_count`` times in sentences with these labels."""
        words, classes = _usual_labels(_core.WordFeatures.lower(bank.core), codes)
        nothing = np.zeros(0, dtype=np.uint64), np.zeros(_core.WORD_TEMPLATES, dtype=np.int64)
        found = _core.WordFeatures(words, classes, *nothing).keys(bank.core)
        kept = []
        for column in found.T:
            keys, counts = np.unique(column, return_counts=True)
            kept.append(keys[counts >= min_count])
        ends = np.cumsum([len(keys) for keys in kept], dtype=np.int64)
        return cls(words, classes, np.concatenate(kept), ends)

    @cached_property
    def _core(self) -> _core.WordFeatures:
        return _core.WordFeatures(self.words, self.classes, self.keys, self.ends)

    def sequences(self, bank: Treebank, named: Iterable[str] | None = None) -> Sequences:
        """Sentences as a chain takes them; ``named``, the words as extractors get them, where there are some."""
        values, columns, ends = self._core.rows(bank.core)
        for array in (values, columns):  # read-only, so that the engine needs no copy
            array.flags.writeable = False
        if len(values) <= np.iinfo(np.int32).max:
            ends = ends.astype(np.int32)  # the columns' type, which saves SciPy a search
        parts = sparse.csr_matrix((values, columns, ends), shape=(bank.n_words, len(self.keys)))
        parts.has_canonical_format = True
        return Sequences(parts, bank.offsets, named=None if named is None else list(named))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_core"}


def _usual_labels(words: NDArray[np.uint64], codes: NDArray[np.int64]) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    """Words that were seen often, and the numbers of their classes."""
    known, at = np.unique(words, return_inverse=True)
    n_labels, seen = int(codes.max()) + 1, np.bincount(at)
    pairs, counts = np.unique(at * n_labels + codes, return_counts=True)
    word, label = pairs // n_labels, pairs % n_labels
    usual = (seen[word] >= _SEEN) & (counts >= _SHARE * seen[word])
    word, label, counts = word[usual], label[usual], counts[usual]
    labels: dict[int, list[int]] = {}
    for i in np.lexsort((label, -counts, word)):  # the most frequent label of a word first
        labels.setdefault(int(word[i]), []).append(int(label[i]))
    classes = [tuple(found[:_LABELS]) for found in labels.values()]
    numbers = {name: number for number, name in enumerate(sorted(set(classes)))}
    return known[list(labels)], np.array([numbers[name] for name in classes], dtype=np.int32)


# ---- sentences as users have them ------------------------------------------------------------------------------------


def treebank_of_tokens(sentences: Treebank | Iterable[Any]) -> Treebank:
    """A treebank as it is, or one of sentences of words: strings, or what `Treebank.from_words` takes."""
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
