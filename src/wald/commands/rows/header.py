"""Decides from the first two lines whether a text table begins with names; ambiguous tables are an error."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from itertools import pairwise

from ..errors import UserError
from .schema import Reading, RowSchema, listed, select

#: Cells that mean a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None")
#: Booleans as pandas, polars and spreadsheets write them; models read them as numbers.
BOOLEANS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}
#: A line that counts from 0 is never a row if it has this many columns.
MANY = 8
#: A line of rising numbers is hardly ever a row if it has this many columns and the next line does not rise.
SOME = 5

_WHOLE = re.compile(r"0|[1-9][0-9]*")


def number(cell: str) -> float | None:
    """The number in a cell, NaN where it is missing, 1 and 0 where it is true or false; None for something else."""
    word = cell.strip()
    if word in MISSING:
        return float("nan")
    if word in BOOLEANS:
        return BOOLEANS[word]
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def begins_with_names(
    place: object, cells: list[str], below: list[str] | None, schema: RowSchema, reading: Reading
) -> bool:
    """Decide whether the first line holds names.

    Names:

    * all of the model's names, or a name that an option gives, are among the cells;
    * no cell is a number, or the model knows names and some cell is no number;
    * texts are above numbers, and there are more such columns than numbers in the line, or these numbers count from 0;
    * the numbers count from 0, and a row hardly would: there are at least 3 columns and the next line has fractions, or
      there are at least 8 columns.

    Ambiguous: all other lines with texts and numbers; and numbers that count from 0 or 1, have equal steps, are 5 or
    more in rising order above a line that does not rise, or are whole numbers above fractions.

    A row: all other lines of numbers.

    Parameters
    ----------
    place : object
        Name of the file in messages.
    cells : list of str
        Cells of the first line.
    below : list of str or None
        Cells of the second line, if there is one.
    schema : RowSchema
    reading : Reading

    Raises
    ------
    UserError
        If the line is ambiguous, or if the model needs names and there are only numbers.
    """
    if reading.header is not None:
        return reading.header
    if schema.is_named_by(cells):
        return True
    if any(word in cells and number(word) is None for word in reading.aside):
        return True
    values = [number(cell) for cell in cells]
    given = [cell for cell, value in zip(cells, values, strict=True) if value is not None and not math.isnan(value)]
    if None not in values:
        return _numbers_are_names(place, cells, below, schema, reading)
    if schema.names is not None or not given:
        return True
    above_numbers = [c for c, value in enumerate(values) if value is None and _is_number(below, c)]
    if len(above_numbers) > len(given) or (_counts_from(given, 0) and (above_numbers or _cannot_count(given, below))):
        return True
    raise _doubt(place, cells)


def _numbers_are_names(
    place: object, cells: list[str], below: list[str] | None, schema: RowSchema, reading: Reading
) -> bool:
    given = cells[1:] if len(cells) > 1 and cells[0] == "" else cells  # pandas writes an index without a name
    if not _may_be_names(given, below[-len(given) :] if below is not None else None):
        return False
    if (
        given is cells
        and len(cells) - len(reading.drop) - len(reading.keep) - bool(reading.groups) != schema.n_features
    ):
        select(place, len(cells), schema, reading)  # raises: they are not the model's columns
    if _counts_from(given, 0) and (_cannot_count(given, below) or (given is not cells and _is_number(below, 0))):
        return True
    raise _doubt(place, cells)


def _may_be_names(cells: Sequence[str], below: Sequence[str] | None) -> bool:
    """Whether distinct numbers may be names: they are ordered, or whole numbers above fractions."""
    values = [math.nan if (value := number(cell)) is None else value for cell in cells]
    if not all(math.isfinite(value) for value in values) or len(set(values)) < len(values):
        return False
    if values in ([float(i) for i in range(len(values))], [float(i + 1) for i in range(len(values))]):
        return True
    rising = _rises(values)
    steps = [b - a for a, b in pairwise(values)]
    if rising and len(values) > 2 and max(steps) - min(steps) <= 1e-6 * max(steps):
        return True
    others = None if below is None else [number(cell) for cell in below]
    if rising and len(values) >= SOME and not (others is not None and _rises(others)):
        return True
    return len(values) > 1 and all(map(_WHOLE.fullmatch, cells)) and _has_only_fractions(below)


def _rises(values: Sequence[float | None]) -> bool:
    return all(a is not None and b is not None and a < b for a, b in pairwise(values))


def _counts_from(cells: Sequence[str], first: int) -> bool:
    return list(cells) == [str(first + i) for i in range(len(cells))]


def _cannot_count(cells: Sequence[str], below: Sequence[str] | None) -> bool:
    """Whether a line that counts is hardly a row: the next line has fractions, or there are many columns."""
    fractions = below is not None and any(_is_number(below, c) and not _whole(below[c]) for c in range(len(below)))
    return len(cells) >= MANY or (len(cells) > 2 and fractions)


def _has_only_fractions(cells: Sequence[str] | None) -> bool:
    given = [c for c in cells if (value := number(c)) is not None and not math.isnan(value)] if cells else []
    return bool(given) and not any(_whole(cell) for cell in given)


def _whole(cell: str) -> bool:
    return cell.strip().lstrip("+-").isdecimal()


def _is_number(cells: Sequence[str] | None, column: int) -> bool:
    if cells is None or column >= len(cells):
        return False
    value = number(cells[column])
    return value is not None and not math.isnan(value)


def _doubt(place: object, cells: list[str]) -> UserError:
    return UserError(
        f"{place}: the first line may be column names or a row of numbers ({listed(cells)}). Say --header if they are "
        "names, and --no-header if it is a row."
    )
