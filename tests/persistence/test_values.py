"""Rules, cost models and certificates by name and fields; typed values from headers."""

import dataclasses
import math
import typing
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pytest

from wald import CostModel, stopping
from wald.codec.arrays import Stock
from wald.codec.header import MOST_BYTES, Section, number, parse, render
from wald.persistence import FileFormatError
from wald.persistence.values import decode, encode, fits, registry
from wald.stopping import Budget, Certificate, ConstantBoundary, Ladder, Lossless, Rule, Stratum

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
    (1, 2.5, None, True, "ß", (), (1.0, math.inf)),
    math.inf,
    0.1 + 0.2,
    2**53,
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_come_back_as_they_were(value):
    arrays: dict[str, Any] = {}
    raw = encode(value, arrays, "value")
    again = decode(parse(render({"value": raw}))["value"], Stock(arrays), "value", Any)
    assert again == value
    assert repr(again) == repr(value)  # 1 is not 1.0


def test_numpy_numbers_become_plain_ones():
    assert type(encode(np.int32(3), {}, "value")) is int
    assert type(encode(np.float32(0.5), {}, "value")) is float


@pytest.mark.parametrize("value", [math.nan, 2**60, b"a", [1], {"a": 1}, np.zeros(2), object(), 1j, (object(),)])
def test_what_is_no_value_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"^value(\.0)? cannot be saved: .*pickle or joblib"):
        encode(value, {}, "value")


def test_every_rule_of_the_library_can_be_saved():
    """This test finds new rules of `wald.stopping` by itself."""
    exported = [getattr(stopping, name) for name in stopping.__all__]
    rules = [c for c in exported if dataclasses.is_dataclass(c) and hasattr(c, "boundary") and c is not Rule]
    assert {Ladder, Lossless, Budget, ConstantBoundary} <= set(rules)
    for rule in rules:
        assert registry()[rule.__name__] is rule
        hints = typing.get_type_hints(rule)
        required = [
            f for f in dataclasses.fields(rule) if f.init and f.default is f.default_factory is dataclasses.MISSING
        ]
        if not required:
            arrays: dict[str, Any] = {}
            raw = encode(rule(), arrays, "rule")
            assert decode(raw, Stock(arrays), "rule", Rule) == rule()
        for field in dataclasses.fields(rule):
            if field.init and field.default is not dataclasses.MISSING:
                assert fits(field.default, hints[field.name]), (rule, field.name)


def test_every_field_must_be_there():
    """Also one that has a default, which a later version may change."""
    raw = encode(ConstantBoundary(delta=0.2), {}, "rule")
    assert decode(raw, Stock({}), "rule", Rule) == ConstantBoundary(delta=0.2)
    for name in list(raw["fields"]):
        fields = {other: value for other, value in raw["fields"].items() if other != name}
        with pytest.raises(FileFormatError, match=f"rule has no '{name}'"):
            decode(raw | {"fields": fields}, Stock({}), "rule", Rule)
    with pytest.raises(FileFormatError, match="rule has an unknown 'beta'"):
        decode(raw | {"fields": raw["fields"] | {"beta": 1}}, Stock({}), "rule", Rule)


@pytest.mark.parametrize(
    ("value", "hint", "holds"),
    [
        (1, int, True),
        (True, int, False),
        (1, float, True),
        (1.0, int, False),
        (True, float, False),
        ("a", Literal["a", "b"], True),
        ("c", Literal["a", "b"], False),
        (True, Literal[1], False),
        (None, float | None, True),
        (None, float, False),
        ((1.0, 2), tuple[float, ...], True),
        ((1.0, "a"), tuple[float, ...], False),
        ((1.0, "a"), tuple[float, str], True),
        ((1.0,), tuple[float, str], False),
        ((1.0,), Sequence[float], True),
        (1.0, Sequence[float], False),
        ([1.0], tuple[float, ...], False),
        (Ladder(), Rule, True),
        ("Ladder", Rule, False),
        (object(), Any, True),
        (1, "no hint", False),
    ],
)
def test_hints(value, hint, holds):
    assert fits(value, hint) is holds


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
