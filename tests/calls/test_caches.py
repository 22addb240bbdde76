"""Answers that are kept across uses, by the content of rows."""

from __future__ import annotations

import shelve
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from wald.calls import Asked, CallError, Calls, labels_of
from wald.calls.keys import key_of, rows_of

TEXTS = ["one", "two", "one", "three", "two", "four"]


class Counted:
    """Answers the length of texts, and counts them."""

    def __init__(self):
        self.asked = []

    def __call__(self, texts):
        self.asked += texts
        return [len(text) for text in texts]


def taken(rows):
    return [TEXTS[row] for row in rows]


def test_equal_rows_are_asked_once():
    cache, function = {}, Counted()
    asked = Asked(Calls(function, name="length", batch_size=2, cache=cache), 6)
    assert asked.ask(range(6), taken).values.tolist() == [3, 3, 3, 5, 3, 4]
    assert function.asked == ["one", "two", "three", "four"]
    assert (asked.counts.rows, asked.counts.cached, asked.counts.calls) == (4, 2, 2)
    again = Asked(Calls(function, name="length", cache=cache), 6)
    assert again.ask(range(6), taken).values.tolist() == [3, 3, 3, 5, 3, 4]
    assert len(function.asked) == 4
    assert (again.counts.rows, again.counts.cached, again.counts.calls) == (0, 6, 0)
    assert not again.paid.any()


def test_rows_of_the_cache_are_no_calls():
    cache = {}
    Asked(Calls(Counted(), name="length", cache=cache), 6).ask([0, 1], taken)
    asked = Asked(Calls(Counted(), name="length", cache=cache), 6, max_rows=2)
    assert asked.ask(range(6), taken).done.all()


def test_batches_are_full_though_some_rows_are_known():
    cache, sizes = {}, []
    Asked(Calls(lambda rows: rows, name="same", cache=cache), 20).ask(range(0, 20, 2), lambda rows: rows)

    def same(rows):
        sizes.append(len(rows))
        return rows

    Asked(Calls(same, name="same", cache=cache, batch_size=5), 20).ask(range(20), lambda rows: rows)
    assert sizes == [5, 5]


def test_a_file_as_a_cache(tmp_path):
    function = Counted()
    for _ in range(2):
        with shelve.open(str(tmp_path / "answers")) as cache:
            calls = Calls(function, name="length", cache=cache)
            assert Asked(calls, 6).ask(range(6), taken).values.tolist() == [3, 3, 3, 5, 3, 4]
    assert len(function.asked) == 4


def test_two_functions_share_a_cache():
    cache = {}
    for name, factor in (("one", 1), ("two", 2)):
        for key in (None, int):
            calls = Calls(lambda rows, factor=factor: factor * rows, name=name, cache=cache, key=key)
            assert Asked(calls, 3).ask(range(3), lambda rows: rows).values.tolist() == [0, factor, 2 * factor]


@pytest.mark.parametrize("name", [None, ""])
def test_functions_without_a_name_share_no_cache(name):
    """Two of them, such as lambdas, would take each other's answers."""
    with pytest.raises(ValueError, match=r"A cache needs name=, .* take each other's answers"):
        Calls(lambda rows: rows, name=name, cache={})


def test_what_was_answered_before_a_failure_is_in_the_cache():
    cache = {}

    def fails(texts):
        if "three" in texts:
            raise ConnectionError
        return [len(text) for text in texts]

    with pytest.raises(CallError):
        Asked(Calls(fails, name="length", batch_size=1, cache=cache), 6).ask(range(6), taken)
    function = Counted()
    assert Asked(Calls(function, name="length", cache=cache), 6).ask(range(6), taken).done.all()
    assert function.asked == ["three", "four"]


def test_answers_are_kept_as_they_were_given():
    """Places among the classes would be wrong for another order of these."""
    cache = {}
    for classes in (["a", "b"], ["b", "a"]):
        asked = Asked(
            Calls(lambda rows: ["a", "b", "a"], name="label", cache=cache),
            3,
            check=partial(labels_of, classes=np.array(classes)),
        )
        assert [classes[code] for code in asked.ask(range(3), lambda rows: rows).values] == ["a", "b", "a"]
    cache[next(iter(cache))] = "c"
    with pytest.raises(CallError, match="the cache of 'label' holds for row 0, 1, 2 cannot be used: it answered"):
        Asked(Calls(never, name="label", cache=cache), 3, check=partial(labels_of, classes=np.array(["a"]))).ask(
            range(3), lambda rows: rows
        )


def never(rows):
    raise AssertionError


def test_rows_without_a_key():
    class Thing:
        pass

    with pytest.raises(TypeError, match=r"'length' cannot be kept in a cache: a row holds a Thing, .* give key="):
        Asked(Calls(Counted(), name="length", cache={}), 2).ask([0, 1], lambda rows: [Thing() for _ in rows])
    with pytest.raises(TypeError, match="unhashable"):
        Asked(Calls(Counted(), name="length", cache={}, key=list), 2).ask([0, 1], lambda rows: [[1] for _ in rows])


class Word(str):
    """A text with a tag."""

    def __new__(cls, text, tag):
        self = super().__new__(cls, text)
        self.tag = tag
        return self


DIFFERENT = [
    np.array([1.0, 2.0]),
    np.array([1.0, 2.0], dtype=np.float32),
    np.array([[1.0, 2.0]]),
    np.array([2.0, 1.0]),
    [1, 2],
    [1.0, 2.0],
    [[1], 2],
    [[1, 2]],
    ["1", "2"],
    ["12"],
    "12",
    b"12",
    12,
    12.0,
    None,
    {"a": 1},
    {"a": 2},
    {"b": 1},
    [("a", 1)],
    True,
    {"a", "b"},
    {"ab"},
    Word("12", "NUM"),
    Word("12", "SYM"),
    [Word("12", "NUM")],
]


def test_rows_of_different_content_have_different_keys():
    assert len({key_of(row) for row in DIFFERENT}) == len(DIFFERENT)


def test_rows_of_the_same_content_have_the_same_key():
    assert key_of({"a": 1, "b": [2]}) == key_of({"b": [2], "a": 1})
    assert key_of(np.arange(6.0).reshape(2, 3).T[0]) == key_of(np.array([0.0, 3.0]))
    assert key_of({"a": {"x", "y"}}) == key_of({"a": frozenset(["y", "x"])})
    assert key_of(Word("12", "NUM")) == key_of(Word("12", "NUM"))
    assert key_of("one") == "e761a92aeae8a968d95ad34e0ecf43a0"


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "array", "sparse", "list"])
def test_rows_of_batches(kind):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [3.0, 4.0]])
    if kind in ("pandas", "polars", "pyarrow"):
        library = pytest.importorskip(kind)
        columns = dict(zip("ab", X.T, strict=True))
        X = library.table(columns) if kind == "pyarrow" else library.DataFrame(columns)
    elif kind == "sparse":
        X = sparse.csr_array(X)
    elif kind == "list":
        X = X.tolist()
    keys = [key_of(row) for row in rows_of(X)]
    assert keys[0] == keys[1] != keys[2]
