"""Records: dicts, named tuples and rows of pandas frames, each of which has the names of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from numbers import Number
from typing import Any, Protocol

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from .cells import Cells, Objects, objects_of
from .schema import Schema, listed
from .source import PLAIN, Conversion, Source
from .values import is_missing, number_at


class Coding(Protocol):
    """What gives a number for each category of a column."""

    def code_of(self, column: int, value: Any) -> float | None:
        """Code of a value; None if its column holds numbers. Raises TypeError or ValueError for an unknown one."""


class RecordSource(Source):
    """Records.

    Parameters
    ----------
    records : sequence of dict
        From name to value, in any order.
    schema : Schema
        It has names, which are those of the columns.
    where : callable
        From the number of a record to its name in messages.
    """

    rows: Any = None
    n_columns: int
    names: Sequence[str]

    def __init__(self, records: Sequence[Mapping[Any, Any]], schema: Schema, where: Callable[[int], str]) -> None:
        assert schema.names is not None
        self.rows, self.names, self._schema, self._where = records, schema.names, schema, where
        self.n_rows, self.n_columns = len(records), len(schema.names)
        self._spelled = [spelled(record, schema) for record in records]

    def take(self, rows: NDArray[np.intp] | slice) -> RecordSource:
        """Give the records at these places."""
        numbers = np.arange(self.n_rows)[rows]
        return RecordSource([self.rows[i] for i in numbers], self._schema, lambda i: self._where(int(numbers[i])))

    def array(self, conversion: Conversion = PLAIN) -> NDArray[np.float64]:
        """The values as numbers; NaN where one is missing."""
        self.require(self.names, self.names)
        return self.numbers(True)

    def objects(self) -> NDArray[Any]:
        """The values in the order of the columns."""
        values = [[record[name] for name in self.names] for record in self._spelled]
        return np.array(values, dtype=object).reshape(self.shape)

    def cells(self, column: int) -> Cells:
        """The objects under one name; all records must have it."""
        name = self.names[column]
        return Objects(("records", "object"), objects_of([record[name] for record in self._spelled]))

    def places(self, names: Sequence[str]) -> Iterator[tuple[Callable[[int], str], list[Any]]]:
        """The words for the place of a value by the number of its record, and the values, name by name."""
        for name in names:
            yield partial(self._place, name), [record.get(name) for record in self._spelled]

    def _place(self, name: str, record: int) -> str:
        return f"{self._where(record)}[{name!r}]"

    def require(self, needed: Sequence[str], allowed: Sequence[str]) -> None:
        """Raise ValueError if a record lacks a name that is needed, or has one that is not allowed."""
        must = self._schema.known if needed is self.names else frozenset(needed)
        may = must if allowed is needed else frozenset(allowed)
        for i, record in enumerate(self._spelled):
            if not isinstance(record, Mapping):
                found = type(record).__name__
                raise TypeError(f"{self._where(i)} must be a dict from feature name to value. Got {found}.")
            if record.keys() == must if may is must else record.keys() <= may and must <= record.keys():
                continue
            wrong = []
            missing = [name for name in needed if name not in record]
            if missing:
                wrong.append(f"lacks {listed(missing)}")
            unknown = [name for name in record if name not in may]
            if unknown:
                wrong.append(f"has {listed(unknown)}, which the model does not know")
            raise ValueError(f"{self._where(i)} {' and '.join(wrong)}. The features are {listed(allowed)}.")

    def numbers(self, allow_nan: bool, coding: Coding | None = None) -> NDArray[np.float64]:
        """The values as numbers, and as codes where ``coding`` has some for their column; all names must be there.

        Parameters
        ----------
        allow_nan : bool
            Whether values may be missing.
        coding : Coding or None, default=None
        """
        rows = [list(map(record.__getitem__, self.names)) for record in self._spelled]
        if coding is None:
            try:
                table = np.array(rows)
            except ValueError:  # a value that is a list
                table = np.empty(0, dtype=object)
            if table.dtype.kind in "biuf" and table.ndim == 2:
                return np.ascontiguousarray(table, dtype=np.float64)
        values = np.empty(self.shape)
        for i, row in enumerate(rows):
            for c, (name, value) in enumerate(zip(self.names, row, strict=True)):
                code = None if coding is None else self._code(coding, i, c, value)
                at = partial("{}[{!r}]".format, self._where(i), name)
                values[i, c] = number_at(value, at, allow_nan) if code is None else code
        return values

    def _code(self, coding: Coding, i: int, column: int, value: Any) -> float | None:
        try:
            return coding.code_of(column, value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{self._where(i)}[{self.names[column]!r}] {error}") from None

    def columns(self, names: Sequence[str]) -> dict[str, Any]:
        """The columns of these names that all records have, for a frame."""
        return {
            name: column_of([record[name] for record in self._spelled])
            for name in names
            if all(name in record for record in self._spelled)
        }


def named_rows(X: Any, schema: Schema) -> list[Mapping[Any, Any]] | None:
    """Rows of a list as records, if they have names: dicts, named tuples and rows of pandas frames; else None.

    Raises
    ------
    TypeError
        If some rows have names, and others have none.
    """
    if not isinstance(X, list | tuple) or hasattr(X, "_asdict"):
        return None
    records = [as_record(x, schema) for x in X]
    if all(record is None for record in records):
        return None
    if None in records:
        where = records.index(None)
        raise TypeError(f"Some rows of X have names, and X[{where}], a {type(X[where]).__name__}, has none.")
    return records  # type: ignore[return-value]  # none of them is None


def as_record(x: Any, schema: Schema) -> Mapping[Any, Any] | None:
    """Names and values of a dict, a named tuple or a row of a pandas frame; None for rows without names."""
    if isinstance(x, Mapping):
        return x
    if isinstance(x, tuple) and hasattr(x, "_asdict"):
        return dict(x._asdict())
    if nw.dependencies.is_pandas_series(x) and len(x) and _are_names(x.index, schema):
        if not x.index.is_unique:
            repeated = x.index[x.index.duplicated()][0]
            raise ValueError(f"x must have each name once. Got {repeated!r} several times in its index.")
        return dict(zip(x.index, x.tolist(), strict=True))
    return None


def _are_names(index: Any, schema: Schema) -> bool:
    """Whether the index of a Series names columns, and does not just number its values."""
    if all(isinstance(name, str) for name in index):
        return True
    if schema.names is None or schema.library not in ("lightgbm", "xgboost", "catboost"):
        return False  # scikit-learn knows no names that are numbers
    numbers = all(name.isdecimal() for name in schema.names)
    return {schema.spelled(name) for name in index} == set(schema.names) or (
        numbers and list(index) != list(range(len(index)))
    )


def require_records(records: Any, for_one: str, for_frames: str) -> None:
    """Raise TypeError, naming the methods to use, for anything but a list of records."""
    is_list = hasattr(records, "__len__") and hasattr(records, "__getitem__") and getattr(records, "ndim", 1) > 0
    if isinstance(records, str | bytes | Mapping) or not is_list or hasattr(records, "columns"):
        hint = f": for one record use {for_one}" if isinstance(records, Mapping) else ""
        hint = f": for a data frame use {for_frames}" if hasattr(records, "columns") else hint
        raise TypeError(f"records must be a list of dicts. Got {type(records).__name__}{hint}.")


def spelled(record: Any, schema: Schema) -> Any:
    """A record with the names of its values as the model's library writes them."""
    known = schema.known
    if not isinstance(record, Mapping) or record.keys() <= known:
        return record
    spelled: dict[Any, Any] = {}
    for given, value in record.items():
        name = given if given in known else schema.spelled(given)
        if name is not given and (name in record or name in spelled):
            name = given  # two values for one column: the one by another name is unknown
        spelled[name] = value
    return spelled


def column_of(values: list[Any]) -> Any:
    """Values of a column for a frame: of one kind, whichever object stands for the missing ones."""
    missing = [is_missing(value) for value in values]
    if not any(missing):
        return values
    others = [value for value, lacks in zip(values, missing, strict=True) if not lacks]
    if others and all(isinstance(value, Number) and not isinstance(value, complex) for value in others):
        return np.array([math.nan if lacks else value for value, lacks in zip(values, missing, strict=True)], float)
    kept = (type(value) is float for value in values)  # NaN stays NaN, which encoders tell from None
    return [value if keep or not lacks else None for value, lacks, keep in zip(values, missing, kept, strict=True)]
