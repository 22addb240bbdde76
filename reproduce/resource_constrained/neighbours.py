"""A second model of a word's tag: the most similar training tokens, and their tags."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Parts = NDArray[np.int64]

#: Columns of a token: its number, its sentence, its form, and the forms before and behind it (0: none).
TOKEN, SENTENCE, FORM, BEFORE, BEHIND = range(5)
#: Columns to which forms, and n-grams of characters, are hashed.
_FORMS, _GRAMS = 2**15, 2**14
#: Weight of a neighbouring word beside the spelling, and lengths of n-grams.
_BESIDE, _LENGTHS = 0.4, (2, 3, 4)
#: Number of tokens to search, of nearest tokens to use, and of tokens compared at a time.
_SEARCHED, _NEAREST, _CHUNK = 6_000, 15, 256


class Forms(NamedTuple):
    """Sentences as tokens of numbered forms.

    Attributes
    ----------
    spelling : list of str
        Spelling of every form; form 0 stands for no token.
    sentences : list of int64 ndarray (length, 5)
    tags : list of ndarray of str
    """

    spelling: list[str]
    sentences: list[Parts]
    tags: list[NDArray[Any]]


class Tokens(NamedTuple):
    """Tagged sentences."""

    sentences: list[Parts]
    tags: list[NDArray[Any]]


def forms_of(*banks: Any) -> Forms:
    """Number the tokens and the forms of some treebanks."""
    numbers: dict[str, int] = {"": 0}
    sentences: list[Parts] = []
    tags: list[NDArray[Any]] = []
    n_tokens = 0
    for bank in banks:
        forms = np.array([numbers.setdefault(form, len(numbers)) for form in bank.column("form")], dtype=np.int64)
        upos = np.array(bank.column("upos"))
        for first, last in zip(bank.offsets[:-1], bank.offsets[1:], strict=True):
            own = np.zeros((int(last - first), 5), dtype=np.int64)
            own[:, TOKEN] = np.arange(n_tokens, n_tokens + len(own))
            own[:, SENTENCE] = len(sentences)
            own[:, FORM] = forms[first:last]
            own[1:, BEFORE], own[:-1, BEHIND] = own[:-1, FORM], own[1:, FORM]
            n_tokens += len(own)
            sentences.append(own)
            tags.append(upos[first:last])
    return Forms(list(numbers), sentences, tags)


def one_hot(parts: Parts) -> Any:
    """Indicators of tokens' forms: CSR (n, 2^15)."""
    n = len(parts)
    columns = parts[:, FORM] % _FORMS
    return sparse.csr_matrix((np.ones(n, np.float32), columns, np.arange(n + 1)), shape=(n, _FORMS))


class Neighbours:
    """The tags of the most similar tagged tokens, as an extractor.

    Parameters
    ----------
    tokens : Tokens
        Answers come from a sample of them, never from a token's own sentence.
    spelling : list of str
        Spelling of every form.

    Attributes
    ----------
    always_searches : bool
        Whether to search for remembered tokens, too, which is for measuring time.
    """

    def __init__(self, tokens: Tokens, spelling: list[str]) -> None:
        self.always_searches = False
        self._known: NDArray[np.float32] | None = None
        self._grams = _spelt(spelling)
        parts, tags = np.concatenate(tokens.sentences), np.concatenate(tokens.tags)
        self._names, codes = np.unique(tags, return_inverse=True)
        some = np.sort(np.random.default_rng(0).permutation(len(parts))[:_SEARCHED])
        self._sentence = parts[some, SENTENCE]
        self._tags = np.eye(len(self._names), dtype=np.float32)[codes[some]]
        self._tokens = sparse.csc_matrix(self._vectors(parts[some]).T)

    def remember(self, *collections: list[Parts]) -> Self:
        """Search for tokens once, for learning and drawing curves."""
        parts = np.concatenate([sentence for sentences in collections for sentence in sentences])
        known = np.zeros((int(parts[:, TOKEN].max()) + 1, len(self._names) + 1), dtype=np.float32)
        known[parts[:, TOKEN]] = self._searched(parts)
        self._known = known
        return self

    def __call__(self, parts: Parts) -> NDArray[np.float32]:
        """Share of every tag among the nearest tokens, by similarity, and the similarity of the nearest."""
        if self._known is None or self.always_searches:
            return self._searched(parts)
        return self._known[parts[:, TOKEN]]

    def _searched(self, parts: Parts) -> NDArray[np.float32]:
        pieces = [self._nearest(parts[i : i + _CHUNK]) for i in range(0, len(parts), _CHUNK)]
        return np.concatenate(pieces) if pieces else np.zeros((0, len(self._names) + 1), dtype=np.float32)

    def _nearest(self, parts: Parts) -> NDArray[np.float32]:
        alike = (self._vectors(parts) @ self._tokens).toarray()
        alike[parts[:, SENTENCE, None] == self._sentence] = 0
        k = min(_NEAREST, alike.shape[1])
        nearest = np.argpartition(alike, -k, axis=1)[:, -k:]
        near = np.take_along_axis(alike, nearest, axis=1)
        weights = near**4 + 1e-9
        votes = np.einsum("ij,ijk->ik", weights / weights.sum(axis=1, keepdims=True), self._tags[nearest])
        return np.column_stack([votes, near.max(axis=1)]).astype(np.float32)

    def _vectors(self, parts: Parts) -> Any:
        """Spelling, and the words beside: rows of length at most 1."""
        beside = []
        for column in (BEFORE, BEHIND):
            beside.append(one_hot(parts[:, [TOKEN, SENTENCE, column]]) * np.float32(_BESIDE))
        length = np.float32(np.sqrt(1 + 2 * _BESIDE**2))
        return sparse.hstack([self._grams[parts[:, FORM]], *beside], format="csr") / length


def _spelt(spelling: list[str]) -> Any:
    """n-grams of characters of every form, weighted by how few forms have them, as rows of length 1."""
    columns, ends = [], [0]
    for form in spelling:
        marked = f"^{form}$"
        found = {marked[i : i + n] for n in _LENGTHS for i in range(len(marked) - n + 1)}
        columns += sorted({zlib.crc32(gram.encode()) % _GRAMS for gram in found})
        ends.append(len(columns))
    ones = np.ones(len(columns), dtype=np.float32)
    grams = sparse.csr_matrix((ones, np.array(columns), np.array(ends)), shape=(len(spelling), _GRAMS))
    rarity = np.log((1 + len(spelling)) / (1 + np.bincount(grams.indices, minlength=_GRAMS)))
    weighted = grams @ sparse.diags(rarity.astype(np.float32))
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    return sparse.csr_matrix(sparse.diags((1 / np.maximum(lengths, 1e-9)).astype(np.float32)) @ weighted)
