"""Attributes of transformers that are neither numbers nor texts, in files: arrays of objects, slices, and dicts."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..codec.header import FileFormatError, whole
from ..codec.reading import Section, require
from ..codec.writing import Arrays
from .models import LABELS

NUMBERS = (*LABELS, "float16")
#: Bytes of an object, for each byte of the text that holds it.
TIMES_OBJECTS = 32
#: What an array of objects may hold.
PLAIN = (str, int, float, bool, type(None))
#: Largest number of columns that a slice may speak of.
MOST_COLUMNS = 2**31

Item = Callable[[Any, str], Any]


def encode_object(value: Any, arrays: Arrays, place: str, item: Item) -> dict[str, Any] | None:
    """Describe a value; None if it is of no kind that is known here.

    Parameters
    ----------
    value : object
    arrays : dict from name to ndarray
        Receives the arrays.
    place : str
        Name of the value.
    item : callable
        item(value, place) describes a value inside of this one.

    Raises
    ------
    ValueError
        If an array holds something else than numbers, texts, booleans and None.
    """
    if isinstance(value, np.ndarray):
        if value.dtype.name in NUMBERS:
            arrays[f"{place}.array"] = np.ascontiguousarray(value)
            return {"array": "numbers"}
        if value.ndim != 1 or value.dtype.kind not in "OU":
            raise ValueError(f"no array of {value.dtype} is")
        text = json.dumps([_plain(each) for each in value.tolist()]).encode()
        parsed(text)
        _require_unicode(value)
        arrays[f"{place}.array"] = np.frombuffer(text, dtype=np.uint8)
        return {"array": "objects"}
    if isinstance(value, slice):
        return {"slice": [_end(value.start), _end(value.stop), _end(value.step)]}
    if isinstance(value, dict):
        return {"pairs": [[_plain(key), item(each, f"{place}.{i}")] for i, (key, each) in enumerate(value.items())]}
    if isinstance(value, float) and math.isnan(value):
        return {"number": "nan"}
    return None


def decode_object(section: Section, item: Item) -> Any:
    """Read what `encode_object` wrote; item(raw, name) reads a value inside of it."""
    if "array" in section:
        return _decode_array(section)
    if "slice" in section:
        ends = section.get("slice", list[int | None])
        require(len(ends) == 3, f"{section.where}.slice should have three parts")
        require(all(end is None or abs(end) <= MOST_COLUMNS for end in ends), f"{section.where}.slice is out of range")
        return slice(*ends)
    if "pairs" in section:
        pairs = section.take("pairs")
        good = isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs)
        require(good, f"{section.where}.pairs should be a list of pairs")
        require(all(type(key) in (str, int) for key, _ in pairs), f"{section.where}.pairs has a key that is none")
        return {key: item(each, f"{i}") for i, (key, each) in enumerate(pairs)}
    section.choice("number", ("nan",))
    return math.nan


#: Fields by which a description is known.
KINDS = ("array", "slice", "pairs", "number")


def _decode_array(section: Section) -> NDArray[Any]:
    kind = section.take("array")
    require(kind in ("numbers", "objects"), f"{section.where}.array should be numbers or objects")
    if kind == "numbers":
        return section.array("array", NUMBERS, ...)
    raw = section.array("array", ("uint8",), None).tobytes()
    section.room.reserve(TIMES_OBJECTS * len(raw), "objects of an estimator")
    values = parsed(raw)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def parsed(raw: bytes) -> list[Any]:
    """The values of an array of objects, from its JSON."""
    try:
        held: Any = json.loads(raw, parse_int=whole)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the objects of the file are no JSON: {error}") from None
    require(isinstance(held, list) and all(type(each) in PLAIN for each in held), "the objects of the file are no list")
    return list(held)


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if type(value) not in PLAIN:
        raise ValueError(f"{value!r} is neither text, number nor boolean")
    return value


def _end(value: Any) -> int | None:
    if value is not None and not isinstance(value, int | np.integer):
        raise ValueError("a slice of names is no plain value")
    return None if value is None else int(value)


def _require_unicode(values: NDArray[Any]) -> None:
    for value in values.tolist():
        if isinstance(value, str):
            value.encode()  # halves of surrogate pairs
