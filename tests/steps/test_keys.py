"""Keys against Python's own equality, cell by cell, in every container."""

from __future__ import annotations

import math
import pickle
import sys
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wald import _core
from wald.sources import source_of
from wald.sources.cells import (
    CodeChunk,
    Coded,
    NumberChunk,
    Numbers,
    Objects,
    TextChunk,
    Texts,
    Valid,
    ViewChunk,
    WideTexts,
)
from wald.steps.keys import Keys

columns = pytest.importorskip("kinds.columns")
pd, pl, pa = columns.pd, columns.pl, columns.pa

PREFIX = "the same beginning "
KNOWN = [
    *("", "a", "b", "ab", "abc", "abcd", "abcde", "abcdefg", "abcdefgh", "abcdefghi", "x" * 15, "x" * 16, "x" * 17),
    *("a\0", "a\0\0", "\0", "y" * 16 + "\0", "é", "e\u0301", "日本", "日本語の文字", "🙂", PREFIX + "1", PREFIX + "2"),
    *("z" * 12, "z" * 13, "q" * 1000, "q" * 999 + "r", "Ａ", "ſ", "1", "nan", "None"),
]
UNKNOWN = ["c", "abd", "x" * 14, "x" * 18, "a\0\0\0", PREFIX, PREFIX + "3", "q" * 999, "A", "é" * 9, "z" * 11, "\0\0"]
VALUES = [value for pair in zip(KNOWN, (UNKNOWN * 3)[: len(KNOWN)], strict=True) for value in (*pair, None)]


def states(keys, cells):
    """The states of all cells, which must be the same in all dtypes of values."""
    every = np.arange(keys.n_states)
    refused = np.zeros(keys.n_states, dtype=bool)
    taken, first = keys.take(cells, every.astype(float), refused)
    assert first == -1
    for dtype in (np.float32, np.int32, np.uint8):
        again, _ = keys.take(cells, every.astype(dtype), refused)
        assert again.dtype == dtype
        assert np.array_equal(again, taken.astype(dtype))
    return taken.astype(int).tolist()


def check(keys, table):
    expected = [columns.state_of(keys.known, value) for value in columns.values_of(table)]
    assert states(keys, source_of(table).cells(0)) == expected
    assert [keys.state_of(value) for value in columns.values_of(table)] == expected


@pytest.mark.parametrize("kind", columns.TEXTS)
def test_texts_in_every_container(kind):
    keys = Keys(KNOWN)
    table = columns.TEXTS[kind](VALUES[:50])
    check(keys, table)
    for start, stop in ((3, 41), (7, 8), (9, 9)):
        check(keys, columns.sliced(table, start, stop))
    check(keys, columns.TEXTS[kind](VALUES[50:]))
    check(keys, columns.TEXTS[kind](KNOWN[:30]))
    check(keys, columns.TEXTS[kind](["a"]))
    check(Keys(np.array([1, 2])), table)


@pytest.mark.parametrize("kind", columns.NUMBERS)
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
def test_numbers_in_every_container(kind, dtype):
    keys = Keys(np.array([0, 7, 3, 200, -5], dtype))
    table = columns.NUMBERS[kind]([7, 0, None, 1, 200, None, 3, 64, 7])
    check(keys, table)
    check(keys, columns.sliced(table, 2, 7))
    check(Keys(["7"]), table)


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 3000])
def test_columns_of_every_length(n):
    rng = np.random.default_rng(n)
    values = [VALUES[i] for i in rng.integers(0, len(VALUES), n)]
    for kind in ("polars String", "arrow string", "pandas object", "pandas category"):
        check(Keys(KNOWN), columns.TEXTS[kind](values))


