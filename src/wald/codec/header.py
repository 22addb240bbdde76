"""The JSON header of a file: parsed without trust; each value is read with the type that it must have."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NoReturn

#: Limits of a header: bytes, depth of nesting, and separators.
MOST_BYTES, MOST_DEPTH, MOST_TOKENS = 1 << 20, 24, 1 << 17
#: Characters of a text, at most.
MOST_CHARACTERS = 1000
#: Up to this magnitude, float64 holds every whole number exactly.
MOST = 2**53

# An unterminated string matches up to the end of the header, so that the scan is linear whatever the bytes are.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]|,', re.DOTALL)
_WORDS = {math.inf: "inf", -math.inf: "-inf"}


class FileFormatError(ValueError):
    """A file is no file of wald's, is damaged, or says something that cannot be. The message says what and where.

    Examples
    --------
    >>> Section({"n_classes": -2}, "header.model.decision").integer("n_classes", 2, 10_000)
    Traceback (most recent call last):
        ...
    wald.codec.header.FileFormatError: header.model.decision.n_classes should be a whole number from 2 to 10000,
    and is -2
    """


def parse(raw: bytes) -> dict[str, Any]:
    """Read a header.

    Parameters
    ----------
    raw : bytes
        UTF-8.

    Returns
    -------
    dict
        Holds finite numbers, texts, lists and dicts.

    Raises
    ------
    FileFormatError
        If it is no JSON object, names a key twice, is too large or too deep, or holds a number out of range.
    """
    if len(raw) > MOST_BYTES:
        raise FileFormatError(f"the header has {len(raw)} bytes; at most {MOST_BYTES} are allowed")
    depth = 0
    for tokens, token in enumerate(_TOKEN.finditer(raw)):
        first = token[0][:1]
        depth += (first in b"[{") - (first in b"]}")
        if depth > MOST_DEPTH or tokens > MOST_TOKENS:
            raise FileFormatError(f"the header nests deeper than {MOST_DEPTH}, or has more than {MOST_TOKENS} parts")
    try:
        fields = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_no_key_twice,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_finite,
        )
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the header is no JSON: {error}") from None
    if not isinstance(fields, dict):
        raise FileFormatError("the header is no JSON object")
    return fields


def render(fields: dict[str, Any]) -> bytes:
    """Write a header; equal fields give equal bytes. Raises ValueError if it is larger than `parse` would take."""
    raw = json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
    try:
        parse(raw)
    except FileFormatError as error:
        raise ValueError(f"The parameters of this model are too large for a file: {error}.") from None
    return raw


def number(value: float) -> float | str:
    """Convert a number for the header: infinities become texts, because JSON has none."""
    return _WORDS.get(float(value), float(value))


class Section:
    """Part of a header, whose values are taken one by one and checked.

    Parameters
    ----------
    fields : object
        Parsed JSON.
    where : str
        Name of the section in messages.

    Raises
    ------
    FileFormatError
        Here and from every method, if a value is missing or of the wrong type.
    """

    def __init__(self, fields: Any, where: str) -> None:
        if not isinstance(fields, dict):
            raise FileFormatError(f"{where} should be an object, and is {_shown(fields)}")
        self._left, self.where = dict(fields), where

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def take(self, name: str) -> Any:
        """Take a value of any type."""
        if name not in self._left:
            raise FileFormatError(f"{self.where} has no {name!r}")
        return self._left.pop(name)

    def section(self, name: str) -> Section:
        """Take an object."""
        return Section(self.take(name), f"{self.where}.{name}")

    def items(self, name: str) -> list[Any]:
        """Take a list."""
        value = self.take(name)
        return value if isinstance(value, list) else self._refuse(name, "a list", value)

    def flag(self, name: str) -> bool:
        """Take a boolean."""
        value = self.take(name)
        return value if isinstance(value, bool) else self._refuse(name, "true or false", value)

    def integer(self, name: str, low: int = 0, high: int = MOST) -> int:
        """Take a whole number from ``low`` to ``high``."""
        value = self.take(name)
        good = isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
        return int(value) if good else self._refuse(name, f"a whole number from {low} to {high}", value)

    def number(self, name: str, low: float = -math.inf, *, finite: bool = True) -> float:
        """Take a number of at least ``low``."""
        value = self.take(name)
        for infinite, word in _WORDS.items():
            if value == word and not finite:
                value = infinite
        good = isinstance(value, int | float) and not isinstance(value, bool) and value >= low
        return float(value) if good else self._refuse(name, f"a number of at least {low}", value)

    def text(self, name: str) -> str:
        """Take a short text."""
        return plain_text(self.take(name), f"{self.where}.{name}")

    def choice(self, name: str, options: Sequence[str]) -> Any:
        """Take one of the options."""
        value = self.take(name)
        good = isinstance(value, str) and value in options
        return value if good else self._refuse(name, f"one of {', '.join(options)}", value)

    def done(self) -> None:
        """Refuse a value that was not taken."""
        if self._left:
            raise FileFormatError(f"{self.where} has an unknown {_shown(min(self._left))}")

    def _refuse(self, name: str, expected: str, value: Any) -> NoReturn:
        raise FileFormatError(f"{self.where}.{name} should be {expected}, and is {_shown(value)}")


def plain_text(value: Any, where: str) -> str:
    """Check that a value is a short text without unpaired surrogates."""
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
        raise FileFormatError(f"{where} should be a text of at most {MOST_CHARACTERS} characters")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise FileFormatError(f"{where} holds half of a surrogate pair")
    return value


def _shown(value: Any) -> str:
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise FileFormatError("the header names a key twice")
    return fields


def _whole(digits: str) -> int:
    if len(digits) > 20:
        raise FileFormatError(f"the header holds a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise FileFormatError(f"the header holds a number that is not finite: {digits[:20]}")
    return value
