"""The structured models and their examples: handwritten words, parsed sentences, tagged sentences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wald.datasets import fetch_ocr, fetch_treebank
from wald.structured import HOG, ChainClassifier, DependencyParser, FeatureGroup

from .._common import Record
from .neighbours import Neighbours, Tokens, forms_of, one_hot

#: Draws the examples of a quick run, and the parts of test sentences.
_SEED = 16020
#: Examples of a quick run, to train and to test.
_QUICK = 400, 200
#: Sentences that the tagger learns from.
_TAGGED = 4000


@dataclass(frozen=True, eq=False)
class Split:
    """A model to be learned, with its training and test examples.

    Attributes
    ----------
    data : str
    seed : int
        The first of ``seeds``.
    model : StructuredModel
        Not fitted.
    X, y, X_test, y_test
        Examples as the model takes them, and their true answers.
    seeds : int64 ndarray of shape (n_test,)
        Which figure a test example goes into: its rotation, or a part of the test sentences.
    groups : ndarray of shape (n_train,) or None
        Training examples that stay in one fold when predictions are cross-fitted.
    """

    data: str
    seed: int
    model: Any
    X: Any
    y: Any
    X_test: Any
    y_test: Any
    seeds: NDArray[np.int64]
    groups: NDArray[Any] | None = None


class Source(NamedTuple):
    """A loader of splits.

    Attributes
    ----------
    load : callable
        load(seed, n_seeds, quick) returns a split.
    rotates : bool
        Whether every seed has its own split, with other test examples. Otherwise all seeds share one split, whose test
        examples are divided among them.
    part, parts : str
        Name of a part, singular and plural.
    answer : str
        Name of the answer that is right or wrong.
    description : str
    """

    load: Callable[[int, int, bool], Split]
    rotates: bool
    part: str
    parts: str
    answer: str
    description: str


def ocr(seed: int, seeds: int, quick: bool) -> Split:
    """Handwritten words; fold ``seed`` tests, the others train. Most test words were seen in other hands."""
    words: Any = fetch_ocr()
    test = words.fold == seed % 10
    return _letters("OCR", seed, words, np.flatnonzero(~test), np.flatnonzero(test), quick)


def new_words(seed: int, seeds: int, quick: bool) -> Split:
    """Handwritten words; those of every fifth spelling test. Predictions are cross-fitted by spelling, too."""
    words: Any = fetch_ocr()
    _, spelling = np.unique(["".join(word) for word in words.target], return_inverse=True)
    order = np.random.default_rng(_SEED).permutation(spelling.max() + 1)
    test = order[spelling] % 5 == 0
    split = _letters("OCR, new words", seed, words, np.flatnonzero(~test), np.flatnonzero(test), quick)
    spelt = np.array(["".join(word) for word in split.y])
    return replace(split, seeds=parts_of_tests(len(split.X_test), seeds), groups=spelt)


def _letters(data: str, seed: int, words: Any, train: NDArray[np.intp], test: NDArray[np.intp], quick: bool) -> Split:
    if quick:
        rng = np.random.default_rng([_SEED, seed])
        train, test = rng.permutation(train)[: 2 * _QUICK[0]], rng.permutation(test)[: _QUICK[1]]
    groups = [FeatureGroup("pixels"), FeatureGroup("HOG", HOG(words.image_shape))]
    model = ChainClassifier(groups, max_iter=15 if quick else 60, random_state=seed)
    X, y, X_test, y_test = ([v[i] for i in which] for which in (train, test) for v in (words.data, words.target))
    return Split(data, seed, model, X, y, X_test, y_test, np.full(len(test), seed))


def parsing(name: str, treebank: str, group_by: str) -> Callable[[int, int, bool], Split]:
    """Sentences of a treebank, to be parsed; costly features belong to modifiers or to heads."""

    def load(seed: int, seeds: int, quick: bool) -> Split:
        train, test = (sentences(treebank, subset, quick) for subset in ("train", "test"))
        size: dict[str, Any] = {"max_iter": 4, "table_bits": 18} if quick else {}
        model = DependencyParser(states="random", relations=False, group_by=group_by, random_state=seed, **size)
        return Split(name, seed, model, train, train, test, test, parts_of_tests(len(test), seeds))

    return load


def tagging(seed: int, seeds: int, quick: bool) -> Split:
    """Sentences of EWT, to be tagged; costly features come from a second model."""
    train, test = (sentences("ewt", subset, quick) for subset in ("train", "test"))
    if not quick:
        train = train[np.sort(np.random.default_rng(_SEED).permutation(len(train))[:_TAGGED])]
    forms = forms_of(train, test)
    X, y = forms.sentences[: len(train)], forms.tags[: len(train)]
    second = Neighbours(Tokens(X, y), forms.spelling).remember(X, forms.sentences[len(train) :])
    groups = [FeatureGroup("form", one_hot), FeatureGroup("nearest tokens", second)]
    model = ChainClassifier(groups, max_iter=10 if quick else 20, margin=4.0, random_state=seed)
    X_test, y_test = forms.sentences[len(train) :], forms.tags[len(train) :]
    return Split("EWT tags", seed, model, X, y, X_test, y_test, parts_of_tests(len(test), seeds))


def sentences(treebank: Any, subset: Any, quick: bool) -> Any:
    """Sentences of a treebank; some of them for a quick run."""
    bank = fetch_treebank(treebank, subset=subset)
    if not quick:
        return bank
    order = np.random.default_rng([_SEED, len(bank)]).permutation(len(bank))
    return bank[np.sort(order[: _QUICK[0] if subset == "train" else _QUICK[1]])]


def parts_of_tests(n_examples: int, seeds: int) -> NDArray[np.int64]:
    """Cut test examples at random into as many parts of the same size."""
    return np.random.default_rng(_SEED).permutation(np.arange(n_examples) % seeds)


SOURCES: dict[str, Source] = {
    "OCR": Source(
        ocr,
        True,
        "letter",
        "letters",
        "letter",
        "handwritten words of the MIT Spoken Language Systems group, letters of 16×8 pixels, a linear chain; cheap: "
        "the pixels, costly: HOG with cells of 3×3",
    ),
    "OCR, new words": Source(
        new_words,
        False,
        "letter",
        "letters",
        "letter",
        "the same, but every fifth spelling tests, and none of its words trains: what is left where words repeat no "
        "longer",
    ),
    "EWT": Source(
        parsing("EWT", "ewt", "modifier"),
        False,
        "word",
        "words",
        "head",
        "Universal Dependencies English EWT, gold tags, an arc-factored parser (Eisner); cheap: tags, costly: "
        "templates over word forms, suffixes, neighbours and what lies between, of the arcs that a word is the "
        "modifier of",
    ),
    "Penn sample": Source(
        parsing("Penn sample", "ptb-sample", "modifier"),
        False,
        "word",
        "words",
        "head",
        "the 5 % sample of the Penn Treebank that NLTK distributes, files 1 to 169 to train and 170 to 199 to test, in "
        "place of sections 02–22 and 23; the same parser",
    ),
    "Penn sample, by head": Source(
        parsing("Penn sample, by head", "ptb-sample", "head"),
        False,
        "word",
        "words",
        "head",
        "the same, with costly features for the arcs that a word is the head of, as the paper has it",
    ),
    "EWT tags": Source(
        tagging,
        False,
        "word",
        "words",
        "tag",
        "UPOS tags of EWT, a linear chain; cheap: the word's form, costly: what a second model says, the tags of the "
        "training tokens that are most alike in spelling and neighbours",
    ),
}


def splits_of(data: str, seeds: int) -> list[int]:
    """Seeds whose splits a data set needs."""
    return list(range(seeds)) if SOURCES[data].rotates else [0]


def describe(split: Split) -> Record:
    """Sizes, as a line of a table."""

    def n_parts(y: Any) -> int:
        return int(y.n_words) if hasattr(y, "n_words") else sum(len(labels) for labels in y)

    return {
        "data": split.data,
        "seed": split.seed,
        "train_examples": len(split.X),
        "train_parts": n_parts(split.y),
        "test_examples": len(split.X_test),
        "test_parts": n_parts(split.y_test),
    }


def right_by_seed(right: NDArray[np.bool_], offsets: ArrayLike, seeds: NDArray[np.int64]) -> dict[int, tuple[int, int]]:
    """Right parts and all parts, of the examples of every seed."""
    own = np.repeat(seeds, np.diff(np.asarray(offsets)))
    return {int(s): (int(np.count_nonzero(right[own == s])), int(np.count_nonzero(own == s))) for s in np.unique(seeds)}
