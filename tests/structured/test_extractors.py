"""Ready-made extractors, and those that see the context."""

from __future__ import annotations

import pickle
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from wald import Calls
from wald.datasets import make_chains
from wald.structured import ChainClassifier, ExtractionError, FeatureGroup
from wald.structured.extractors import Context, Embeddings, Neighbours, Patterns, Shapes
from wald.structured.names import hashed

X = [["The", "dog", "barks"], ["A", "cat", "sleeps"], ["Dogs", "sleep"], ["The", "cats"]] * 5
Y = [["DET", "NOUN", "VERB"], ["DET", "NOUN", "VERB"], ["NOUN", "VERB"], ["DET", "NOUN"]] * 5


def fitted(*extractors: Any) -> ChainClassifier:
    groups = [FeatureGroup(f"group {i}", extract, cost=1.0) for i, extract in enumerate(extractors)]
    return ChainClassifier(groups, max_iter=8, random_state=0).fit(X, Y)


def lengths(words: list[str]) -> Any:
    return [[float(len(word)), 1.0] for word in words]


def one_by_one(words: list[str]) -> Any:
    for word in words:
        if word == "cat":
            raise KeyError(word)
        yield [1.0]


async def later(words: list[str]) -> Any:
    return lengths(words)


VECTORS = {word: [float(i), 1.0] for i, word in enumerate(["the", "dog", "cat", "barks", "sleeps"])}
COUNTS = CountVectorizer(analyzer="char", ngram_range=(1, 2)).fit([word for words in X for word in words])
GUESS = LogisticRegression().fit(
    COUNTS.transform([word for words in X for word in words]), [label for labels in Y for label in labels]
)


@pytest.mark.parametrize(
    "extract",
    [
        Shapes(),
        Patterns({"title": "^[A-Z]", "verb": "ps$", "third": "ks$", "plural": "gs$"}),
        Embeddings(VECTORS, of=str.lower),
        Neighbours(Shapes(2), (-1, 1)),
        Neighbours(COUNTS.transform),
        Neighbours(COUNTS),
        Neighbours(lengths),
        COUNTS,
        COUNTS.transform,
        lambda words: GUESS.predict_proba(COUNTS.transform(words)),
        lambda words: GUESS.predict(COUNTS.transform(words)),
        lambda words: [len(word) for word in words],
        lambda words: words,
        lambda words: ([word] for word in words),
        lambda words: sparse.coo_array(np.array([float(len(word)) for word in words])),
    ],
)
def test_they_are_groups(extract: Any) -> None:
    model = fitted(Patterns({"title": "^[A-Z]"}), extract)
    alone = [model.predict([words])[0] for words in X[:4]]
    assert model.predict(X[:4]) == alone
    assert model.score(X, Y) > 0.6


def test_neighbours_are_those_of_the_sentence() -> None:
    context = Context(np.array([0, 2]), [["a", "b", "c"]] * 2)
    assert context.at(0) == ["a", "c"]
    numbers = Neighbours(lambda words: [[float(ord(word))] for word in words], (-1, 2))(["a", "c"], context)
    assert numbers.tolist() == [[0.0, float(ord("c"))], [float(ord("b")), 0.0]]
    rows = Neighbours(lambda words: sparse.csr_matrix([[float(ord(word))] for word in words]), (-1, 2))
    np.testing.assert_array_equal(rows(["a", "c"], context).toarray(), numbers)
    lone = Neighbours(lengths)(["a"], Context(np.array([0]), [["a"]]))
    assert lone.tolist() == [[0.0] * 4]  # as many columns as for others
    names = Neighbours(lambda words: [{"word": word} for word in words])(["a"], Context(np.array([0]), [["a", "b"]]))
    rows = hashed([names, [{"-1:(start)": 1.0, "+1:word:b": 1.0}]], lambda i, j: "a part")
    assert (rows[0] != rows[1]).nnz == 0


