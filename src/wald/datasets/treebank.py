"""Treebanks: published ones, and small synthetic ones for tests."""

from __future__ import annotations

import io
import os
import zipfile
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.utils import check_random_state

from ..structured.conll import Treebank
from .cache import obtain, published

_EWT_MIRRORS = ("https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.16",)
_NLTK_MIRRORS = ("https://raw.githubusercontent.com/nltk/nltk_data/gh-pages/packages/corpora",)


class _File(NamedTuple):
    sha256: str  # of the decompressed file
    n_bytes: int  # of the decompressed file


_EWT = {
    "train": _File("3fb78e2b55482c8ee00caa653af436c88c9e5bc9a73ce26e4ae3ddc79d2b7e7b", 14_203_025),
    "dev": _File("531a54ff90d6ab12201c5a50c3e78e6ddac4de69abc4bce5d275d3cd29efe2b6", 1_805_545),
    "test": _File("e266e515a0a7547657ed3d90d9ba46487d6bd251f27ad4269d4e8a427c8555cd", 1_804_515),
}
_PENN = _File("0df483999f1391f32b141d6047d8ce19efd0a5a3e63ca019bfc4af8530f51fbd", 457_429)
_PENN_PARTS = {"train": range(1, 170), "test": range(170, 200)}


def fetch_treebank(
    name: Literal["ewt", "ptb-sample"] = "ewt",
    *,
    subset: Literal["train", "dev", "test"] = "train",
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
) -> Treebank:
    """Load a published treebank of English.

    The files are read from ``$WALD_DATA/ewt`` or ``$WALD_DATA/ptb-sample``, or from the cache, or else downloaded.
    Their content must be bit-identical to the published one.

    Parameters
    ----------
    name : {"ewt", "ptb-sample"}, default="ewt"
        Universal Dependencies English EWT, release 2.16: weblogs, mail, reviews and answers, 12 544, 2 001 and 2 077
        sentences; CC BY-SA 4.0. Or the 5 % sample of the Penn Treebank that NLTK distributes for non-commercial use:
        199 files of the Wall Street Journal with words, XPOS and heads only. Files 1 to 169 train and 170 to 199 test;
        this is not the standard split of that treebank.
    subset : {"train", "dev", "test"}, default="train"
        The part to load; the sample has no ``"dev"``.
    data_home : path-like, optional
        The cache folder; ``wald`` in scikit-learn's data folder by default.
    download_if_missing : bool, default=True
        Raise ``FileNotFoundError`` instead of downloading when False.

    Returns
    -------
    Treebank

    Notes
    -----
    N. Silveira et al., "A gold standard dependency corpus for English", LREC 2014. M. Marcus, B. Santorini and
    M. A. Marcinkiewicz, Computational Linguistics 19 (2), 1993.

    Examples
    --------
    >>> from wald.datasets import fetch_treebank
    >>> fetch_treebank("ewt", subset="test")  # doctest: +SKIP
    <Treebank: 2077 sentences, 25094 words>
    """
    if name not in ("ewt", "ptb-sample"):
        raise ValueError(f"name must be 'ewt' or 'ptb-sample'. Got {name!r}.")
    parts = _EWT if name == "ewt" else _PENN_PARTS
    if subset not in parts:
        raise ValueError(f"subset of {name!r} must be one of {tuple(parts)}. Got {subset!r}.")
    where: dict[str, Any] = {"data_home": data_home, "download_if_missing": download_if_missing}
    if name == "ewt":
        return _fetch_ewt(subset, where)
    archive = obtain(
        "ptb-sample",
        "dependency_treebank.zip",
        partial(published, sha256=_PENN.sha256, n_bytes=_PENN.n_bytes),
        mirrors=_NLTK_MIRRORS,
        max_bytes=_PENN.n_bytes,
        **where,
    )
    with zipfile.ZipFile(io.BytesIO(archive)) as files:
        text = b"\n\n".join(files.read(f"dependency_treebank/wsj_{i:04d}.dp") for i in _PENN_PARTS[subset])
    return _from_dp(text)


