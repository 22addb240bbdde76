"""Reads Parquet files in batches, with polars or pyarrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..answers import reason
from ..errors import UserError
from .schema import Part, Reading, RowSchema, first_bad, listed, not_finite, select
from .source import Source

#: Largest number of values in a batch.
AT_ONCE = 4 << 20
#: Names of the float32 type in polars and pyarrow.
SINGLE = ("Float32", "float")


T = TypeVar("T")
Batch = tuple[NDArray[Any], dict[str, NDArray[Any]]]


class _File(Protocol):
    names: list[str]
    n_rows: int

    def kind(self, column: str) -> str: ...

    def is_number(self, column: str) -> bool: ...

    def batches(self, features: list[str], others: list[str], single: bool, size: int) -> Iterator[Batch]: ...


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
    selection = select(path, file.names, schema, reading)
    if file.n_rows == 0:
        raise UserError(f"{path} is empty: it has columns, and no rows.")
    features, others = ([file.names[c] for c in columns] for columns in (selection.features, selection.others))
    twice = [name for name, times in Counter(file.names).items() if times > 1 and name in {*features, *others}]
    if twice:
        raise UserError(f"{path} has more than one column called {listed(twice)}, and columns are read by name.")
    unfit = [name for name in features if not file.is_number(name)]
    if unfit:
        hint = schema.hint or " Leave out what is no feature with --drop COLUMN."
        if schema.names is not None:  # the model's own columns, which cannot be left out
            hint = schema.hint or " The model takes numbers in these columns."
        raise UserError(f"{path}: no numbers in {listed(unfit)} (the first: {file.kind(unfit[0])}).{hint}")
    single = {file.kind(name) for name in features} - {"null", "Null"} <= {*SINGLE}  # nulls are missing values
    groups = None if selection.groups is None else file.names[selection.groups]
    start = 0
    batches = file.batches(features, others, single, max(1, AT_ONCE // max(1, len(features))))
    while (batch := _checked(path, lambda: next(batches, None))) is not None:
        values, texts = batch
        bad = first_bad(values, schema)
        if bad is not None:
            place = f"{path}, row {start + bad[0]} (from 0), column {features[bad[1]]!r}"
            raise not_finite(place, float(values[bad]))
        start += len(values)
        kept = {file.names[c]: texts[file.names[c]] for c in selection.kept}
        yield Part(values, None if groups is None else texts[groups], start / file.n_rows, kept, selection.left_out)
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

    def batches(self, features: list[str], others: list[str], single: bool, size: int) -> Iterator[Batch]:
        import polars

        kind = polars.Float32 if single else polars.Float64
        columns = list(dict.fromkeys([*features, *others]))
        for start in range(0, self.n_rows, size):
            batch = self._frame.select(columns).slice(start, size).collect()
            values = np.ascontiguousarray(batch.select(polars.col(features).cast(kind)).to_numpy())
            yield values, {name: batch[name].to_numpy() for name in others}


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
        from pyarrow import types

        kind = self._schema.field(column).type
        fitting = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
        return any(fits(kind) for fits in fitting)

    def batches(self, features: list[str], others: list[str], single: bool, size: int) -> Iterator[Batch]:
        import pyarrow

        kind = pyarrow.float32() if single else pyarrow.float64()
        columns = list(dict.fromkeys([*features, *others]))
        for batch in self._file.iter_batches(size, columns=columns):
            cast = [batch.column(name).cast(kind, safe=False) for name in features]
            arrays = [column.to_numpy(zero_copy_only=False) for column in cast]
            values = np.column_stack(arrays) if arrays else np.empty((batch.num_rows, 0))
            yield values, {name: batch.column(name).to_numpy(zero_copy_only=False) for name in others}
