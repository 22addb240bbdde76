"""Features by name: dicts and lists of strings get the columns of scikit-learn's hasher, and get them fast."""

from __future__ import annotations

import enum
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sklearn.feature_extraction import FeatureHasher

from wald.structured import ChainClassifier
from wald.structured.names import HASHED_COLUMNS, flattened
from wald.structured.sequences import Sequences


class Tag(enum.StrEnum):
    NOUN = "noun"


PARTS: list[Any] = [
    {"word": "Zürich", "upper": True, "lower": False, "length": 6, "ratio": 0.25, "nothing": 0.0, "minus": -2.5},
    {"word": {"suffix": "ich", "shape": {"first": "X", "rest": ["x", "xx"]}}, "tags": ["a", "b", "a"]},
    {"f32": np.float32(1.5), "f64": np.float64(2.5), "i8": np.int8(-3), "u64": np.uint64(7), "bool": np.bool_(True)},
    {"text": np.str_("abc"), np.str_("key"): Tag.NOUN, Tag.NOUN: 1},
    {b"word": b"x", "word": "y", b"\xff": 2.0, "raw": b"\xfe\xff", "list": [b"a", "b"], "nested": {b"c": b"d"}},
    {"decimal": Decimal("2.5"), "fraction": Fraction(-1, 3), "single": np.float16(0.5)},
    {"a:b": 5.0, "a": "b", "c": {"d": 2.0}, "c:d": 3.0},  # two names that come out alike: the last one counts
    {"c:d": 3.0, "c": {"d": 0.0}},
    OrderedDict(word="x", later=1.0),
    Counter("hello"),
    {},
    {"sets": {"one"}, "frozen": frozenset(["two"]), "pair": ("l", "r"), "empty": [], "none": {}},
    {"": "", "emoji": "👍", "nul": "a\0b", "long": "x" * 5000, "one": "y", "two": "yz", "three": "xyz"},
    ["a", "b", "a", np.str_("c"), Tag.NOUN],
    ("a", "word:x"),
    {"set"},
    frozenset(["x", "y"]),
    {"big": 10**30, "tiny": 1e-300, "negative zero": -0.0},
]


def _expected(parts: list[Any]) -> Any:
    return FeatureHasher(HASHED_COLUMNS, dtype=np.float32).transform([flattened(part) for part in parts])


def _assert_same(found: Any, expected: Any) -> None:
    expected.sum_duplicates()
    assert found.shape == expected.shape
    assert found.has_canonical_format
    assert found.dtype == np.float32
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))


def test_columns_are_those_of_the_hasher() -> None:
    _assert_same(Sequences.of([PARTS]).parts, _expected(PARTS))


def test_columns_of_many_random_dicts_are_those_of_the_hasher() -> None:
    rng = np.random.default_rng(0)

    def value(depth: int) -> Any:
        kinds: list[Callable[[], Any]] = [
            lambda: float(rng.normal()),
            lambda: int(rng.integers(-3, 3)),
            lambda: bool(rng.integers(2)),
            lambda: "".join(chr(c) for c in rng.integers(32, 0x3000, rng.integers(0, 9))),
            lambda: np.float32(rng.normal()),
            lambda: [f"n{i}" for i in rng.integers(9, size=3)],
            lambda: {f"k{i}": value(depth + 1) for i in rng.integers(9, size=2)},
        ]
        return kinds[int(rng.integers(len(kinds) - 2 * (depth > 2)))]()

    parts = [{f"k{i}": value(0) for i in rng.integers(99, size=rng.integers(0, 40))} for _ in range(300)]
    _assert_same(Sequences.of([parts]).parts, _expected(parts))


def test_names_in_one_column_are_added_up_with_their_signs() -> None:
    names = [f"f{i}" for i in range(1500)]
    single = Sequences.of([[[name] for name in names]]).parts
    columns, counts = np.unique(single.indices, return_counts=True)
    column = columns[counts > 1][0]
    alike = [names[i] for i in np.flatnonzero(single.indices == column)]
    both = Sequences.of([[{name: 2.0 + i for i, name in enumerate(alike)}]]).parts
    _assert_same(both, _expected([{name: 2.0 + i for i, name in enumerate(alike)}]))
    assert both.nnz == 1


