"""The categories of a model's columns, as numbers and texts of a file."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from ..codec.arrays import INDICES, Arrays, Stock, require
from ..codec.header import FileFormatError, Section
from ..codec.room import TEXT_OBJECT
from ..models.categories import CategoryTable
from ..models.encoded_categories import CODES
from .models import LABELS

#: Kinds of a category, by their numbers in a file, and how each is written as bytes.
TEXT, BYTES, INTEGER, FLOAT, BOOLEAN, NONE = range(6)
PREFIX = "categories."
#: Digits of an integer; Python itself takes time quadratic in their number.
MOST_DIGITS = 20
_INTEGER = re.compile(rb"-?[0-9]{1,%d}" % MOST_DIGITS)


def encode(step: Any, arrays: Arrays) -> dict[str, Any] | None:
    """Put a step's table into ``arrays`` and return its other fields; None if a file cannot hold a category."""
    kind = next((name for name, known in CODES.items() if type(step) is known), None)
    if kind is None:
        return None
    table = step.table()
    values, kinds = [], []
    for value in (each for known in table.categories for each in known):
        written = _written(value.item() if isinstance(value, np.generic) else value)
        if written is None:
            return None
        kinds.append(written[0])
        values.append(written[1])
    arrays[PREFIX + "values"] = np.frombuffer(b"".join(values), dtype=np.uint8)
    arrays[PREFIX + "ends"] = np.cumsum([len(value) for value in values], dtype=np.int64)
    arrays[PREFIX + "kinds"] = np.array(kinds, dtype=np.uint8)
    arrays[PREFIX + "sizes"] = np.array([len(known) for known in table.categories], dtype=np.int64)
    arrays[PREFIX + "columns"] = np.array(table.columns, dtype=np.int64)
    dtypes = [known.dtype.name if isinstance(known, np.ndarray) else "list" for known in table.categories]
    # texts of NumPy become objects, which scikit-learn compares with texts of any length
    dtypes = [name if name in ("list", *LABELS) else "object" for name in dtypes]
    return {"codes": kind, "n_columns": int(table.n_columns), "dtypes": dtypes, "by_name": table.names is not None}


def decode(section: Section, stock: Stock, n_columns: int, names: list[str] | None) -> Any:
    """Make the step that `encode` described; ``names`` are those of the columns."""
    kind = section.choice("codes", tuple(CODES))
    require(section.integer("n_columns", 1) == n_columns, f"{section.where}.n_columns fits no coefficients")
    dtypes = section.items("dtypes")
    by_name = section.flag("by_name")
    require(not by_name or names is not None, f"{section.where}.by_name speaks of names that are not there")
    section.done()
    raw = stock.take(PREFIX + "values", ("uint8",), None).tobytes()
    ends = stock.integers(PREFIX + "ends", INDICES, None, low=0, high=len(raw) + 1)
    n = len(ends)
    kinds = stock.integers(PREFIX + "kinds", ("uint8",), n, low=TEXT, high=NONE + 1)
    stock.room.reserve(2 * TEXT_OBJECT * n + 8 * len(raw), "categories")
    starts = np.concatenate([[0], ends])
    rises = bool(np.all(starts[:-1] <= starts[1:])) and starts[-1] == len(raw)
    require(rises, f"the array '{PREFIX}ends' does not rise to the end")
    sizes = stock.integers(PREFIX + "sizes", INDICES, len(dtypes), low=0, high=n + 1)
    require(len(sizes) <= n_columns and int(sizes.sum()) == n, f"the array '{PREFIX}sizes' does not add up")
    columns = stock.integers(PREFIX + "columns", INDICES, None, low=0, high=n_columns).tolist()
    good = columns == sorted(set(columns)) and len(columns) in ((0, len(sizes)) if kind == "ordered" else (len(sizes),))
    require(good and len(sizes) > 0, f"the array '{PREFIX}columns' holds no columns of categories")
    bounds = starts.tolist()
    values = [_read(k, raw[bounds[i] : bounds[i + 1]]) for i, k in enumerate(kinds.tolist())]
    categories: list[Any] = []
    stops = np.cumsum(sizes).tolist()
    for dtype, size, stop in zip(dtypes, sizes.tolist(), stops, strict=True):
        categories.append(_known(values[stop - size : stop], dtype, section.where, kind))
    try:
        return CODES[kind].of_table(CategoryTable(n_columns, columns, categories, names if by_name else None))
    except (ValueError, TypeError, IndexError) as error:  # of scikit-learn's encoder
        raise FileFormatError(f"the categories of the file make no encoder: {error}") from None


def _known(values: list[Any], dtype: Any, where: str, kind: str) -> Any:
    """The categories of one column, all different."""
    seen = {(type(value) is str, "nan" if value != value else value) for value in values}
    require(len(seen) == len(values), f"the array '{PREFIX}values' holds a category twice")
    require(dtype == "list" if kind == "ordered" else dtype in ("object", *LABELS), f"{where}.dtypes is unknown")
    if dtype == "list":
        return values
    if dtype == "object":
        allowed: tuple[type, ...] = (bytes,) if kind == "named" else (str, int, float, bool, type(None))
        require(all(isinstance(value, allowed) for value in values), f"{where}.dtypes does not fit the categories")
        known = np.empty(len(values), dtype=object)
        known[:] = values
        return known
    numbers = all(isinstance(value, int | float) for value in values)
    require(numbers, f"{where}.dtypes does not fit the categories")
    try:
        with np.errstate(over="ignore", invalid="ignore"):
            known = np.array(values, dtype=dtype)
    except (ValueError, OverflowError):
        raise FileFormatError(f"{where}.dtypes does not fit the categories") from None
    exact = all(a == b or (a != a and b != b) for a, b in zip(known.tolist(), values, strict=True))
    require(exact, f"{where}.dtypes does not fit the categories")
    return known


def _written(value: Any) -> tuple[int, bytes] | None:
    """Kind and bytes of a category; None if it is none that a file can hold."""
    if value is None:
        return NONE, b""
    if isinstance(value, bool):
        return BOOLEAN, b"1" if value else b"0"
    if isinstance(value, int):
        written = str(value).encode()
        return (INTEGER, written) if _INTEGER.fullmatch(written) else None
    if isinstance(value, float):
        return FLOAT, value.hex().encode()
    if isinstance(value, bytes):
        return BYTES, value
    try:
        return (TEXT, value.encode("utf-8")) if isinstance(value, str) else None
    except UnicodeEncodeError:  # half of a surrogate pair
        return None


def _read(kind: int, raw: bytes) -> Any:
    """The category of which `_written` gave kind and bytes."""
    try:
        if kind == TEXT:
            return raw.decode("utf-8")
        if kind == INTEGER and _INTEGER.fullmatch(raw):
            return int(raw)
        if kind == FLOAT and len(raw) <= 40:
            return float.fromhex(raw.decode("ascii"))
    except (ValueError, OverflowError):
        raise FileFormatError(f"the array '{PREFIX}values' holds what is no category") from None
    if kind == BYTES:
        return raw
    if (kind == BOOLEAN and raw in (b"0", b"1")) or (kind == NONE and not raw):
        return raw == b"1" if kind == BOOLEAN else None
    raise FileFormatError(f"the array '{PREFIX}values' holds what is no category")