NUMERIC = [
    *(0.0, -0.0, 1.0, -1.5, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, math.inf, -math.inf, math.nan, 5e-324),
    *(0, 1, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**63 + 1, -(2**63), -(2**63) - 1, 2**64 - 1, 2**64, 2**64 + 1),
    *(10**300, 10**400, -(10**400), True, False, "1", "", None, b"1", (), Decimal(1), 1j, np.float64(1.5), np.int8(1)),
    *(np.float32(0.1), np.float16(1), np.float64("nan"), np.float32("nan"), np.uint64(2**63), np.longdouble("nan")),
    *(np.str_("1"), pd.NA, pd.NaT, np.datetime64("NaT"), np.datetime64(1, "ns"), np.bool_(True), [1], {}),
]
OTHERS = (Decimal, complex, bytes)


@pytest.mark.parametrize(
    "known",
    [
        np.array([0, 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
        np.array([-0.0, 1.0, 2.0**53, 2.0**63, -(2.0**63), 2.0**64, 1e300, np.float32(0.1), -1.5, 5e-324]),
        np.array([math.inf, 1.5]),
        np.array([], dtype=float),
        ["1", ""],
        [],
    ],
)
def test_objects_of_every_kind(known):
    keys = Keys(known)
    expected = [keys.n_states - 1 if isinstance(v, OTHERS) else columns.state_of(known, v) for v in NUMERIC]
    assert [keys.state_of(value) for value in NUMERIC] == expected
    cells = Objects("objects", np.fromiter(NUMERIC, object, len(NUMERIC)))
    assert states(keys, cells) == expected


def test_subclasses_of_str_are_texts_unless_they_compare_otherwise():
    class Plain(str):
        pass

    class Equal(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            return True

    keys = Keys(["a", "b"])
    assert keys.state_of(Plain("b")) == keys.state_of(np.str_("b")) == 1
    assert keys.state_of(Equal("b")) == 6
    assert Keys([np.str_("a"), Plain("b")]).state_of("b") == 1


def test_surrogates_are_code_points_like_others():
    known = ["\ud800", "a\udfff", "\ud83d\ude42", "🙂"]
    keys = Keys(known)
    values = [*known, "\ud801", "a", "\udfff" * 20, "a\udfff\0"]
    assert [keys.state_of(value) for value in values] == [0, 1, 2, 3, 4, 4, 4, 4]
    assert states(keys, Objects("objects", np.array(values * 2, dtype=object))) == [0, 1, 2, 3, 4, 4, 4, 4] * 2


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "f2", ">i4", "?"])
@pytest.mark.parametrize("known", [np.array([0, 1, 100]), np.array([0.0, 1, 100, 0.5])])
def test_arrays_of_every_dtype(dtype, known):
    values = np.array([[0, 1], [1, 0], [100, 1], [90, 1], [1, 0]]).astype(dtype)
    keys = Keys(known)
    for array in (values, values[::-2], np.asfortranarray(values)):
        expected = [columns.state_of(known, int(value)) for value in array[:, 0]]
        assert states(keys, source_of(array).cells(0)) == expected


def test_booleans_are_numbers_in_columns_of_booleans_alone():
    keys = Keys(np.array([1, 5]))
    for table in (pl.DataFrame({"x": [True, False, None]}), pa.table({"x": [True, False, None]})):
        assert states(keys, source_of(table).cells(0)) == [0, 2, 3]
    frame = pd.DataFrame({"x": pd.Series([True, False, None], dtype="boolean")})
    assert states(keys, source_of(frame).cells(0)) == [0, 2, 5]
    assert states(keys, source_of(np.array([[True], [False]])).cells(0)) == [0, 2]
    assert keys.state_of(True) == keys.n_states - 1


def test_whole_numbers_are_compared_exactly():
    keys = Keys(np.array([2.0**53, 2.0**63]))
    values = np.array([2**53, 2**53 + 1, 2**63 - 1])
    assert states(keys, source_of(values.reshape(-1, 1)).cells(0)) == [0, 2, 2]
    values = np.array([2**63, 2**63 + 1, 2**64 - 1], np.uint64)
    assert states(keys, source_of(values.reshape(-1, 1)).cells(0)) == [1, 2, 2]


TEXT = st.text(st.characters(codec="utf-8") | st.sampled_from("ab\0"), max_size=40)


@pytest.mark.slow
@settings(max_examples=50)
@given(st.lists(TEXT, unique=True, max_size=30), st.lists(TEXT | st.none(), max_size=30), st.data())
def test_random_texts(known, others, data):
    values = data.draw(st.lists(st.sampled_from([*known, *others, None]), max_size=60))
    keys = Keys(known)
    expected = [columns.state_of(known, value) for value in values]
    for kind in ("numpy object", "polars String", "arrow string", "arrow string_view", "polars chunks"):
        assert states(keys, source_of(columns.TEXTS[kind](values)).cells(0)) == expected


def test_many_categories():
    rng = np.random.default_rng(0)
    known = list(dict.fromkeys("".join(map(chr, row)) for row in rng.integers(97, 123, (20_000, 5))))
    values = [known[i] for i in rng.integers(0, len(known), 4000)] + ["", "zzzzzz"]
    index = {text: i for i, text in enumerate(known)}
    cells = source_of(pl.DataFrame({"x": values})).cells(0)
    keys = Keys(known)
    taken, _ = keys.take(cells, np.arange(keys.n_states, dtype=float), np.zeros(keys.n_states, bool))
    assert taken.tolist() == [index.get(value, len(known)) for value in values]


def test_texts_of_numpy():
    keys = Keys(KNOWN)
    texts = [*KNOWN[:20], *UNKNOWN, "\ud800", "a\0b"]
    array = np.array([texts, texts[::-1]]).T
    for rows in (array, array[::-2], array[:, ::-1], np.asfortranarray(array), array[:0]):
        assert rows.dtype.kind == "U"
        expected = [columns.state_of(KNOWN, value) for value in rows[:, 0].tolist()]
        assert states(keys, source_of(rows).cells(0)) == expected
    swapped = array.astype(array.dtype.newbyteorder())
    assert states(keys, source_of(swapped).cells(0)) == states(keys, source_of(array).cells(0))
    assert states(Keys(np.array([1])), source_of(np.array([["1"]])).cells(0)) == [5]
    with pytest.raises(TypeError, match="array of one axis"):
        keys.take(WideTexts("U", swapped[:, 0]), np.zeros(keys.n_states), np.zeros(keys.n_states, bool))


def test_first_refused_row():
    keys = Keys(["a", "b"])
    values = ["a"] * 700 + ["c"] + ["b"] * 500 + [None]
    for kind in ("polars String", "pandas object", "polars Categorical"):
        cells = source_of(columns.TEXTS[kind](values)).cells(0)
        for state, first in ((0, 0), (1, 701), (2, 700), (3, 1201), (4, -1)):
            refused = np.arange(keys.n_states) == state
            assert keys.take(cells, np.zeros(keys.n_states), refused)[1] == first


def test_threads_share_keys():
    rng = np.random.default_rng(1)
    keys, values = Keys(KNOWN), [VALUES[i] for i in rng.integers(0, len(VALUES), 5000)]
    cells = [source_of(columns.TEXTS[kind](values)).cells(0) for kind in ("polars String", "numpy object")]
    expected = [columns.state_of(KNOWN, value) for value in values]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda i: states(keys, cells[i % 2]), range(16))) == [expected] * 16


