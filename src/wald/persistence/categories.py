"""The categories of a model's columns in a file: a JSON text of numbers, texts and booleans."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from ..codec.header import FileFormatError, whole
from ..codec.reading import BAD_VALUES, Section, require
from ..steps.categories import CategoryTable
from ..steps.encoded_categories import CODES
from .models import LABELS

#: Bytes of a category's object, for each byte of the text.
TIMES_OBJECTS = 32
PLAIN = (str, int, float, bool, type(None))


def category_fields(step: Any) -> dict[str, Any] | None:
    """What a file holds of a step of codes; None if it cannot hold a category."""
    kind = next((name for name, known in CODES.items() if type(step) is known), None)
    if kind is None:
        return None
    table = step.table()
    values = [[_plain(value) for value in known] for known in table.categories]
    try:
        text = json.dumps(values, default=_refuse).encode()
        json.dumps(values, ensure_ascii=False).encode()  # refuses halves of surrogate pairs
        _parsed(text)
    except ValueError:
        return None
    dtypes = [known.dtype.name if isinstance(known, np.ndarray) else "list" for known in table.categories]
    return {
        "codes": kind,
        "n_columns": int(table.n_columns),
        "columns": [int(column) for column in table.columns],
        # texts of NumPy become objects, which scikit-learn compares with texts of any length
        "dtypes": [name if name in ("list", *LABELS) else "object" for name in dtypes],
        "by_name": table.names is not None,
        "values": np.frombuffer(text, dtype=np.uint8),
    }


def _plain(value: Any) -> Any:
    """A category as JSON has it: bytes, which XGBoost has in place of texts, as texts of their numbers."""
    value = value.item() if isinstance(value, np.generic) else value
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _refuse(value: Any) -> Any:
    raise ValueError(f"{value!r} is neither text, number nor boolean")


def decode_categories(section: Section, n_columns: int, names: list[str] | None) -> Any:
    """Make the step that `category_fields` described; ``names`` are those of the columns."""
    kind = section.choice("codes", tuple(CODES))
    require(section.integer("n_columns", 1) == n_columns, f"{section.where}.n_columns fits no coefficients")
    dtypes, by_name = section.get("dtypes", list[str]), section.get("by_name", bool)
    require(not by_name or names is not None, f"{section.where}.by_name speaks of names that are not there")
    columns = section.get("columns", list[int])
    good = columns == sorted(set(columns)) and all(0 <= column < n_columns for column in columns)
    given = len(columns) in ((0, len(dtypes)) if kind == "ordered" else (len(dtypes),))
    require(good and given and len(dtypes) > 0, f"{section.where}.columns are no columns of categories")
    raw = section.array("values", ("uint8",), None).tobytes()
    section.done()
    section.room.reserve(TIMES_OBJECTS * len(raw), "categories")
    held = _parsed(raw)
    fits = len(held) == len(dtypes) and all(type(value) in PLAIN for known in held for value in known)
    require(fits, f"the array '{section.called('values')}' holds what is no category")
    if kind == "named":
        held = [[value.encode("latin-1") if isinstance(value, str) else value for value in known] for known in held]
    known = [_known(values, dtype, section, kind) for values, dtype in zip(held, dtypes, strict=True)]
    try:
        return CODES[kind].of_table(CategoryTable(n_columns, columns, known, names if by_name else None))
    except BAD_VALUES as error:  # of scikit-learn's encoder
        raise FileFormatError(f"the categories of the file make no encoder: {error}") from None


def _parsed(raw: bytes) -> list[list[Any]]:
    try:
        held: Any = json.loads(raw, parse_int=whole)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"the categories of the file are no JSON: {error}") from None
    require(isinstance(held, list) and all(isinstance(known, list) for known in held), "the categories are no lists")
    return list(held)


def _known(values: list[Any], dtype: str, section: Section, kind: str) -> Any:
    """The categories of one column, all different."""
    where = section.where
    seen = {(type(value) is str, "nan" if value != value else value) for value in values}
    require(len(seen) == len(values), f"{where}.values holds a category twice")
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
