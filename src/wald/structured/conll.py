"""CoNLL-U and CoNLL-X files: annotated sentences, kept as the bytes they were read from."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .conll_text import Sentence, packed, text_of_words, unpacked

Format = Literal["conllu", "conllx"]

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


class Treebank(Sequence[Sentence]):
    r"""Annotated sentences, in memory as the text of their file.

    A treebank behaves like a list of sentences: ``len``, an index, a slice, an array of indices. Parsing reads the
    text itself; objects are made on access only.

    Parameters
    ----------
    text : bytes
        The content of a CoNLL file, UTF-8.
    name : str, default="<text>"
        Name of the text in errors.
    format : {"conllu", "conllx"}, default="conllu"
        CoNLL-U has comments, multiword tokens (``3-4``) and empty nodes (``3.1``), and one root a sentence. CoNLL-X
        has none of them, and allows several roots.

    Raises
    ------
    ValueError
        For whatever does not follow the format, with the name and the line: ids out of order, heads outside of the
        sentence, cycles, a second root (CoNLL-U), a wrong number of fields, empty fields, invalid UTF-8. Heads may be
        missing (``_``).

    Notes
    -----
    Sources: https://universaldependencies.org/format.html (CoNLL-U); S. Buchholz and E. Marsi, "CoNLL-X shared task
    on multilingual dependency parsing", CoNLL 2006.

    Examples
    --------
    >>> from wald.structured import Treebank
    >>> line = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
    >>> text = line.format(1, "Dogs", "NOUN", 2, "nsubj") + line.format(2, "bark", "VERB", 0, "root") + "\n"
    >>> bank = Treebank(text.encode())
    >>> bank[0].forms, bank[0].heads
    (['Dogs', 'bark'], [2, 0])
    """

    def __init__(self, text: bytes, *, name: str = "<text>", format: Format = "conllu") -> None:
        if format not in ("conllu", "conllx"):
            raise ValueError(f"format must be 'conllu' or 'conllx'. Got {format!r} instead.")
        if not isinstance(text, bytes):
            raise TypeError(f"text must be bytes, as read from a file. Got {type(text).__name__} instead.")
        self._core = _core.Treebank.read(text, name, format == "conllx")
        self.format: Format = format
        self._offsets = self._core.offsets()
        self._heads: NDArray[np.int32] = self._core.heads()
        self._names: list[str] = []
        self._relations: NDArray[np.int32] | None = None  # numbers of names; None: as in the text

    @classmethod
    def read(cls, path: str | PathLike[str], *, format: Format = "conllu") -> Treebank:
        """Read a CoNLL file.

        Parameters
        ----------
        path : path-like
            The file; one whose name ends in ``.gz`` is decompressed.
        format : {"conllu", "conllx"}, default="conllu"
            As in the class.

        Returns
        -------
        Treebank

        Raises
        ------
        ValueError
            When the file does not follow the format; the message names the file and the line.
        """
        return cls(unpacked(path), name=fspath(path), format=format)

    @classmethod
    def from_words(cls, sentences: Iterable[Any]) -> Treebank:
        """Make a treebank of plain lists.

        Parameters
        ----------
        sentences : iterable
            Each a sequence of words: (form, upos, xpos), or (form, upos, xpos, head, deprel) with heads counted from 1.
            All but heads are strings; None: not given. Or a sentence of a treebank, for these columns alone.

        Returns
        -------
        Treebank

        Raises
        ------
        ValueError
            For an empty sentence, a word of another length, or what the class refuses; lines count the words, with one
            line between sentences.
        TypeError
            For a sentence that is no list, or a field of another type.

        Examples
        --------
        >>> from wald.structured import Treebank
        >>> bank = Treebank.from_words([[("Dogs", "NOUN", "NNS"), ("bark", "VERB", "VBP")]])
        >>> bank[0].xpos
        ['NNS', 'VBP']
        """
        text = text_of_words(sentences)
        try:
            return cls(text.encode(), name="<words>")
        except UnicodeEncodeError as error:
            line = text.count("\n", 0, error.start) + 1
            raise ValueError(f"<words>, line {line}: half of a surrogate pair, which is no character.") from None

    @property
    def core(self) -> _core.Treebank:
        """The text and where its words are, for the engine."""
        return self._core

    @property
    def n_words(self) -> int:
        """Words in all sentences together."""
        return self._core.n_words

    @property
    def offsets(self) -> NDArray[np.int64]:
        """First word of every sentence, and the number of words at the end."""
        return self._offsets

    @property
    def heads(self) -> NDArray[np.int32]:
        """Heads of all words, one sentence after the other: 1, 2, ... within the sentence, 0 root, -1 not given."""
        return self._heads

    def column(self, name: str) -> list[str]:
        """Return one column of all words.

        Parameters
        ----------
        name : str
            One of ``id form lemma upos xpos feats head deprel deps misc``.

        Returns
        -------
        list of str
        """
        if name not in COLUMNS:
            raise ValueError(f"name must be one of {COLUMNS}. Got {name!r} instead.")
        return self._column(name, 0, self.n_words)

    def _column(self, name: str, first: int, last: int) -> list[str]:
        if name == "head":
            return ["_" if head < 0 else str(head) for head in self._heads[first:last]]
        if name == "deprel" and self._relations is not None:
            return [self._names[code] for code in self._relations[first:last]]
        return self._core.column(COLUMNS.index(name), first, last)

    def __len__(self) -> int:
        return len(self._core)

    @overload
    def __getitem__(self, index: int) -> Sentence: ...
    @overload
    def __getitem__(self, index: slice | NDArray[Any] | list[int]) -> Treebank: ...
    def __getitem__(self, index: Any) -> Sentence | Treebank:
        if isinstance(index, slice | np.ndarray | list):
            return self._take(np.arange(len(self))[index])
        i = operator.index(index)
        if not -len(self) <= i < len(self):
            raise IndexError(f"sentence {i} of {len(self)}")
        i %= len(self)
        first, last = int(self._offsets[i]), int(self._offsets[i + 1])
        lines = self._core.sentence(i).decode().replace("\r\n", "\n").split("\n")  # splitlines splits at more
        return Sentence(
            forms=self._column("form", first, last),
            upos=self._column("upos", first, last),
            xpos=self._column("xpos", first, last),
            heads=[int(head) for head in self._heads[first:last]],
            deprels=self._column("deprel", first, last),
            comments=[line for line in lines if line.startswith("#") and self.format == "conllu"],
        )

    def __iter__(self) -> Iterator[Sentence]:
        return (self[i] for i in range(len(self)))

    def _take(self, ids: NDArray[np.int64]) -> Treebank:
        blocks = [self._core.sentence(int(i)) for i in ids]
        text = b"".join(
            block if block.endswith((b"\n\n", b"\n\r\n")) else block.rstrip(b"\r\n") + b"\n\n" for block in blocks
        )
        part = Treebank(text, name="<part>", format=self.format)
        rows = np.concatenate([ids[:0], *(np.arange(self._offsets[i], self._offsets[i + 1]) for i in ids)])
        relations = None if self._relations is None else self._relations[rows]
        return part.with_heads(self._heads[rows], self._names, relations)

    def _copy(self) -> Treebank:
        new = object.__new__(Treebank)
        new.__dict__.update(self.__dict__)
        return new

    def with_heads(self, heads: ArrayLike, names: Sequence[str] = (), relations: ArrayLike | None = None) -> Treebank:
        """Return the same sentences with other trees.

        Parameters
        ----------
        heads : array-like of int, shape (n_words,)
            As `heads`. Whether they form trees is not checked.
        names : sequence of str, optional
            Names of relations.
        relations : array-like of int, shape (n_words,), optional
            Number of every word's relation in `names`. Without it relations stay as they are.

        Returns
        -------
        Treebank
            Shares the text with this one; all columns but HEAD and DEPREL stay, DEPS too.
        """
        new = self._copy()
        new._heads = self._by_word("heads", heads)
        if relations is not None:
            new._names, new._relations = list(names), self._by_word("relations", relations)
        return new

    def _by_word(self, name: str, values: ArrayLike) -> NDArray[np.int32]:
        array, n = np.asarray(values), self.n_words
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int32) if array.dtype.kind in "iuf" or n == 0 else None
        if array.shape != (n,) or whole is None or not np.array_equal(whole, array):
            raise ValueError(
                f"{name} must have shape ({n},), whole numbers, one per word. Got {array.dtype}, {array.shape}."
            )
        return np.ascontiguousarray(whole)

    def with_tags(self, upos: Sequence[str], xpos: Sequence[str], codes: ArrayLike) -> Treebank:
        """Return the same sentences with other tags.

        Parameters
        ----------
        upos, xpos : sequence of str
            Names of tags; none: the column stays as it is.
        codes : array-like of int, shape (n_words,)
            Word ``w`` gets the tags ``upos[codes[w]]`` and ``xpos[codes[w]]``.

        Returns
        -------
        Treebank
            Trees and all other columns stay.
        """
        new = self._copy()
        new._core = self._core.with_tags(list(upos), list(xpos), np.ascontiguousarray(codes, dtype=np.int32))
        return new

    @property
    def is_as_read(self) -> bool:
        """True if heads and relations are those of the text."""
        return self._relations is None and np.array_equal(self._heads, self._core.heads())

    def to_bytes(self) -> bytes:
        """Return the text of the file: byte for byte as it was read, but for heads and relations that were replaced."""
        if self.is_as_read:
            return self._core.text()
        return self._core.text(self._heads, self._names, self._relations)

    def write(self, path: str | PathLike[str]) -> None:
        """Write the text of `to_bytes` to a file; one whose name ends in ``.gz`` is compressed.

        Parameters
        ----------
        path : path-like
            The file.
        """
        Path(path).write_bytes(packed(path, self.to_bytes()))

    def __getstate__(self) -> dict[str, Any]:
        state = {"text": self._core.text(), "format": self.format}
        return state | {"heads": self._heads, "names": self._names, "relations": self._relations}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], format=state["format"])  # type: ignore[misc]  # the text is read anew
        self._heads, self._names, self._relations = state["heads"], state["names"], state["relations"]

    def __repr__(self) -> str:
        return f"<Treebank: {len(self)} sentences, {self.n_words} words>"