def test_keys_own_what_they_know():
    known = ["a", "b"]
    keys = Keys(known)
    known[1] = "c"
    assert keys.known == ["a", "b"]
    assert pickle.loads(pickle.dumps(keys)).state_of("b") == keys.state_of("b") == 1


def test_an_object_that_raises_leaves_no_result():
    class Raises:
        @property
        def __class__(self):
            raise RuntimeError("no class")

    lookup = _core.Lookup(Keys(["a"]).core, np.zeros(6), np.zeros(6, bool), 2)
    lookup.objects(np.array(["a", Raises()], object))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="no class"):
            lookup.result()


def test_pickles():
    for known in (["a", "\ud800"], np.array([1.5, 2])):
        keys = pickle.loads(pickle.dumps(Keys(known)))
        assert keys.state_of(known[1]) == 1


def test_objects_are_released():
    value = "".join(["a", "text"])
    before = sys.getrefcount(value)
    Keys(["a"]).take(Objects("objects", np.array([value] * 9, object)), np.zeros(6), np.zeros(6, bool))
    assert sys.getrefcount(value) == before


def test_an_object_may_take_the_place_of_one_that_another_frees():
    """Python code that runs while a column is read may free a text, in whose place another text is made."""
    met = np.array([], object)

    class Other:
        @property
        def __class__(self):  # asked for by the lookup
            if met[0] is not None:
                freed, met[0] = id(met[0]), None
                texts = [first + end for first in 2000 * ["b"]]
                met[2] = next((text for text in texts if id(text) == freed), texts[0])
            return Other

    first, end = "a", "_" * 8
    keys = Keys([first + end, "b" + end])
    for _ in range(20):
        met = np.array([first + end, Other(), None], object)
        taken, _ = keys.take(Objects("objects", met), np.arange(7.0), np.zeros(7, bool))
        assert taken[2] == 1


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "error"),
    [
        (["a", "a"], ValueError),
        (["a", 1], TypeError),
        (("a", "b"), TypeError),
        (np.array(["a"]), TypeError),
        (np.array([1.5, 1.5]), ValueError),
        (np.array([0.0, -0.0]), ValueError),
        (np.array([1, math.nan]), ValueError),
        (np.array([1], np.int32), TypeError),
        (np.zeros((2, 2)), TypeError),
    ],
)
def test_wrong_categories_are_refused(known, error):
    with pytest.raises(error, match="known categor"):
        Keys(known)


