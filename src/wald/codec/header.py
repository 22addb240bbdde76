"""The JSON header of a file, parsed without trust."""

from __future__ import annotations

import json
import math
import re
from typing import Any

#: Limits of a header: bytes, depth of nesting, and separators.
MOST_BYTES, MOST_DEPTH, MOST_TOKENS = 1 << 20, 24, 1 << 17
#: Characters of a text, at most.
MOST_CHARACTERS = 1000
#: Up to this magnitude, float64 holds every whole number exactly.
MOST, MOST_DIGITS = 2**53, 20

# An unterminated string matches up to the end of the header, so that the scan is linear whatever the bytes are.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]|,', re.DOTALL)
#: Infinite numbers, of which JSON has none.
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


class FileFormatError(ValueError):
    """A file is no file of wald's, is damaged, or says something that cannot be. The message says what and where.

    Examples
    --------
    >>> parse(b'{"n_classes": NaN}')
    Traceback (most recent call last):
        ...
    wald.codec.header.FileFormatError: the header holds a number that is not finite: NaN
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
            parse_int=whole,
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
    """Convert a number for the header: infinities become texts."""
    return next((word for word, infinite in INFINITIES.items() if value == infinite), float(value))


def plain_text(value: Any, where: str) -> str:
    """Check that a value is a short text without unpaired surrogates."""
    if not isinstance(value, str) or len(value) > MOST_CHARACTERS:
        raise FileFormatError(f"{where} should be a text of at most {MOST_CHARACTERS} characters")
    if not value.isascii() and any("\ud800" <= character <= "\udfff" for character in value):
        raise FileFormatError(f"{where} holds half of a surrogate pair")
    return value


def shown(value: Any) -> str:
    """A value as messages show it."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    text = ascii(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise FileFormatError("the header names a key twice")
    return fields


def whole(digits: str) -> int:
    """Read a whole number of few digits; Python itself takes time quadratic in their number."""
    if len(digits) > MOST_DIGITS:
        raise FileFormatError(f"the header holds a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise FileFormatError(f"the header holds a number that is not finite: {digits[:20]}")
    return value
