"""Where the tokens of a text end, in bytes of the text as vectorizers read it: at a look, those before it are read."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Runs of white space that become one blank before slices are cut.
BLANKS = re.compile(r"\s\s+")


def token_ends(vectorizer: Any, text: str | bytes) -> NDArray[np.int64]:
    """Where each token ends, in the order of ``vectorizer.build_analyzer()(text)``.

    Parameters
    ----------
    vectorizer : CountVectorizer, TfidfVectorizer or HashingVectorizer
    text : str or bytes
    """
    read = vectorizer.build_preprocessor()(vectorizer.decode(text))
    least, most = vectorizer.ngram_range
    ends: list[int] = []
    if vectorizer.analyzer == "word":
        stop_words, at = vectorizer.get_stop_words() or (), bytes_before(read)
        words = re.finditer(vectorizer.token_pattern, read)
        last = [int(at[word.end()]) for word in words if word.group() not in stop_words]
        for n in range(least, most + 1):
            ends += last[n - 1 :]
    elif vectorizer.analyzer == "char":
        at = bytes_before(BLANKS.sub(" ", read))
        for n in range(least, min(most + 1, len(at))):
            ends += at[n:].tolist()
    else:
        begin = 0
        for word in read.split():
            at = begin + bytes_before(f" {word} ")
            for n in range(least, most + 1):
                ends += at[n:].tolist() or [int(at[-1])]
                if n >= len(at) - 1:  # the word itself, once
                    break
            begin = int(at[-1]) - 1  # words share the blank between them
    return np.array(ends, dtype=np.int64)


def bytes_before(text: str) -> NDArray[np.int64]:
    """Number of bytes before each character, and of all."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    sizes = 1 + (codes >= 0x80) + (codes >= 0x800) + (codes >= 0x10000)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
