"""Reads Parquet files in batches, with polars or pyarrow."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...jobs.distinct import distinct_values, holds_categories, holds_numbers
from ..answers import reason
from ..errors import UserError
from .schema import Distinct, Part, Reading, RowSchema, Selection, distinct, first_bad, listed, not_finite, select
from .source import Source

#: Largest number of values in a batch.
AT_ONCE = 4 << 20
#: Names of the float32 type in polars and pyarrow.
SINGLE = ("Float32", "float")

T = TypeVar("T")


def read_rows(path: Source, schema: RowSchema, reading: Reading, whole: bool) -> Iterator[Part]:
    """Read rows of a Parquet file, as float32 arrays if all feature columns are float32, else as float64.

    Parameters
    ----------
    path : Source
    schema : RowSchema
    reading : Reading
    whole : bool
        Not used: rows come in batches.

    Yields
    ------
    Part
    """
    if schema.typed is not None:
        from .typed_parquet import read_typed_rows

        yield from read_typed_rows(path, schema, reading)
        return
    file = _opened(path)
    selection, places = schema.split(select(path, file.names, schema, reading))
    columns = columns_to_read(path, file, selection)
    features = [file.names[c] for c in selection.features]
    coded = {c: file.names[place] for c, place in places.items()}
    unfit = [name for name in features if not file.is_number(name)]
    unfit += [name for name in coded.values() if not (file.is_number(name) or file.is_text(name))]
    if unfit:
        hint = schema.hint or " Leave out what is no feature with --drop COLUMN."
        if schema.names is not None:  # the model's own columns, which cannot be left out
            hint = schema.hint or " The model takes numbers in these columns."
            hint = " The model takes texts or numbers in these columns." if unfit[0] in coded.values() else hint
        raise UserError(f"{path}: no numbers in {listed(unfit)} (the first: {file.kind(unfit[0])}).{hint}")
    single = {file.kind(name) for name in features} - {"null", "Null"} <= {*SINGLE}  # nulls are missing values

    def rows_of(batch: Any, start: int) -> Any:
        rows = _checked(path, lambda: file.numbers(batch, features, single))
        bad = first_bad(rows, schema)
        if bad is not None:
            place = f"{path}, row {start + bad[0]} (from 0), column {features[bad[1]]!r}"
            raise not_finite(place, float(rows[bad]))
        if not coded:
            return rows
        return schema.frame(path, rows, {c: file.distinct(batch[name]) for c, name in coded.items()}, ())

    size = max(1, AT_ONCE // max(1, len(features) + len(coded)))
    yield from parts(path, file, selection, file.batches(columns, size), rows_of)


def columns_to_read(path: Source, file: _Polars | _Arrow, selection: Selection) -> list[str]:
    """Names of the columns to read. Raises UserError if a name stands for several, or the file has no rows."""
    if file.n_rows == 0:
        raise UserError(f"{path} is empty: it has columns, and no rows.")
    columns = list(dict.fromkeys(file.names[c] for c in (*selection.features, *selection.others)))
    twice = [name for name in columns if file.names.count(name) > 1]
    if twice:
        raise UserError(f"{path} has more than one column called {listed(twice)}, and columns are read by name.")
    return columns


def parts(
    path: Source,
    file: _Polars | _Arrow,
    selection: Selection,
    batches: Iterator[Any],
    rows_of: Callable[[Any, int], Any],
) -> Iterator[Part]:
    """Make a part of each batch: `rows_of` makes the rows, from the batch and the number of its first row."""
    groups = None if selection.groups is None else file.names[selection.groups]
    kept = [file.names[c] for c in selection.kept]
    start = 0
    while (batch := _checked(path, lambda: next(batches, None))) is not None:
        rows = rows_of(batch, start)
        start += len(batch)
        texts = {name: file.values(batch[name]) for name in {*kept, groups} - {None}}
        part = {name: texts[name] for name in kept}
        yield Part(rows, None if groups is None else texts[groups], start / file.n_rows, part, selection.left_out)
    if start != file.n_rows:
        raise UserError(f"{path} is damaged: it announces {file.n_rows} rows, and holds {start}.")


def opened_by_arrow(path: Source) -> _Arrow:
    """Open a file with pyarrow."""
    return _checked(path, lambda: _Arrow(path.path))


def _opened(path: Source) -> _Polars | _Arrow:
    if find_spec("pyarrow") is not None:  # polars ends the process on some damaged files
        return opened_by_arrow(path)
    if find_spec("polars") is not None:
        return _checked(path, lambda: _Polars(path.path))
    raise UserError("Parquet files are read with polars or pyarrow, and neither is installed: pip install polars.")


def _checked(path: Source, step: Callable[[], T]) -> T:
    """Call ``step``; the libraries' errors become `UserError`."""
    try:
        return step()
    except Exception as error:  # both libraries raise many types for damaged files
        raise unreadable(path, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # polars panics on some damaged files
            raise
        raise unreadable(path, error) from error


def unreadable(path: Source, error: BaseException) -> UserError:
    """Make the error for a file that a library cannot read."""
    return UserError(f"{path} cannot be read as Parquet: {reason(error)}")


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

    def batches(self, columns: list[str], size: int) -> Iterator[Any]:
        for start in range(0, self.n_rows, size):
            yield self._frame.select(columns).slice(start, size).collect()

    def numbers(self, batch: Any, columns: list[str], single: bool) -> NDArray[Any]:
        import polars

        cast = polars.col(columns).cast(polars.Float32 if single else polars.Float64)
        return np.ascontiguousarray(batch.select(cast).to_numpy()) if columns else np.empty((len(batch), 0))

    def values(self, column: Any) -> NDArray[Any]:
        values: NDArray[Any] = column.to_numpy()
        return values

    def distinct(self, column: Any) -> Distinct:
        return distinct(column.to_list())


class _Arrow:
    def __init__(self, path: Any) -> None:
        from pyarrow.parquet import ParquetFile

        self._file = ParquetFile(path)
        self.schema, self.metadata = self._file.schema_arrow, self._file.metadata
        self.names = list(self.schema.names)
        self.n_rows = int(self.metadata.num_rows)

    def kind(self, column: str) -> str:
        return str(self.schema.field(column).type)

    def is_number(self, column: str) -> bool:
        return holds_numbers(self.schema.field(column).type)

    def is_text(self, column: str) -> bool:
        return holds_categories(self.schema.field(column).type)

    def batches(self, columns: list[str], size: int) -> Iterator[Any]:
        yield from self._file.iter_batches(size, columns=columns)

    def numbers(self, batch: Any, columns: list[str], single: bool) -> NDArray[Any]:
        import pyarrow

        kind = pyarrow.float32() if single else pyarrow.float64()
        cast = [self.values(batch[name].cast(kind, safe=False)) for name in columns]
        return np.column_stack(cast) if cast else np.empty((batch.num_rows, 0))

    def values(self, column: Any) -> NDArray[Any]:
        values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
        return values

    def distinct(self, column: Any) -> Distinct:
        return distinct_values(column)
