"""What parts are known by: equal for equal content, and for no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from wald.structured import ChainClassifier, FeatureGroup
from wald.structured.kept import key_of_part


@dataclass(frozen=True)
class Record:
    text: str
    n: int = field(repr=False, default=0)


class Tagged(str):
    """A word with its tag, as some taggers give it."""

    __slots__ = ("tag",)

    def __new__(cls, text: str, tag: str) -> Tagged:
        self = super().__new__(cls, text)
        self.tag = tag
        return self


class Described(dict[str, Any]):
    """A dict with an attribute."""

    def __init__(self, about: str) -> None:
        super().__init__(a=1)
        self.about = about


class Pair(NamedTuple):
    first: str
    second: str


class OtherPair(NamedTuple):
    first: str
    second: str


def test_keys_tell_parts_apart() -> None:
    kinds: list[Any] = [
        *("1", 1, 1.0, True, None, b"1", (1,), [1], {"a": 1}, {"a": 1.0}, {"a": True}, {"a": [1]}, {"a": {"b": None}}),
        *(frozenset("ab"), Record("a"), Record("a", 1), np.int64(7), np.zeros(2), np.zeros(2, dtype=np.float32)),
        *(np.zeros((2, 3)), np.zeros((3, 2)), {"a": np.zeros(2)}, Path("a"), ["digest", "a"], ("a", b"a")),
    ]
    keys = [key_of_part(part) for part in kinds]
    assert len(set(keys)) == len(kinds)
    text = "".join(["wo", "rd"])  # equal to another text, and no part of it
    assert key_of_part({"word": text, "again": text}) == key_of_part({"word": "word", "again": "".join(["w", "ord"])})
    assert key_of_part(frozenset(["b", "a"])) == key_of_part({"a", "b"})
    assert key_of_part({"a": {"x", "y"}}) == key_of_part({"a": frozenset(["y", "x"])})
    assert key_of_part(Tagged("run", "NOUN")) == key_of_part(Tagged("run", "NOUN"))


class Buffer:
    """Is what it is by its place in memory, as a tensor of PyTorch."""

    def __hash__(self) -> int:
        return id(self)


def test_what_is_known_by_its_place_needs_a_key() -> None:
    for part in (Buffer(), object(), [object()], {"a": Buffer()}):
        with pytest.raises(TypeError):
            key_of_part(part)


def test_attributes_without_a_content_of_their_own_need_a_key() -> None:
    with pytest.raises(TypeError, match="holds a object, which has no key"):
        key_of_part(Tagged("run", object()))  # type: ignore[arg-type]


def test_attributes_of_parts_count() -> None:
    run, again = Tagged("run", "NOUN"), Tagged("run", "VERB")
    parts: list[Any] = [run, again, "run", {"word": run}, {"word": again}, Described("x"), Described("y"), {"a": 1}]
    parts += [Pair("a", "b"), OtherPair("a", "b"), ("a", "b")]
    parts += [frozenset([Record("a", 1)]), frozenset([Record("a", 2)])]
    assert len(set(map(key_of_part, parts))) == len(parts)
    group = FeatureGroup("tag", lambda words: [[word.tag] for word in words])
    model = ChainClassifier([group], max_iter=3, random_state=0).fit([[run, again]] * 20, [["N", "V"]] * 20)
    assert model.predict([[again], [run]]) == [["V"], ["N"]]