@pytest.mark.parametrize(
    ("part", "error", "message"),
    [
        ({"a": None}, TypeError, "Feature 'a' must be a number, a string, or a dict or list of them. Got None."),
        ({3: 1.0}, TypeError, "Part 1 of sequence 1: Names of features must be strings. Got 3, an int."),
        ({"a": {None: "b"}}, TypeError, "Names of features must be strings. Got None, a NoneType."),
        ({"a": 1j}, TypeError, "Feature 'a' must be a number, .* Got 1j."),
        ({"a": Decimal("sNaN")}, ValueError, "Feature 'a' must lie within what a float can hold"),
        ({"a": Decimal("NaN")}, ValueError, "X must not hold NaN or infinity. Sequence 1 does."),
        ({"a": {"b": object}}, TypeError, "Feature 'a:b' must be"),
        ({"a": ["b", 1]}, TypeError, "Lists of features must hold strings"),
        ({"a": np.ones(2)}, TypeError, "Feature 'a' must be"),
        (["a", 3], TypeError, "Lists of features must hold strings"),
        (
            "text",
            TypeError,
            "Part 1 of sequence 1: Every part must be a dict or a list of strings, as the other parts. Got the text",
        ),
        (7, TypeError, "Every part must be a dict or a list of strings, as the other parts. Got int."),
        ({"a": float("nan")}, ValueError, "X must not hold NaN or infinity. Sequence 1 does."),
        ({"a": np.inf}, ValueError, "Sequence 1 does"),
        ({"a": 1e300}, ValueError, "Sequence 1 does"),
        ({"a": 10**400}, ValueError, "Feature 'a' must lie within what a float can hold"),
        ({"a": "\ud800"}, ValueError, "'a:.ud800' holds half of a surrogate pair"),
        ({"\ud800": {"b": 1.0}}, ValueError, "half of a surrogate pair"),
        (["\ud800"], ValueError, "half of a surrogate pair"),
    ],
)
def test_odd_values_are_refused(part: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Sequences.of([[{"fine": 1.0}], [{"fine": 1.0}, part]])


def test_a_dict_within_itself_is_refused() -> None:
    part: dict[str, Any] = {"a": 1.0}
    part["self"] = part
    with pytest.raises(ValueError, match="Part 0 of sequence 0: Features must not be nested so deeply"):
        Sequences.of([[part]])


def test_a_dict_that_changes_while_it_is_read_harms_nobody() -> None:
    part: dict[Any, Any] = {}

    class Clearing(Decimal):
        def __float__(self) -> float:
            part.clear()
            return 1.0

    part.update({"a" * 50 + str(i): "b" * 50 + str(i) for i in range(20)})
    part["clear"] = Clearing()
    part.update({"d" * 50 + str(i): "e" * 50 + str(i) for i in range(20)})
    assert Sequences.of([[part]]).n_parts == 1


def test_names_and_values_are_those_of_crfsuite() -> None:
    peer = pytest.importorskip("pycrfsuite")
    part = {
        b"word": "x",
        "raw": b"y",
        "Z\u00fcrich": True,
        "decimal": Decimal("2.5"),
        "fraction": Fraction(1, 3),
        "nested": {"list": ["a", b"b"], "deep": {"text": "c", "number": 4}},
        "integer": 10,
        "float": 0.5,
    }
    (theirs,) = peer.ItemSequence([part]).items()
    assert {name.decode(): value for name, value in flattened(part).items()} == theirs
    (theirs,) = peer.ItemSequence([["a", b"b"]]).items()
    assert {name.decode(): value for name, value in flattened(["a", b"b"]).items()} == theirs


@pytest.mark.parametrize("n", [1, 15, 16, 17, 33, 200])
def test_any_number_of_features_is_sorted(n: int) -> None:
    parts: list[Any] = [{f"k{i}:{n}": 1.0 + i for i in range(n)}, [f"k{i}" for i in range(n)]]
    _assert_same(Sequences.of([parts]).parts, _expected(parts))


@pytest.mark.parametrize("strings", [False, True], ids=["dicts", "strings"])
def test_labels_from_names_come_faster_than_crfsuites(strings: bool, tmp_path: Any) -> None:
    peer = pytest.importorskip("pycrfsuite")
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in rng.zipf(1.3, 6000) % 5000]

    def describe(i: int) -> Any:
        around = {"word": words[i], "before": words[i - 1], "end": words[i][-2:], "pair": words[i - 1] + words[i]}
        if strings:
            return [f"{name}:{value}" for name, value in around.items()] + ["bias", "title"]
        return {**around, "bias": 1.0, "title": bool(i % 2), "nested": {"length": float(len(words[i]))}}

    X = [[describe(i) for i in range(k, k + 20)] for k in range(0, 6000, 20)]
    y = [[words[i][-1] for i in range(k, k + 20)] for k in range(0, 6000, 20)]
    model = ChainClassifier(max_iter=1, random_state=0).fit(X, y)
    trainer = peer.Trainer("averaged-perceptron", {"max_iterations": 1}, verbose=False)
    for items, labels in zip(X, y, strict=True):
        trainer.append(items, labels)
    trainer.train(str(tmp_path / "peer"))
    tagger = peer.Tagger()
    tagger.open(str(tmp_path / "peer"))

    def seconds(call: Callable[[], Any]) -> float:
        start = time.perf_counter()
        call()
        return time.perf_counter() - start

    pairs = [(seconds(lambda: model.predict(X)), seconds(lambda: [tagger.tag(x) for x in X])) for _ in range(7)]
    ours, theirs = np.min(pairs, axis=0)
    assert ours < theirs