def test_a_neighbour_of_numbers() -> None:
    numbers, labels = make_chains(40, n_features=3, random_state=0)
    seen: list[Any] = []

    def beside(parts: Any) -> Any:
        seen.append(parts)
        return parts

    groups = [FeatureGroup("own"), FeatureGroup("beside", Neighbours(beside), cost=2.0)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(numbers, labels)
    assert isinstance(seen[0], np.ndarray)
    session = model.open(numbers[:1])
    session.decode(session.state())
    wanted = np.concatenate([numbers[0][:-1], numbers[0][1:]])  # before all but the first, then after all but the last
    np.testing.assert_array_equal(seen[-1], wanted)


def test_context_has_places_and_whole_sentences() -> None:
    seen: list[tuple[Any, Any]] = []

    def watched(words: list[str], context: Context) -> Any:
        for word, place, sentence in zip(words, context.positions, context.sequences, strict=True):
            assert sentence[place] == word
            seen.append((sentence, int(place)))
        return [[f"{place}"] for place in context.positions]

    model = fitted(Shapes(), watched)
    assert sorted(seen) == sorted((words, place) for words in X[:4] for place in range(len(words)))  # equal ones once
    seen.clear()
    model.predict([["The", "dog", "barks"], ["The", "cats", "bark"]])
    assert [place for _, place in seen] == [0, 1, 2]  # of the sentence that is new


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Patterns([]), "needs a dict or list of regular"),
        (lambda: Patterns("a"), "needs a dict or list of regular"),
        (lambda: Embeddings({}), "at least one vector"),
        (lambda: Embeddings([[1.0]]), "needs a mapping from word to vector. Got a list"),
        (lambda: Embeddings({"a": 1.0}), "needs vectors, lists of numbers. Got 1.0"),
        (lambda: Shapes(lambda part: part["word"]), "'affixes' parameter of Shapes must be an integer of at least 0"),  # type: ignore[arg-type]  # refused
        (lambda: Neighbours(lambda parts, context: parts), "list of parts alone"),
        (lambda: Neighbours(later), "plain function"),
        (lambda: Neighbours(Calls(lengths)), "around Neighbours"),
        (lambda: FeatureGroup("shapes", Shapes), r"is a class, Shapes. Give an object of it, as in Shapes\(\)"),
        (lambda: FeatureGroup("shapes", Calls(Shapes)), "is a class, Shapes"),
        (lambda: Neighbours(Shapes), r"of Neighbours is a class, Shapes. Give an object of it, as in Shapes\(\)"),
        (lambda: FeatureGroup("counts", CountVectorizer), "is a class, CountVectorizer"),
        (lambda: FeatureGroup("shapes", Shapes(), cost="1"), "finite, positive number. Got '1'"),
        (lambda: Neighbours(lengths, (0,)), "other than 0"),
        (lambda: Neighbours(lengths, ()), "other than 0"),
        (lambda: FeatureGroup("a", 3), "must be callable, wald.Calls, a fitted"),
    ],
)
def test_bad_parameters(make: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("extract", "message"),
    [
        (
            Shapes(of=len),
            r"'group 0': .* failed on part 0 of sequence 0 .*\('The'\).*Shapes needs texts. Got 3; with of=",
        ),
        (Embeddings({"The": [1.0], "dog": [1.0, 2.0]}), r"vector of 'dog' must have 1 numbers. Got \(2,\)"),
        (CountVectorizer(), "'group 0': .*NotFittedError"),
        (lambda words: None, "'group 0': it answered None, a NoneType, for 9 parts"),
        (lambda words: dict.fromkeys(words, 1), "'group 0': it answered {.*}, a dict, for 9 parts"),
        (one_by_one, r"'group 0': .* failed on part 0 of sequence 0 .*KeyError: 'cat'\.$"),
        (Calls(one_by_one, batch_size=2), r"'group 0': .* failed on part 1 of sequence 1 .*KeyError: 'cat'\. What was"),
        (Calls(one_by_one, timeout=60.0), r"'group 0': .* failed on part 0 of sequence 0 .*KeyError: 'cat'\.$"),
        (lambda words: set(words), "'group 0': it gave a set, which is no list or array, for 9 parts"),
        (lambda words: [1.0, None, *([1.0] * (len(words) - 2))], "Got None for part 1 of sequence 0"),
        (Neighbours(lambda words: [[word] for word in words[1:]]), "must have one row for each of .* neighbours"),
        (Neighbours(lambda words: [[word] for word in [*words, "a"]]), "must have one row for each of .* neighbours"),
        (lambda words: [[1.0] * len(word) for word in words], r"must be numbers, as many for each part.*[^.]\.$"),
    ],
)
def test_errors_of_extractors_name_group_and_part(extract: Any, message: str) -> None:
    with pytest.raises(ExtractionError, match=message):
        fitted(extract)


