"""Reads Parquet files in batches, with polars or pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...jobs.distinct import distinct_values, holds_categories, holds_numbers
from ..answers import reason
from ..errors import UserError
from .schema import Distinct, Part, Reading, RowSchema, first_bad, listed, not_finite, select
from .source import Source

#: Largest number of values in a batch.
AT_ONCE = 4 << 20
#: Names of the float32 type in polars and pyarrow.
SINGLE = ("Float32", "float")


T = TypeVar("T")
#: Numbers, other columns, and columns of categories.
Batch = tuple[NDArray[Any], dict[str, NDArray[Any]], dict[str, Distinct]]


class _File(Protocol):
    names: list[str]
    n_rows: int

    def kind(self, column: str) -> str: ...

    def is_number(self, column: str) -> bool: ...

    def is_text(self, column: str) -> bool: ...

    def batches(
        self, features: list[str], others: list[str], single: bool, size: int, coded: list[str]
    ) -> Iterator[Batch]: ...


def read_parquet(path: Source, schema: RowSchema, reading: Reading) -> Iterator[Part]:
    """Read rows of a Parquet file, as float32 arrays if all feature columns are float32, else as float64.

    Parameters
    ----------
    path : Source
    schema : RowSchema
    reading : Reading

    Yields
    ------
    Part
    """
    file = _opened(path)
    selection, places = schema.split(select(path, file.names, schema, reading))
    coded = {c: file.names[place] for c, place in places.items()}
    if file.n_rows == 0:
        raise UserError(f"{path} is empty: it has columns, and no rows.")
    features = [file.names[c] for c in selection.features]
    wanted = {*selection.kept, selection.groups} - {None}
    others = [file.names[c] for c in selection.others if c in wanted]  # the other ones are categories
    twice = [
        name
        for name, times in Counter(file.names).items()
        if times > 1 and name in {*features, *others, *coded.values()}
    ]
    if twice:
        raise UserError(f"{path} has more than one column called {listed(twice)}, and columns are read by name.")
    unfit = [name for name in features if not file.is_number(name)]
    unfit += [name for name in coded.values() if not (file.is_number(name) or file.is_text(name))]
    if unfit:
        hint = schema.hint or " Leave out what is no feature with --drop COLUMN."
        if schema.names is not None:  # the model's own columns, which cannot be left out
            hint = schema.hint or " The model takes numbers in these columns."
            hint = " The model takes texts or numbers in these columns." if unfit[0] in coded.values() else hint
        raise UserError(f"{path}: no numbers in {listed(unfit)} (the first: {file.kind(unfit[0])}).{hint}")
    single = {file.kind(name) for name in features} - {"null", "Null"} <= {*SINGLE}  # nulls are missing values
    groups = None if selection.groups is None else file.names[selection.groups]
    start = 0
    size = max(1, AT_ONCE // max(1, len(features) + len(coded)))
    batches = file.batches(features, others, single, size, list(coded.values()))
    while (batch := _checked(path, lambda: next(batches, None))) is not None:
        values, texts, distinct = batch
        bad = first_bad(values, schema)
        if bad is not None:
            place = f"{path}, row {start + bad[0]} (from 0), column {features[bad[1]]!r}"
            raise not_finite(place, float(values[bad]))
        start += len(values)
        kept = {file.names[c]: texts[file.names[c]] for c in selection.kept}
        rows: Any = values
        if coded:
            rows = schema.frame(path, values, {c: distinct[name] for c, name in coded.items()}, ())
        yield Part(rows, None if groups is None else texts[groups], start / file.n_rows, kept, selection.left_out)
    if start != file.n_rows:
        raise UserError(f"{path} is damaged: it announces {file.n_rows} rows, and holds {start}.")


def _opened(path: Source) -> _File:
    if find_spec("pyarrow") is not None:  # polars ends the process on some damaged files
        return _checked(path, lambda: _Arrow(path.path))
    if find_spec("polars") is not None:
        return _checked(path, lambda: _Polars(path.path))
    raise UserError("Parquet files are read with polars or pyarrow, and neither is installed: pip install polars.")


def _checked(path: Source, step: Callable[[], T]) -> T:
    """Call ``step``; the libraries' errors become `UserError`."""
    try:
        return step()
    except Exception as error:  # both libraries raise many types for damaged files
        raise UserError(f"{path} cannot be read as Parquet: {reason(error)}") from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # polars panics on some damaged files
            raise
        raise UserError(f"{path} cannot be read as Parquet: {reason(error)}") from error


class _Polars:
    def __init__(self, path: Any) -> None:
        import polars

        self._frame = polars.scan_parquet(path, glob=False)
        self._schema = self._frame.collect_schema()
        self.names = list(self._schema.names())
        self.n_rows = int(self._frame.select(polars.len()).collect().item())

    def kind(self, column: str) -> str:
        return str(self._schema[column])

    def is_number(self, column: str) -> bool:
        return bool(self._schema[column].is_numeric()) or self.kind(column) in ("Boolean", "Null")

    def is_text(self, column: str) -> bool:
        return self.kind(column).startswith(("String", "Categorical", "Enum"))

    def batches(
        self, features: list[str], others: list[str], single: bool, size: int, coded: list[str]
    ) -> Iterator[Batch]:
        import polars

        kind = polars.Float32 if single else polars.Float64
        columns = list(dict.fromkeys([*features, *others, *coded]))
        for start in range(0, self.n_rows, size):
            batch = self._frame.select(columns).slice(start, size).collect()
            values = np.ascontiguousarray(batch.select(polars.col(features).cast(kind)).to_numpy())
            values = values if features else np.empty((len(batch), 0))
            distinct = {name: _distinct(batch[name].to_list()) for name in coded}
            yield values, {name: batch[name].to_numpy() for name in others}, distinct


def _distinct(values: list[Any]) -> Distinct:
    number_of = {value: i for i, value in enumerate(dict.fromkeys(values))}
    return list(number_of), np.array([number_of[value] for value in values], dtype=np.intp)


class _Arrow:
    def __init__(self, path: Any) -> None:
        from pyarrow.parquet import ParquetFile

        self._file = ParquetFile(path)
        self._schema = self._file.schema_arrow
        self.names = list(self._schema.names)
        self.n_rows = int(self._file.metadata.num_rows)

    def kind(self, column: str) -> str:
        return str(self._schema.field(column).type)

    def is_number(self, column: str) -> bool:
        return holds_numbers(self._schema.field(column).type)

    def is_text(self, column: str) -> bool:
        return holds_categories(self._schema.field(column).type)

    def batches(
        self, features: list[str], others: list[str], single: bool, size: int, coded: list[str]
    ) -> Iterator[Batch]:
        import pyarrow

        kind = pyarrow.float32() if single else pyarrow.float64()
        columns = list(dict.fromkeys([*features, *others, *coded]))
        for batch in self._file.iter_batches(size, columns=columns):
            cast = [batch.column(name).cast(kind, safe=False) for name in features]
            arrays = [column.to_numpy(zero_copy_only=False) for column in cast]
            values = np.column_stack(arrays) if arrays else np.empty((batch.num_rows, 0))
            distinct = {name: distinct_values(batch.column(name)) for name in coded}
            yield values, {name: batch.column(name).to_numpy(zero_copy_only=False) for name in others}, distinct