def offsets(*numbers, dtype="i4"):
    return np.array(numbers, dtype)


BAD = {
    "offsets that descend": Texts("k", None, [TextChunk(2, 0, 4, offsets(0, 3, 1), b"abc")]),
    "offsets below 0": Texts("k", None, [TextChunk(2, 0, 4, offsets(-1, 1, 2), b"abc")]),
    "offsets behind the data": Texts("k", None, [TextChunk(1, 0, 8, offsets(0, 4, dtype="i8"), b"abc")]),
    "huge offsets": Texts("k", None, [TextChunk(1, 0, 8, offsets(2**62, 2**63 - 1, dtype="i8"), b"abc")]),
    "no data": Texts("k", None, [TextChunk(1, 0, 4, offsets(0, 1), None)]),
    "too few offsets": Texts("k", None, [TextChunk(3, 0, 4, offsets(0, 1, 2), b"abc")]),
    "no offsets": Texts("k", None, [TextChunk(1, 0, 4, None, b"abc")]),
    "a first text behind the offsets": Texts("k", None, [TextChunk(1, 2, 4, offsets(0, 1, 2), b"abc")]),
    "a negative first text": Texts("k", None, [TextChunk(1, -1, 4, offsets(0, 1, 2), b"abc")]),
    "a huge first text": Texts("k", None, [TextChunk(1, 2**62, 4, offsets(0, 1, 2), b"abc")]),
    "another width": Texts("k", None, [TextChunk(1, 0, 2, offsets(0, 1, 2), b"abc")]),
    "a negative number of rows": Texts("k", None, [TextChunk(-1, 0, 4, offsets(0, 1, 2), b"abc")]),
    "too few bits": Texts("k", None, [TextChunk(2, 0, 4, offsets(0, 1, 2), b"abc", Valid(b"\xff", 7))]),
    "a negative bit": Texts("k", None, [TextChunk(2, 0, 4, offsets(0, 1, 2), b"abc", Valid(b"\xff", -1))]),
    "a huge bit": Texts("k", None, [TextChunk(2, 0, 4, offsets(0, 1, 2), b"abc", Valid(b"\xff", 2**63 - 2))]),
    "too few views": Texts("k", None, [ViewChunk(2, 0, bytes(16), ())]),
    "a view of no buffer": Texts("k", None, [ViewChunk(1, 0, offsets(13, 0, 0, 0), ())]),
    "a view of a negative buffer": Texts("k", None, [ViewChunk(1, 0, offsets(13, 0, -1, 0), (b"a" * 20,))]),
    "a view behind its buffer": Texts("k", None, [ViewChunk(1, 0, offsets(13, 0, 0, 8), (b"a" * 20,))]),
    "a view before its buffer": Texts("k", None, [ViewChunk(1, 0, offsets(13, 0, 0, -1), (b"a" * 20,))]),
    "a view of negative size": Texts("k", None, [ViewChunk(1, 0, offsets(-1, 0, 0, 0), (b"a" * 20,))]),
    "codes behind the dictionary": Coded(
        "k", None, [CodeChunk(offsets(0, 2), Objects("d", np.array(["a", "b"], "O")))]
    ),
    "negative codes": Coded("k", None, [CodeChunk(offsets(0, -1), Objects("d", np.array(["a", "b"], "O")))]),
    "codes below -1": Coded("k", None, [CodeChunk(offsets(0, -2), Objects("d", np.array(["a"], "O")), lowest=-1)]),
    "huge codes": Coded("k", None, [CodeChunk(offsets(2**63, dtype="u8"), Objects("d", np.array(["a"], "O")))]),
    "no code points": WideTexts("U", offsets(97, 0x110000).view("U1")),
    "too few bits of numbers": Numbers("k", None, [NumberChunk(np.zeros(9), Valid(b"\xff"))]),
}


