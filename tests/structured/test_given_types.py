"""Labels and words are answered as they were given, or refused: none becomes a text on the way."""

from __future__ import annotations

import enum
import pickle
from typing import Any

import numpy as np
import pytest

import wald
from wald.structured import ChainClassifier, Treebank

X = [[["a"], ["b"]], [["b"], ["a"]]] * 10


class Tag(str, enum.Enum):  # noqa: UP042  # str() of its members is not their text
    FIRST, SECOND = "x", "y"


def fitted(a: Any, b: Any, rows: Any = X) -> ChainClassifier:
    return ChainClassifier(max_iter=3, random_state=0).fit(rows, [[a, b], [b, a]] * 10)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("O", 1),
        (1, "O"),
        ("O", None),
        ("O", b"O"),
        ("True", True),
        (True, 2),
        (1, 2.5),
        ("O", ["O"]),
        ("O", float("nan")),
        (("a", "b"), ("c", "d")),
        (None, None),
        ({"a": 1}, {"b": 1}),
        ("a", "a\0"),
        (b"a", b"a\0"),
        (-1, 2**63),
        (0, 2**64),
        (enum.Enum("Other", "P Q").P, enum.Enum("Other", "P Q").Q),  # type: ignore[attr-defined]
    ],
)
def test_labels_that_would_not_come_back_are_refused(a: Any, b: Any) -> None:
    with pytest.raises(ValueError, match=r"[Ll]abel|y must|classes"):
        fitted(a, b)
    with pytest.raises(ValueError, match=r"[Ll]abel|y must|classes"):
        ChainClassifier(random_state=0).partial_fit(X, [["O", "P"]] * 20, classes=[a, b])


def test_types_that_differ_between_sequences_are_refused() -> None:
    """The message has both labels, their types, and where they stand."""
    for y in ([["O", "P"], [1, 0]], [np.array(["O", "P"]), np.array([b"O", b"P"])], [np.array([0, 1]), [True, False]]):
        with pytest.raises(ValueError, match=r"one type.* in sequence 0 and .* in sequence 1"):
            ChainClassifier(max_iter=3, random_state=0).fit(X, y * 10)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("O", "P"),
        (np.str_("O"), "P"),
        (b"O", b"P"),
        (True, False),
        (0, 7),
        (np.int32(3), 4),
        (2**63, 2**64 - 1),
        (0.5, 2.0),
        (Tag.FIRST, Tag.SECOND),
        (np.datetime64("2026-01-01"), np.datetime64("2026-01-02")),
    ],
)
def test_labels_of_one_type_come_back(a: Any, b: Any, tmp_path: Any) -> None:
    model = fitted(a, b)
    truth = [[a, b], [b, a]]
    for other in (model, pickle.loads(pickle.dumps(model))):
        assert other.predict(X[:2]) == truth
        assert other.score(X[:2], truth) == 1
        assert other.best_paths(X[:2], 1)[0] == [[row] for row in truth]
    if not isinstance(a, bytes | np.datetime64):  # files hold strings and numbers
        wald.save(model, tmp_path / "chain.wald")
        assert wald.load(tmp_path / "chain.wald").predict(X[:2]) == truth


def test_truth_of_another_type_than_the_classes_is_refused() -> None:
    model = fitted("0", "1")
    for call in (model.score, lambda rows, y: model.open(rows).codes(y), model.partial_fit):
        with pytest.raises(ValueError, match=r"labels of the type of the classes, such as '0'. Got 0, an int"):
            call(X[:1], [[0, 1]])


def test_a_text_is_no_sequence_of_labels() -> None:
    with pytest.raises(ValueError, match=r"one for each part. Got 'OP' for sequence 0"):
        ChainClassifier(max_iter=3).fit(X, ["OP"] * 20)


def test_what_is_not_given_of_a_word_is_an_underscore() -> None:
    bank = Treebank.from_words([[("Hi", None, None, None, None), (np.str_("you"), "PRON", None, np.int64(0), "root")]])
    assert (bank[0].upos, bank[0].xpos, bank[0].heads, bank[0].deprels) == (
        ["_", "PRON"],
        ["_", "_"],
        [-1, 0],
        ["_", "root"],
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ({"form": "Hi", "upos": "INTJ", "xpos": "UH"}, "Got dict in word 2 of sentence 1"),
        ({"Hi", "INTJ", "UH"}, "Got set in word 2"),
        (b"Hi!", "Got bytes in word 2"),
        ("Hi!", "Got the text 'Hi!' in word 2"),
        ((None, "INTJ", "UH"), "the form of word 2 of sentence 1 must be a string. Got None"),
        (("Hi", b"INTJ", "UH"), "the upos of word 2 of sentence 1 must be a string or None. Got b'INTJ'"),
        (("Hi", "INTJ", 3), "the xpos of word 2"),
        (("Hi", ["INTJ"], "UH"), "the upos of word 2"),
        (("Hi", "INTJ", "UH", True, "root"), "the head of word 2 of sentence 1 must be an integer or None. Got True"),
        (("Hi", "INTJ", "UH", 0.0, "root"), "the head of word 2"),
        (("Hi", "INTJ", "UH", 0, float("nan")), "the deprel of word 2"),
    ],
)
def test_words_that_would_become_other_texts_are_refused(word: Any, message: str) -> None:
    first = ("Hi", "INTJ", "UH", 0, "root")[: 5 if len(word) == 5 else 3]
    with pytest.raises((ValueError, TypeError), match=message):
        Treebank.from_words([[first], [first, word]])


def test_a_sentence_that_is_no_list_is_refused() -> None:
    for sentence in ("Hi", {"Hi": 1}, {("Hi", "INTJ", "UH")}, 3):
        with pytest.raises(TypeError, match="sentence 0 must be a list"):
            Treebank.from_words([sentence])


@pytest.mark.parametrize("given", ["the", {"word": "the"}, [[{"word": "the"}]], [[["the"]]], np.arange(2), None, 3])
def test_predict_one_does_not_advise_what_it_refuses(given: Any) -> None:
    X, y = [[{"word": "the"}, {"word": "dog"}]] * 10, [["DET", "NOUN"]] * 10
    model = ChainClassifier(max_iter=2, random_state=0).fit(X, y)
    with pytest.raises((TypeError, ValueError), match="predict_one takes one sequence, a list of parts") as refused:
        model.predict_one(given)
    assert "pass [sequence]" not in str(refused.value)