def _fetch_ewt(subset: str, where: dict[str, Any]) -> Treebank:
    file = _EWT[subset]
    plain = f"en_ewt-ud-{subset}.conllu"
    read = partial(published, sha256=file.sha256, n_bytes=file.n_bytes)
    try:  # $WALD_DATA may hold it compressed; it is published uncompressed
        text = obtain("ewt", f"{plain}.gz", read, mirrors=(), max_bytes=0, **(where | {"download_if_missing": False}))
    except FileNotFoundError:
        text = obtain("ewt", plain, read, mirrors=_EWT_MIRRORS, max_bytes=file.n_bytes, **where)
    return Treebank(text, name=plain)


def _from_dp(text: bytes) -> Treebank:
    """Convert NLTK's format (word, tag and head per line, empty lines between sentences) to CoNLL-U."""
    lines = []
    for sentence in text.decode("ascii").split("\n\n"):
        for i, word in enumerate(filter(None, sentence.split("\n")), 1):
            form, tag, head = word.split("\t")
            lines.append(f"{i}\t{form}\t_\t_\t{tag}\t_\t{head}\t_\t_\t_\n")
        if sentence.strip("\n"):
            lines.append("\n")
    return Treebank("".join(lines).encode(), name="dependency_treebank.zip")


def make_trees(n_sentences: int = 100, *, random_state: Any = None) -> Treebank:
    """Make up a small treebank with a grammar that can be learned.

    Sentences consist of noun phrases with determiners and adjectives, verbs with or without an object, and
    prepositional phrases. A prepositional phrase depends on the verb, except after certain nouns, on which it depends.

    Parameters
    ----------
    n_sentences : int, default=100
        Number of sentences.
    random_state : int, RandomState or None, default=None
        Determines the sentences.

    Returns
    -------
    Treebank
        Projective trees with one root, UPOS, XPOS and relations.

    Examples
    --------
    >>> from wald.datasets import make_trees
    >>> make_trees(3, random_state=0)
    <Treebank: 3 sentences, ... words>
    """
    random = check_random_state(random_state)
    return Treebank.from_words(_sentence(random) for _ in range(n_sentences))


_ADJECTIVES, _PREPOSITIONS = ("old", "small", "green", "quick"), ("in", "near", "under", "with")
_NOUNS = ("dog", "tree", "child", "car", "road", "house")
_VERBS = {"sees": True, "likes": True, "finds": True, "sleeps": False, "waits": False}  # with an object or without
_HOLDS_PHRASE = {"house", "tree", "road"}  # a phrase after these nouns depends on them


def _sentence(random: np.random.RandomState) -> list[tuple[str, str, str, int, str]]:
    words: list[list[Any]] = []

    def add(form: str, upos: str, xpos: str, relation: str) -> int:
        words.append([form, upos, xpos, 0, relation])
        return len(words)

    def noun_phrase(relation: str) -> int:
        before = [add(random.choice(["the", "a"]), "DET", "DT", "det")]
        before += [add(random.choice(_ADJECTIVES), "ADJ", "JJ", "amod") for _ in range(random.randint(3))]
        noun = add(random.choice(_NOUNS), "NOUN", "NN", relation)
        for word in before:
            words[word - 1][3] = noun
        return noun

    subject = noun_phrase("nsubj")
    verb = add(str(random.choice(list(_VERBS))), "VERB", "VBZ", "root")
    words[subject - 1][3] = verb
    last = verb
    if _VERBS[words[verb - 1][0]]:
        last = noun_phrase("obj")
        words[last - 1][3] = verb
    for _ in range(random.randint(3)):
        case = add(random.choice(_PREPOSITIONS), "ADP", "IN", "case")
        on_noun = words[last - 1][0] in _HOLDS_PHRASE
        noun = noun_phrase("nmod" if on_noun else "obl")
        words[case - 1][3], words[noun - 1][3] = noun, last if on_noun else verb
        last = noun
    words[add(".", "PUNCT", ".", "punct") - 1][3] = verb
    return [tuple(word) for word in words]
