"""Rules, cost models and certificates by name and fields; typed values from headers."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

from wald import CostModel, stopping
from wald.codec.header import MOST_BYTES, number, parse, render
from wald.codec.reading import Section
from wald.codec.writing import encode, encode_fields
from wald.persistence import FileFormatError
from wald.persistence.parameters import PLANNER, RULES
from wald.stopping import Budget, Certificate, ConstantBoundary, Ladder, Lossless, Rule
from wald.stopping.core.certificate import Stratum


@dataclasses.dataclass
class Own:
    """A dataclass of somebody else's."""


VALUES = [
    Ladder(),
    Ladder("partial"),
    Lossless(),
    Lossless(low=0, high=255),
    Lossless(low=[-math.inf, 0.0], high=math.inf),
    Budget(7),
    Budget(0.5, "regressed"),
    ConstantBoundary(delta=1e-300, sides="positive", variance="bridge"),
    CostModel(1e-9, 2.0, 3.0, 0.0, 5.0, 16, 1.0, 0.8),
    Certificate.lossless(),
    Certificate("certified", 0.1, 0.95, "each", 2.5, (Stratum("rows of class 'ä'", 300, 2),), True),
    math.inf,
    0.1 + 0.2,
    2**53,
]
HINTED = [
    ((1, 2.5, None, True, "ß"), tuple[int, float, None, bool, str]),
    ((), tuple[float, ...]),
    ((1.0, math.inf), tuple[float, ...]),
    ([1, 2], list[int]),
    ({"a": 0.5, "b": math.inf}, Mapping[str, float]),
    ({"a": [1, "b"]}, Mapping[str, list[int | str]]),
    (None, int | None),
    (Ladder(), str | Ladder | Lossless),
]


def came_back(value: Any, hint: Any) -> Any:
    arrays: dict[str, Any] = {}
    fields = parse(render(encode_fields({"value": value}, arrays, "header")))
    return Section(fields, "header", {name.removeprefix("header."): array for name, array in arrays.items()}).get(
        "value", hint
    )


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value):
    again = came_back(value, type(value))
    assert again == value
    assert repr(again) == repr(value)  # 1 is not 1.0


@pytest.mark.parametrize(("value", "hint"), HINTED, ids=repr)
def test_values_of_several_kinds_come_back_as_they_were(value, hint):
    again = came_back(value, hint)
    assert again == value
    assert repr(again) == repr(value)


@pytest.mark.parametrize("array", [np.arange(3), np.ones((2, 3)), np.asfortranarray(np.ones((2, 3))), np.array(["ä"])])
def test_arrays_come_back_as_they_lay_in_memory(array):
    again = came_back(array, NDArray[array.dtype.type])
    np.testing.assert_array_equal(again, array)
    assert (again.dtype, again.strides) == (array.dtype, array.strides)


def test_numpy_numbers_become_plain_ones():
    assert type(encode(np.int32(3), {}, "value")) is int
    assert type(encode(np.float32(0.5), {}, "value")) is float


@pytest.mark.parametrize("value", [math.nan, 2**60, b"a", np.zeros(2), object(), 1j, (object(),), Own()])
def test_what_is_no_value_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^value(\.0)? cannot be saved: .*pickle or joblib"):
        encode(value, {}, "value")


def test_every_rule_of_the_library_can_be_saved():
    """This test finds new rules of `wald.stopping` by itself."""
    exported = [getattr(stopping, name) for name in stopping.__all__]
    rules = [c for c in exported if dataclasses.is_dataclass(c) and hasattr(c, "boundary") and c is not Rule]
    assert {Ladder, Lossless, Budget, ConstantBoundary} <= set(rules) == set(RULES)
    for rule in rules:
        fields = [field for field in dataclasses.fields(rule) if field.init]
        if all(f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING for f in fields):
            assert came_back(rule(), PLANNER["rule"]) == rule()


@pytest.mark.parametrize("value", [2**53 + 1, -(2**60), math.nan, np.float32(math.nan)])
def test_numbers_that_no_file_holds_are_named(value):
    with pytest.raises(ValueError, match=r"^alpha cannot be saved: a file holds no NaN and no whole numbers ab"):
        encode(value, {}, "parameters.alpha")


def test_every_field_must_be_there():
    """Also one that has a default, which a later version may change."""
    raw = encode(ConstantBoundary(delta=0.2), {}, "rule")
    hint = PLANNER["rule"]
    assert Section({"rule": raw}, "header").get("rule", hint) == ConstantBoundary(delta=0.2)
    for name in raw.keys() - {"type"}:
        fields = {other: value for other, value in raw.items() if other != name}
        with pytest.raises(FileFormatError, match=f"rule has no '{name}'"):
            Section({"rule": fields}, "header").get("rule", hint)
    with pytest.raises(FileFormatError, match="rule has an unknown 'beta'"):
        Section({"rule": raw | {"beta": 1}}, "header").get("rule", hint)


@pytest.mark.parametrize(
    ("raw", "hint", "words"),
    [
        (True, int, "a whole number, and is True"),
        (1.0, int, "a whole number"),
        (True, float, "a number"),
        ("nan", float, "a number"),
        (1, bool, "true or false"),
        (None, float, "a number, and is None"),
        ("c", Literal["a", "b"], "one of a, b, and is 'c'"),
        (True, Literal[1], "one of 1"),
        ([1.0, "a"], tuple[float, ...], "a number, and is 'a'"),
        ([1.0], tuple[float, str], "a list, and is a list"),
        (1.0, Sequence[float], "a list, and is 1.0"),
        ([["a", 1], ["b"]], Mapping[str, int], "a list of pairs"),
        ("Ladder", Ladder, "a Ladder, and is 'Ladder'"),
        ({"type": "Lossless"}, Ladder, "one of Ladder, and is 'Lossless'"),
        (1, str | None, "a text or null, and is 1"),
    ],
)
def test_values_of_other_types_are_refused(raw, hint, words):
    with pytest.raises(FileFormatError, match=rf"^header\.value[.a-z0-9]* should be {words}"):
        Section({"value": raw}, "header").get("value", hint)


# ---- headers ---------------------------------------------------------------------------------------------------------


def test_numbers_come_back_to_the_last_bit():
    values = [0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 2.0**53, 1e22]
    header = Section(parse(render({str(i): number(v) for i, v in enumerate(values)})), "header")
    assert [header.number(str(i)).hex() for i in range(len(values))] == [v.hex() for v in values]


def test_headers_that_cannot_be_read_are_not_written():
    with pytest.raises(ValueError, match="too large for a file"):
        render({"a": "a" * MOST_BYTES})
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(ValueError, match="too large for a file"):
        render({"a": deep})


def test_unread_entries_are_refused():
    section = Section({"a": 1, "b": 2}, "header")
    assert section.integer("a") == 1
    with pytest.raises(FileFormatError, match="header has an unknown 'b'"):
        section.done()
    with pytest.raises(FileFormatError, match="header has no 'a'"):
        section.integer("a")