def test_a_transformer_of_numbers_and_the_models_that_others_have_fitted() -> None:
    numbers, labels = make_chains(40, n_features=4, random_state=0)
    flat, codes = np.concatenate(numbers), np.concatenate(labels)
    guess = LogisticRegression().fit(flat, codes)
    groups = [FeatureGroup("scaled", StandardScaler().fit(flat)), FeatureGroup("guess", guess, cost=1.0)]
    model = ChainClassifier(groups, max_iter=3, random_state=0).fit(numbers, labels)
    assert model._sizes == [4, len(guess.classes_)]
    again = pickle.loads(pickle.dumps(model))
    for one, other in zip(model.predict(numbers), again.predict(numbers), strict=True):
        np.testing.assert_array_equal(one, other)


S = [["the", "dog"], ["cat"]] * 3
T = [["A", "B"], ["B"]] * 3


@pytest.mark.parametrize(
    ("sentences", "message"),
    [
        (["the", "dog"], r"Got the str 'the'. For one sequence, pass \[sequence\]"),
        ([{"word": "the"}], r"Got the dict {'word': 'the'}. For one sequence, pass"),
        (None, "X must be a list of sequences.*Got None"),
        ("the dog", "X must be a list of sequences.*Got 'the dog'"),
        ([*S[:-1], []], "Sequence 5 is empty"),
        ([[[1.0, 2.0], [3.0, 4.0]], *S[1:]], r"part 0 of sequence 0 .*Shapes needs texts. Got \[1.0, 2.0\]"),
        ([pd.DataFrame({"word": text, "n": 1}) for text in S], "Sequence 0 must be a numeric array"),
        ([*S[:-1], pd.DataFrame({"word": ["cat"]})], "Sequence 5 must be a list of parts. Got the DataFrame"),
    ],
)
def test_sentences_that_are_none(sentences: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        ChainClassifier([FeatureGroup("shapes", Shapes())], max_iter=1).fit(sentences, T[: len(sentences or ())])


@pytest.mark.parametrize(
    "sentence",
    [[[1.0], "the"], ["the", [1.0]], [[], (1, 2)], [(1, 2), (3,)], [np.ones(2), "the"], [{"word": "the"}, [1]]],
)
def test_lists_of_numbers_among_other_parts_are_parts_wherever_they_stand(sentence: Any) -> None:
    for sentences in ([sentence, *S[1:]], [*S[:-2], sentence, S[-1]], [sentence, ["cat"]] * 3):
        seen: list[Any] = []
        group = FeatureGroup("text", lambda parts, seen=seen: seen.extend(parts) or [[str(part)] for part in parts])
        model = ChainClassifier([group], max_iter=1, random_state=0).fit(sentences, T)
        assert {type(part) for part in sentence} <= {type(part) for part in seen}
        assert model.predict_one(sentence) == model.predict([sentence])[0]
        n = group.counts.rows
        model.predict([[part] for part in sentence])  # alone, too
        assert group.counts.rows == n


def test_a_numeric_frame_is_an_array() -> None:
    numbers, labels = make_chains(40, n_features=4, random_state=0)
    group = FeatureGroup("half", lambda parts: parts[:, ::2])
    frames = [pd.DataFrame(rows) for rows in numbers]
    found = ChainClassifier([group], max_iter=3, random_state=0).fit(frames, labels).predict(frames)
    for one, other in zip(
        found, ChainClassifier([group], max_iter=3, random_state=0).fit(numbers, labels).predict(numbers), strict=True
    ):
        np.testing.assert_array_equal(one, other)


class Place(NamedTuple):
    page: int
    line: float


def test_parts_of_any_kind() -> None:
    kinds: list[Any] = [
        [[3, 4], [5]] * 3,
        [np.array(text) for text in S],
        [iter(text) for text in S],
        [[("the", 1), ("dog", 2)], [("cat", 3)]] * 3,
        [[np.ones((2, 2)), np.zeros((2, 2))], [np.zeros((2, 2))]] * 3,
        [[Place(3, 4.0), Place(5, 6.0)], [Place(7, 8.0)]] * 3,
    ]
    for sentences in kinds:
        seen: list[Any] = []
        group = FeatureGroup("text", lambda parts, seen=seen: seen.extend(parts) or [[str(part)] for part in parts])
        ChainClassifier([group], max_iter=1, random_state=0).fit(sentences, T)
        assert 2 <= len(seen) <= 3
        assert not isinstance(sentences[0], list) or {type(part) for part in seen} == {type(sentences[0][0])}
    with pytest.raises(TypeError, match=r"Got the text 'the'.* Or give group 'raw' an extractor, a function"):
        ChainClassifier([FeatureGroup("raw"), FeatureGroup("shapes", Shapes())], max_iter=1).fit(S, T)
