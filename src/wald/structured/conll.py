"""CoNLL-U and CoNLL-X files: annotated sentences, kept as the bytes they were read from."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core

Format = Literal["conllu", "conllx"]

COLUMNS = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")


@dataclass(frozen=True)
class Sentence:
    """One sentence of a `Treebank`, made on access.

    Attributes
    ----------
    forms, upos, xpos : list of str
        The words and their two tags; ``"_"`` where none is given.
    heads : list of int
        Position of every word's head, counted from 1; 0 for the root, -1 where none is given.
    deprels : list of str
        Relations to the heads.
    comments : list of str
        Comment lines before the first word.
    """

    forms: list[str]
    upos: list[str]
    xpos: list[str]
    heads: list[int]
    deprels: list[str]
    comments: list[str]

    def __len__(self) -> int:
        return len(self.forms)


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
        data = Path(path).read_bytes()
        if fspath(path).endswith(".gz"):
            try:
                data = gzip.decompress(data)
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(f"{fspath(path)}: no gzip file, or a damaged one: {error}.") from None
        return cls(data, name=fspath(path), format=format)

    @classmethod
    def from_words(cls, sentences: Iterable[Any]) -> Treebank:
        """Make a treebank of plain lists.

        Parameters
        ----------
        sentences : iterable
            Each a sequence of words: (form, upos, xpos), or (form, upos, xpos, head, deprel) with heads counted from 1.
            All but heads are strings; None for anything but the form says that it is not given.

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
        text = "".join(lines)
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
        i = int(index)
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
        words = [np.arange(self._offsets[i], self._offsets[i + 1]) for i in ids]
        rows = np.concatenate(words) if words else np.empty(0, np.int64)
        return part.with_heads(
            self._heads[rows], self._names, None if self._relations is None else self._relations[rows]
        )

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
        new = object.__new__(Treebank)
        new._core, new.format, new._offsets = self._core, self.format, self._offsets
        new._heads = np.ascontiguousarray(heads, dtype=np.int32)
        if new._heads.shape != (self.n_words,):
            raise ValueError(f"heads must have shape ({self.n_words},), one per word. Got {new._heads.shape} instead.")
        new._names, new._relations = self._names, self._relations
        if relations is not None:
            new._names, new._relations = list(names), np.ascontiguousarray(relations, dtype=np.int32)
            if new._relations.shape != (self.n_words,):
                raise ValueError(
                    f"relations must have shape ({self.n_words},), one per word. Got {new._relations.shape} instead."
                )
        return new

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
        new = object.__new__(Treebank)
        new._core = self._core.with_tags(list(upos), list(xpos), np.ascontiguousarray(codes, dtype=np.int32))
        new.format, new._offsets, new._heads = self.format, self._offsets, self._heads
        new._names, new._relations = self._names, self._relations
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
        data = self.to_bytes()
        Path(path).write_bytes(gzip.compress(data, mtime=0) if fspath(path).endswith(".gz") else data)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "text": self._core.text(),
            "format": self.format,
            "heads": self._heads,
            "names": self._names,
            "relations": self._relations,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["text"], format=state["format"])  # type: ignore[misc]  # the text is read anew
        self._heads, self._names, self._relations = state["heads"], state["names"], state["relations"]

    def __repr__(self) -> str:
        return f"<Treebank: {len(self)} sentences, {self.n_words} words>"


def _items(values: Any, what: str) -> list[Any]:
    """What a list, tuple or array holds; raises TypeError for texts, dicts, sets and others without an order."""
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


#: The methods as functions.
read_conll, write_conll, from_words = Treebank.read, Treebank.write, Treebank.from_words
