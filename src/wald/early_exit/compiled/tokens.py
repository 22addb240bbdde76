"""What the score of a text is a sum of: its tokens, and what they say of the words that they lie in."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import FeatureHasher
from sklearn.pipeline import FeatureUnion, Pipeline

from ...models import AdditiveModel
from ...sources import Source
from ...sources.texts import texts_of
from ...steps.vectorizer_unions import VectorizerUnion
from ...steps.vectorizers import Vectorizer, read_vectorizer
from .parts import Order, Part, _stages_of
from .token_places import TokenPlaces

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: No word has so many characters.
LONGEST = 1 << 30


@dataclass(frozen=True, eq=False)
class Passage:
    """A piece of a text: a word, or what lies between words.

    Attributes
    ----------
    text : str
    adds : float64 ndarray of shape (n_scores,) or None
        What the tokens in the word add to each score: what a token adds is divided among its places in the text, and
        there among the words that it covers, by their letters. None where there is no token that the model knows.
    stage : int
        The stage at which it is read, as in `Part`.
    """

    text: str
    adds: Floats | None
    stage: int


@dataclass(frozen=True, eq=False)
class _Reader:
    """A vectorizer, its steps of scikit-learn, what stands before the names of its tokens, and its first column."""

    vectorizer: Vectorizer
    steps: Sequence[Any]
    prefix: str
    start: int


def text_of(model: AdditiveModel, source: Source) -> str | bytes | None:
    """The text of a row whose parts are tokens; None for other rows."""
    known = model.texts is not None and isinstance(model.texts.vectorizer, Vectorizer | VectorizerUnion)
    texts = texts_of(source) if known else None
    return texts[0] if texts is not None and isinstance(texts[0], str | bytes) else None


def tokens_of(model: AdditiveModel, text: str | bytes, order: Order) -> tuple[tuple[Part, ...], tuple[Passage, ...]]:
    """One part for each token of the vocabulary, in the order in which it is read; and the text in pieces.

    Hashed tokens may share a part.

    Parameters
    ----------
    model : AdditiveModel
        Of texts.
    text : str or bytes
    order : Order
    """
    parts: list[Part] = []
    found = []
    for reader in _readers(model):
        own, tokens = _read(model, reader, text, order)
        parts += own
        found.append(tokens)
    return tuple(sorted(parts, key=lambda part: part.stage)), _passages(found)


def _readers(model: AdditiveModel) -> Iterator[_Reader]:
    """The vectorizers of a model; those of a union with the names that the union gives them."""
    assert model.preprocessing is not None
    assert model.texts is not None
    steps, vectorizer = [step for _, step in model.preprocessing.steps], model.texts.vectorizer
    if isinstance(vectorizer, Vectorizer):
        yield _Reader(vectorizer, steps, "", 0)
    elif isinstance(vectorizer, VectorizerUnion) and isinstance(steps[0], FeatureUnion):
        start, named = 0, [(n, part) for n, part in steps[0].transformer_list if part is not None and part != "drop"]
        for (name, part), read in zip(named, vectorizer.parts, strict=True):
            yield _Reader(read.vectorizer, list(_single_steps(part)), f"{name}: ", start)
            start += read.vectorizer.n_features


def _single_steps(part: Any) -> Iterator[Any]:
    """The steps of a transformer, which may be a pipeline of pipelines."""
    if not isinstance(part, Pipeline):
        yield part
        return
    for _, step in part.steps:
        if step is not None and step != "passthrough":
            yield from _single_steps(step)


@dataclass(frozen=True, eq=False)
class _Tokens:
    """The tokens of one vectorizer that the model knows, wherever they stand, and what each place adds."""

    places: TokenPlaces
    spans: Ints
    adds: Floats
    stages: NDArray[np.intp]
    word_stages: NDArray[np.intp] | None


def _read(model: AdditiveModel, reader: _Reader, text: str | bytes, order: Order) -> tuple[list[Part], _Tokens]:
    """The parts of one vectorizer in the order of the text, and the places of its tokens."""
    assert model.texts is not None
    vectorizer, first_step = reader.vectorizer, reader.steps[0]
    coef = model.texts.terms.coef
    written = _written(reader, text)
    tokens, places = first_step.build_analyzer()(text), TokenPlaces.of(first_step, text)
    # of a plan that reads single columns
    by_column = order.looks is None and len(order.stage) == model.texts.vectorizer.n_features
    reads = _stages_of(first_step, text, order)
    words: dict[int, dict[str, int]] = {}
    stages: dict[int, int] = {}
    known = [(i, c) for i, c in enumerate(_columns_of(vectorizer, tokens)) if c in written]
    for i, column in known:
        stage = int(order.stage[reader.start + column]) if by_column else order.last if reads is None else int(reads[i])
        stages[column] = min(stage, stages.get(column, order.last))
        counts = words.setdefault(column, {})
        counts[tokens[i]] = counts.get(tokens[i], 0) + 1
    adds = {c: coef[:, reader.start + c] * (written[c] * vectorizer.weight) for c in words}
    parts = []
    for column, counts in words.items():
        n = sum(counts.values())
        title = reader.prefix + " and ".join(map(repr, counts)) + (f", {n} times" if n > 1 else "")
        parts.append(Part(reader.prefix + ", ".join(counts), n, adds[column], stages[column], title))
    each = [adds[c] / sum(words[c].values()) for _, c in known]
    return parts, _Tokens(
        places,
        places.tokens[[i for i, _ in known]],
        np.array(each).reshape(len(known), len(coef)),
        np.array([stages[c] if reads is None else int(reads[i]) for i, c in known], dtype=np.intp),
        _stages_of_words(first_step, places, text, order),
    )


def _stages_of_words(vectorizer: Any, places: TokenPlaces, text: str | bytes, order: Order) -> NDArray[np.intp] | None:
    """The stage that reads each word of a text that is read in parts, whether the model knows it or not."""
    one = copy.copy(vectorizer)
    if vectorizer.analyzer == "word":
        return _stages_of(one.set_params(ngram_range=(1, 1), stop_words=None), text, order)
    if vectorizer.analyzer == "char_wb":  # of slices longer than any word, there is one for each
        return _stages_of(one.set_params(ngram_range=(LONGEST, LONGEST)), text, order)
    stages = _stages_of(one.set_params(ngram_range=(1, 1)), text, order)
    if stages is None:
        return None
    return np.array([stages[begin:end].max() for begin, end in places.word_characters.tolist()], dtype=np.intp)


def _written(reader: _Reader, text: str | bytes) -> dict[int, float]:
    """The columns that are not zero, as the vectorizer and the weighting behind it write them."""
    read = read_vectorizer(reader.steps)
    assert read is not None
    row: Any = [text]
    for step in reader.steps[: read[1]]:
        row = step.transform(row)
    row = row.tocsr()
    return dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))


def _columns_of(vectorizer: Vectorizer, tokens: Sequence[str]) -> list[int]:
    """Column of each token; -1 where the vocabulary lacks it."""
    if vectorizer.vocabulary is not None:
        assert vectorizer.ids is not None
        known = dict(zip(vectorizer.vocabulary, vectorizer.ids.tolist(), strict=True))
        return [known.get(token, -1) for token in tokens]
    hashed = FeatureHasher(vectorizer.n_features, input_type="string", alternate_sign=False)
    rows = hashed.transform([[token] for token in tokens]) if tokens else None
    return [] if rows is None else [int(i) for i in rows.indices]


# ---- the text in pieces --------------------------------------------------------------------------------------------


def _passages(found: Sequence[_Tokens]) -> tuple[Passage, ...]:
    """Words and what lies between them, in the order of the text; empty where vectorizers read it differently."""
    text = found[0].places.text
    if any(tokens.places.text != text for tokens in found):
        return ()
    words, stages = _words(found)
    total, covered, earliest = _shares(found, text, words)
    if stages is None:  # a word is read with the first of its tokens
        stages = earliest
    pieces: list[Passage] = []
    at = 0
    for i, (begin, end) in enumerate(words.tolist()):
        if begin > at:
            pieces.append(Passage(text[at:begin], None, int(stages[i])))
        pieces.append(Passage(text[begin:end], total[:, i] if covered[i] else None, int(stages[i])))
        at = end
    if at < len(text):
        pieces.append(Passage(text[at:], None, int(stages[-1]) if len(stages) else 0))
    return tuple(pieces)


def _words(found: Sequence[_Tokens]) -> tuple[Ints, NDArray[np.intp] | None]:
    """The words of all vectorizers, those that overlap as one, and their stages where these go by places."""
    spans = np.concatenate([tokens.places.words for tokens in found])
    staged = [tokens.word_stages for tokens in found if tokens.word_stages is not None]
    stage = np.concatenate(staged) if staged else None
    keep = spans[:, 1] > spans[:, 0]
    order = np.lexsort((spans[keep, 1], spans[keep, 0]))
    spans = spans[keep][order]
    if not len(spans):
        return spans, None if stage is None else stage[:0]
    reach = np.maximum.accumulate(spans[:, 1])
    begins = np.flatnonzero(np.append(True, spans[1:, 0] >= reach[:-1]))
    merged = np.column_stack([spans[begins, 0], np.maximum.reduceat(spans[:, 1], begins)])
    return merged, None if stage is None else np.maximum.reduceat(stage[keep][order], begins)


def _shares(found: Sequence[_Tokens], text: str, words: Ints) -> tuple[Floats, NDArray[np.bool_], NDArray[np.intp]]:
    """What tokens add to each word, whether there are any in it, and the stage of the first."""
    n_scores = found[0].adds.shape[1]
    inside = np.zeros(len(text) + 1, dtype=np.int64)
    for begin, end in words.tolist():
        inside[begin + 1 : end + 1] = 1
    letters = np.cumsum(inside)  # letters of words before each character
    total, count = np.zeros((n_scores, len(words))), np.zeros(len(words), dtype=np.int64)
    first = np.full(len(words), np.iinfo(np.intp).max)
    for tokens in found:
        for (begin, end), adds, stage in zip(tokens.spans.tolist(), tokens.adds, tokens.stages.tolist(), strict=True):
            n = int(letters[max(begin, end)] - letters[begin])
            if n == 0:  # of blanks alone
                continue
            own = int(np.searchsorted(words[:, 1], begin, side="right"))
            while own < len(words) and words[own, 0] < end:
                share = min(end, words[own, 1]) - max(begin, words[own, 0])
                total[:, own] += adds * (share / n)
                count[own] += 1
                first[own] = min(first[own], stage)
                own += 1
    return total, count > 0, np.where(count > 0, first, 0)
