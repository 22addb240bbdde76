"""Sequences and labels that can be read only once, and input that is refused with words that say why."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest

from wald.structured import (
    BudgetedPredictor,
    ChainClassifier,
    DependencyParser,
    ExtractionError,
    FeatureGroup,
    TextPipeline,
    WordTagger,
)
from wald.structured.extractors import Context
from wald.structured.kept import keys_of_places
from wald.structured.policies import IteratedPolicy, OneShotPolicy

WORDS = ["the", "dog", "barks", "loud", "a", "cat"]
X = [[WORDS[(i + j) % 6] for j in range(1 + i % 5)] for i in range(40)]
Y = [[word[-1] for word in sentence] for sentence in X]
NAMED = [[{"word": word} for word in sentence] for sentence in X]


def once(items: Any) -> Iterator[Iterator[Any]]:
    return (iter(item) for item in items)


def groups(costly: Callable[..., Any]) -> list[FeatureGroup]:
    first = FeatureGroup("first", lambda words: [word[0] for word in words], cost=1.0)
    return [first, FeatureGroup("costly", costly, cost=5.0)]


def lasts(words: list[str]) -> list[str]:
    return [word[-1] for word in words]


def test_labels_of_generators_are_those_of_lists() -> None:
    model = ChainClassifier(max_iter=3, random_state=0).fit(NAMED, Y)
    wanted = model.predict(NAMED)
    assert isinstance(wanted[0], list)
    for given in (once(Y), iter(Y), [iter(labels) for labels in Y]):
        assert ChainClassifier(max_iter=3, random_state=0).fit(once(NAMED), given).predict(once(NAMED)) == wanted
    part = ChainClassifier(random_state=0).partial_fit(NAMED, Y, sorted(set("".join(WORDS))))
    other = ChainClassifier(random_state=0).partial_fit(once(NAMED), once(Y), sorted(set("".join(WORDS))))
    assert other.predict(NAMED) == part.predict(NAMED)
    assert model.score(once(NAMED), once(Y)) == model.score(NAMED, Y)


def test_lists_of_other_types_are_lists() -> None:
    model = ChainClassifier(max_iter=3, random_state=0).fit(NAMED, Y)
    for kind in (deque, pd.Series, UserList):
        assert model.predict([kind(sentence) for sentence in NAMED]) == model.predict(NAMED)
        assert model.predict_one(kind(NAMED[3])) == model.predict_one(NAMED[3])


@pytest.mark.parametrize("nothing", [None, 3])
def test_sentences_that_are_none(nothing: Any) -> None:
    for estimator in (DependencyParser(), TextPipeline(), WordTagger()):
        with pytest.raises(TypeError, match=f"entences must be .*lists of words.* Got {nothing}"):
            estimator.fit(nothing)


def test_policies_and_predictors_read_generators_once() -> None:
    model = ChainClassifier(groups(lasts), max_iter=2, random_state=0).fit(X, Y)
    policy = IteratedPolicy(max_iter=2, cv=2, random_state=0).fit(model, X, Y)
    other = IteratedPolicy(max_iter=2, cv=2, random_state=0).fit(model, once(X), once(Y))
    for how in ({"budget": 3.0}, {"risk": 0.4, "loss": "gap", "random_state": 0}):
        fast = BudgetedPredictor(model, policy, **how).fit(X, Y)
        again = BudgetedPredictor(model, other, **how).fit(once(X), once(Y))
        assert (again.threshold_, again.mean_cost_) == (fast.threshold_, fast.mean_cost_)
    with pytest.raises(ValueError, match=r"y must hold the answers of 40 examples\. Got 39\."):
        IteratedPolicy(cv=2).fit(model, X, Y[:-1])


def test_a_policy_whose_fit_fails_is_not_fitted() -> None:
    model = ChainClassifier(groups(lasts), max_iter=2, random_state=0).fit(X, Y)
    policy = OneShotPolicy(tradeoff=1e9, cv=2, random_state=0)
    with pytest.raises(ValueError, match="No pseudo-label separates"):
        policy.fit(model, X, Y)
    with pytest.raises(ValueError, match="not fitted"):
        BudgetedPredictor(model, policy, budget=3.0).fit(X)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, r"y must hold the labels of each sequence\. Got None, a NoneType"),
        (3, r"Got 3, an int"),
        ("abc", r"Got 'abc', a str"),
        ([np.array(["NaT"] * len(labels), dtype="M8[D]") for labels in Y], "must not hold NaT"),
        ([np.full(len(labels), complex(np.nan, 1)) for labels in Y], "must not hold NaN"),
    ],
)
def test_labels_that_are_none(y: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ChainClassifier(max_iter=1).fit(NAMED, y)


def test_what_holds_itself_is_refused() -> None:
    part: dict[str, Any] = {}
    part["inner"] = part
    deep: Any = "x"
    for _ in range(100_000):
        deep = {"a": deep}
    model = ChainClassifier(max_iter=1, random_state=0).fit(NAMED, Y)
    for odd in (part, deep):
        for ask, given in ((model.predict, [[{"a": 1}, odd]]), (model.predict_one, [{"a": 1}, odd])):
            with pytest.raises(ValueError, match=r"^Part 1 of sequence 0: Features must not be nested so deeply"):
                ask(given)
    while isinstance(deep, dict):  # taken apart here, since the interpreter would by recursion
        deep = deep.popitem()[1]


@pytest.mark.parametrize("number", [1.0, True, np.float32(2), [1.0, 2.0]])
def test_texts_among_numbers_are_refused(number: Any) -> None:
    """NumPy makes texts of numbers beside texts, and texts are names of features."""
    text = ["a", 1.0] if isinstance(number, list) else "a"
    model = ChainClassifier(groups(lambda words: [text if word == "barks" else number for word in words]))
    with pytest.raises(ExtractionError, match=r"must be numbers.*Got 'a' for part 1 of sequence 1\.$"):
        model.fit(X, Y)


def test_arrays_may_be_awaited() -> None:
    arrays = [np.array([[float(len(word)), 1.0] for word in sentence]) for sentence in X]

    async def double(parts: Any) -> Any:
        return 2 * parts

    wanted = ChainClassifier([FeatureGroup("double", double)], max_iter=2, random_state=0).fit(arrays, Y)
    model = ChainClassifier([FeatureGroup("double", lambda parts: double(parts))], max_iter=2, random_state=0)
    assert model.fit(arrays, Y).predict(arrays) == wanted.predict(arrays)


class Counted:
    """Objects that can be hashed, and count how often they are."""

    asked = 0

    def __init__(self, word: str) -> None:
        self.word = word

    def __hash__(self) -> int:
        Counted.asked += 1
        return hash(self.word)

    def __eq__(self, other: object) -> bool:
        Counted.asked += 1
        return isinstance(other, Counted) and self.word == other.word


def test_long_sentences_of_objects_are_not_hashed_once_for_each_place() -> None:
    def where(parts: list[Counted], context: Context) -> Any:
        return [float(len(part.word)) for part in parts]

    model = ChainClassifier([FeatureGroup("where", where)], max_iter=1, random_state=0)
    model.fit([[Counted(word) for word in sentence] for sentence in X], Y)
    for _ in range(2):  # the second time, all places are known, from equal objects
        Counted.asked = 0
        model.predict([[Counted(WORDS[i % 6]) for i in range(2000)]])
        assert 0 < Counted.asked < 50 * 2000


@dataclass(frozen=True)
class Word:
    text: str


def test_places_of_equal_sentences_have_equal_keys() -> None:
    one, same, other = ([("kind", Word(text)) for text in texts] for texts in ("abc", "abc", "abd"))
    assert keys_of_places(one) == keys_of_places(same)
    assert list(map(hash, keys_of_places(one))) == list(map(hash, keys_of_places(same)))
    assert not set(keys_of_places(one)) & set(keys_of_places(other))
    assert len(set(keys_of_places(one))) == 3