@pytest.mark.parametrize("what", BAD)
def test_memory_that_is_not_there_is_not_read(what):
    keys = Keys(["a", "b"])
    with pytest.raises(ValueError, match=r"must|outside|offsets have"):
        keys.take(BAD[what], np.zeros(keys.n_states), np.zeros(keys.n_states, bool))


def test_whatever_lies_behind_missing_cells_is_not_read():
    keys, none = Keys(["a"]), Valid(b"\x01")
    bad = [
        Texts("k", None, [TextChunk(2, 0, 4, offsets(0, 1, 99), b"abc", none)]),
        Texts(
            "k",
            None,
            [
                ViewChunk(
                    2,
                    0,
                    np.concatenate([np.frombuffer(b"\1\0\0\0a" + bytes(11), "i4"), [99] * 4]).astype("i4"),
                    (),
                    none,
                )
            ],
        ),
        Coded("k", None, [CodeChunk(offsets(0, 99), Objects("d", np.array(["a"], "O")), valid=none)]),
    ]
    for cells in bad:
        assert states(keys, cells) == [0, 2]


def test_wrong_values_are_refused():
    keys, cells = Keys(["a"]), Objects("objects", np.array(["a"], object))
    none = np.zeros(6, bool)
    with pytest.raises(ValueError, match="every state needs a value"):
        keys.take(cells, np.zeros(5), none)
    with pytest.raises(ValueError, match="every state needs a value"):
        keys.take(cells, np.zeros(6), none[1:])
    with pytest.raises(ValueError, match="contiguous"):
        keys.take(cells, np.zeros(12)[::2], none)
    with pytest.raises(TypeError, match="uint8, int32, float32 or float64"):
        keys.take(cells, np.zeros(6, np.int64), none)
    with pytest.raises(TypeError, match="array of one axis"):
        keys.take(Objects("objects", np.zeros(1)), np.zeros(6), none)


def test_lookups_take_as_many_cells_as_there_are_rows():
    inner = _core.Keys(["a"], lambda value: None)
    lookup = _core.Lookup(inner, np.zeros(6), np.zeros(6, bool), 2)
    lookup.objects(np.array(["a"], object))
    with pytest.raises(ValueError, match="as many cells"):
        lookup.result()
    with pytest.raises(ValueError, match="more cells"):
        lookup.objects(np.array(["a", "b"], object))
    for entries in (np.array([6], np.int32), np.array([-1], np.int32)):
        with pytest.raises(ValueError, match="entries are states"):
            _core.Lookup(inner, np.zeros(6), np.zeros(6, bool), 1).codes(np.zeros(1, np.int8), entries, 0, None, 0, 0)
    with pytest.raises(ValueError, match="null must be a state"):
        _core.Lookup(inner, np.zeros(6), np.zeros(6, bool), 1).numbers(np.zeros(1), None, 0, 6)
