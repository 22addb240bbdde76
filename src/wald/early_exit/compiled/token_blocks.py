"""When the tokens of a text are read whose blocks are read spread over it, in bytes that are read before."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .token_ends import BLANKS, bytes_before

Ints = NDArray[np.int64]


def tokens_read(vectorizer: Any, text: str | bytes, block: int) -> Ints:
    """How much has been read when each token is, in the order of ``vectorizer.build_analyzer()(text)``.

    Tokens that reach from one block to the next are read with the whole text alone: they get a number beyond it.

    Parameters
    ----------
    vectorizer : CountVectorizer, TfidfVectorizer or HashingVectorizer
    text : str or bytes
    block : int
        Bytes of a block, in which the words begin that are read together.
    """
    read = vectorizer.build_preprocessor()(vectorizer.decode(text))
    least, most = vectorizer.ngram_range
    first: list[int] = []
    last: list[int] = []  # blocks of the first and the last part of each token
    if vectorizer.analyzer == "word":
        stop_words, at = vectorizer.get_stop_words() or (), bytes_before(read)
        words = re.finditer(vectorizer.token_pattern, read)
        blocks = [int(at[word.start()]) // block for word in words if word.group() not in stop_words]
        for n in range(least, min(most, len(blocks)) + 1):
            first += blocks[: len(blocks) + 1 - n]
            last += blocks[n - 1 :]
        size = int(at[-1])
    elif vectorizer.analyzer == "char":
        read = BLANKS.sub(" ", read)
        at = bytes_before(read)
        size = int(at[-1])
        begins = np.array([at[word.start()] for word in re.finditer(r"\S+", read)], dtype=np.int64)
        cuts = np.append(begins, size)[np.searchsorted(begins, np.arange(block, max(size, 1), block))]
        of_each = np.searchsorted(cuts, at[:-1], side="right").tolist()
        for n in range(least, min(most, len(of_each)) + 1):
            first += of_each[: len(of_each) + 1 - n]
            last += of_each[n - 1 :]
    else:
        begin = 0
        for word in read.split():
            n_tokens, length = 0, len(word) + 2
            for n in range(least, most + 1):
                n_tokens += max(1, length + 1 - n)
                if n >= length:  # the word itself, once
                    break
            first += n_tokens * [begin // block]
            begin += int(bytes_before(f" {word}")[-1])
        last, size = first, begin + 1
    turns = (1 + turns_of_blocks(-(-size // block))) * block
    known = np.array(first, dtype=np.int64)
    return np.where(known == np.array(last, dtype=np.int64), turns[known], size + block)


def turns_of_blocks(n: int) -> Ints:
    """When each of n blocks is read: 0, the middle, the quarters, the eighths, ... come first.

    Examples
    --------
    >>> turns_of_blocks(5)
    array([0, 3, 2, 4, 1])
    """
    bits = max(0, n - 1).bit_length()
    mirrored = np.zeros(1 << bits, dtype=np.int64)
    for bit in range(bits):
        mirrored |= ((np.arange(1 << bits) >> bit) & 1) << (bits - 1 - bit)
    turns = np.empty(n, dtype=np.int64)
    turns[mirrored[mirrored < n]] = np.arange(n)
    return turns
