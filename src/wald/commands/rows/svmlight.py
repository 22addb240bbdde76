"""Reads svmlight and libsvm files, as a whole: whether indices begin at 0 or 1 depends on all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sklearn.datasets import load_svmlight_file

from ..errors import UserError
from .schema import Part, Reading, RowSchema, first_bad, not_finite, short
from .source import Source

#: What names the group of a row.
QID = "qid"
#: An index has fewer digits than this.
DIGITS = 16
#: Largest number of stored values in a part.
AT_ONCE = 4 << 20


def read_rows(path: Source, schema: RowSchema, reading: Reading, whole: bool) -> Iterator[Part]:
    """Read rows of an svmlight file as CSR matrices, or as arrays for a model that takes no sparse rows.

    Rows have the model's number of features; labels are ignored.

    Parameters
    ----------
    path : Source
    schema : RowSchema
    reading : Reading
    whole : bool
        Whether to give all rows in one part.

    Yields
    ------
    Part
    """
    for option, given in (("--drop", reading.drop), ("--keep", reading.keep)):
        if given:
            raise UserError(f"{option} speaks of columns, and {path} is svmlight, whose labels are passed over anyway.")
    if reading.groups not in (None, QID):
        raise UserError(f"--groups: {path} is svmlight, whose groups are called {QID}. Got {reading.groups!r}.")
    rows, groups = _rows(path, schema, reading)
    if rows.shape[0] == 0:
        raise UserError(f"{path} is empty.")
    width = math.ceil(rows.nnz / rows.shape[0]) if schema.sparse else schema.n_features
    step = rows.shape[0] if whole else max(1, AT_ONCE // max(1, width))
    for start in range(0, rows.shape[0], step):
        some = rows[start : start + step]
        own = None if groups is None else groups[start : start + step]
        yield Part(some if schema.sparse else some.toarray(), own, min(1.0, (start + step) / rows.shape[0]))


def _rows(path: Source, schema: RowSchema, reading: Reading) -> tuple[Any, Any]:
    """Rows, and the groups that they name if these are wanted."""
    zero_based, groups = reading.zero_based, None
    try:
        based = "auto" if zero_based is None else zero_based
        with path.decompressed() as (file, _):
            rows, _, named = load_svmlight_file(file, n_features=schema.n_features, zero_based=based, query_id=True)
    except (ValueError, OverflowError, TypeError, IndexError, MemoryError) as error:
        _raise_for_invalid_entry(path, schema, zero_based)
        raise UserError(f"{path}: {' '.join(str(error).split())}") from error
    if first_bad(rows.data[:, None], schema) is not None:
        _raise_for_invalid_entry(path, schema, zero_based)
    if reading.groups is not None:
        groups = named
        if len(groups) != rows.shape[0]:
            raise UserError(f"{path}: --groups {QID}, and {len(groups)} of its {rows.shape[0]} rows have a {QID}.")
    return rows, groups


def _raise_for_invalid_entry(path: Source, schema: RowSchema, zero_based: bool | None) -> None:
    """Raise UserError for the first invalid entry, with its line; return if there is none."""
    lowest = 0 if zero_based or (zero_based is None and _has_zero(path)) else 1
    with path.decompressed() as (file, _):
        for at, line in enumerate(file, 1):
            cells = line.partition(b"#")[0].split()
            last = lowest - 1
            for position, cell in enumerate(cells):
                place = f"{path}, line {at}"
                text = cell.decode("utf-8", "replace")
                index, colon, value = text.partition(":")
                if index == QID and colon:
                    continue
                if position == 0:
                    if _float(text) is None:
                        raise UserError(f"{place}: the label {short(text)} is not a number.")
                    continue
                number = _float(value)
                if not (colon and index.isdecimal() and len(index) < DIGITS) or number is None:
                    raise UserError(f"{place}: {short(text)} is not INDEX:VALUE.")
                if int(index) <= last:
                    raise UserError(f"{place}: the index {index} comes after {last}; they must rise, from {lowest} on.")
                last = int(index)
                if last - lowest >= schema.n_features:
                    raise UserError(f"{place}: the index {index} is beyond the model's {schema.n_features} features.")
                if not (schema.allow_nan if math.isnan(number) else schema.allow_inf or math.isfinite(number)):
                    raise not_finite(f"{place}, index {index}", number)


def _has_zero(path: Source) -> bool:
    with path.decompressed() as (file, _):
        return any(cell.startswith(b"0:") for line in file for cell in line.partition(b"#")[0].split())


def _float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
