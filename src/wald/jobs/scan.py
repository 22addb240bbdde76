"""Reads Parquet and Arrow IPC files in blocks of bounded size: some columns, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..engine.some_columns import SomeColumns
from .errors import JobError
from .parts import Input

#: Largest number of values in a block.
AT_ONCE = 16 << 20
LISTED = 5

T = TypeVar("T")


def pyarrow_or_error() -> Any:
    """Import pyarrow. Raises JobError if it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise JobError("jobs of many files need pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow


@dataclass(frozen=True)
class Wanted:
    """The columns of the model, and those that are copied to the output.

    Attributes
    ----------
    n_features : int
    names : tuple of str or None
        The model's names; None: columns are taken in the file's order.
    keep, drop : tuple of str
        Columns that are no features, by name; those of `keep` are copied.
    """

    n_features: int
    names: tuple[str, ...] | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()

    def features(self, where: str, schema: Any) -> list[str]:
        """Names of the file's columns in the model's order.

        Raises
        ------
        JobError
            If columns are missing, unknown, or hold no numbers.
        """
        names = list(schema.names)
        if len(set(names)) < len(names):
            raise JobError(f"{where} has two columns of the name {next(n for n in names if names.count(n) > 1)!r}.")
        for option, columns in (("--keep", self.keep), ("--drop", self.drop)):
            lost = [name for name in columns if name not in names]
            if lost:
                raise JobError(f"{option}: {where} has no column {lost[0]!r}; it has {_listed(names)}.")
        aside = {*self.keep, *self.drop}
        rest = [name for name in names if name not in aside]
        if self.names is not None:
            missing = [name for name in self.names if name not in rest]
            if missing:
                raise JobError(f"{where} lacks {len(missing)} of the model's columns: {_listed(missing)}.")
            known = set(self.names)
            unknown = [name for name in rest if name not in known]
            if unknown:
                raise JobError(
                    f"{where} has columns that the model does not know: {_listed(unknown)}. Leave them out: "
                    f"{' '.join(f'--drop {name!r}' for name in unknown[:LISTED])}."
                )
            rest = list(self.names)
        elif len(rest) != self.n_features:
            raise JobError(
                f"{where} has {len(rest)} columns of features; the model takes {self.n_features}. Leave out what is no "
                "feature with --drop COLUMN."
            )
        unfit = [name for name in rest if not _is_number(schema.field(name).type)]
        if unfit:
            raise JobError(
                f"{where}: no numbers in {_listed(unfit)} (the first: {schema.field(unfit[0]).type}). Leave out what "
                "is no feature with --drop COLUMN."
            )
        nested = [name for name in self.keep if _is_nested(schema.field(name).type)]
        if nested:
            raise JobError(f"--keep: {where} has nested values in {nested[0]!r} ({schema.field(nested[0]).type}).")
        return rest


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of one row group.

    Attributes
    ----------
    rows : SomeColumns of shape (n_rows, n_features)
    kept : dict of Arrow arrays
    """

    rows: SomeColumns
    kept: dict[str, Any]


class Table:
    """A Parquet or Arrow IPC file whose columns have been checked.

    Parameters
    ----------
    source : Input
    wanted : Wanted

    Attributes
    ----------
    group_rows : list of int
        Rows of each row group, or record batch.
    """

    def __init__(self, source: Input, wanted: Wanted) -> None:
        pyarrow = pyarrow_or_error()
        self.source, self.wanted = source, wanted
        with self._errors():
            if source.kind == "parquet":
                from pyarrow.parquet import ParquetFile

                self._file = ParquetFile(source.open() if source.is_url else source.name)
                self.schema, about = self._file.schema_arrow, self._file.metadata
                self.group_rows = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
            else:
                handle = source.open() if source.is_url else pyarrow.memory_map(source.name)
                self._file = pyarrow.ipc.open_file(handle)
                self.schema, n = self._file.schema, self._file.num_record_batches
                self.group_rows = [self._file.get_batch(i).num_rows for i in range(n)]
        self.features = wanted.features(source.name, self.schema)
        single = bool(self.features) and all(
            self.schema.field(name).type == pyarrow.float32() for name in self.features
        )
        self.dtype = np.dtype(np.float32 if single else np.float64)

    def close(self) -> None:
        """Close the file."""
        self._file.close() if self.source.kind == "parquet" else None

    def bytes_of(self, group: int) -> tuple[NDArray[np.int64], int]:
        """Compressed bytes of each feature in a row group, and of all columns of the file; zeros for Arrow IPC."""
        sizes = np.zeros(len(self.features), dtype=np.int64)
        if self.source.kind != "parquet":
            return sizes, 0
        about = self._file.metadata.row_group(group)
        where = {name: c for c, name in enumerate(self.features)}
        total = 0
        for i in range(about.num_columns):
            chunk = about.column(i)
            total += chunk.total_compressed_size
            c = where.get(chunk.path_in_schema)
            if c is not None:
                sizes[c] += chunk.total_compressed_size
        return sizes, total

    def kept_bytes(self, group: int) -> int:
        """Compressed bytes of the columns to keep in a row group."""
        if self.source.kind != "parquet" or not self.wanted.keep:
            return 0
        about = self._file.metadata.row_group(group)
        chunks = map(about.column, range(about.num_columns))
        return sum(chunk.total_compressed_size for chunk in chunks if chunk.path_in_schema in self.wanted.keep)

    def blocks(self, group: int, columns: NDArray[np.intp], keep: bool) -> Iterator[Block]:
        """Read some of the features of a row group, and the columns to keep.

        Yields
        ------
        Block
            At least one, unless the row group is empty.
        """
        kept = self.wanted.keep if keep else ()
        names = [*(self.features[c] for c in columns), *kept]
        with self._errors(group):
            for batch in self._batches(group, names, max(1024, AT_ONCE // max(1, len(names)))):
                rows: list[NDArray[Any] | None] = [None] * len(self.features)
                for c in columns:
                    rows[c] = _numbers(batch[self.features[c]], self.dtype)
                yield Block(SomeColumns(batch.num_rows, rows, self.dtype), {name: _whole(batch[name]) for name in kept})

    def _batches(self, group: int, names: list[str], size: int) -> Iterator[Any]:
        """Record batches, or tables, of at most so many rows."""
        n_rows = self.group_rows[group]
        if not names:
            import pyarrow

            for start in range(0, n_rows, size):
                yield pyarrow.record_batch({"": pyarrow.nulls(min(size, n_rows - start))})
        elif self.source.kind == "parquet" and 0 < n_rows <= size:
            yield self._file.read_row_group(group, columns=names)  # faster than batches
        elif self.source.kind == "parquet":
            yield from self._file.iter_batches(size, row_groups=[group], columns=names)
        else:
            whole = self._file.get_batch(group)
            for start in range(0, whole.num_rows, size):
                yield whole.slice(start, size)

    @contextmanager
    def _errors(self, group: int | None = None) -> Iterator[None]:
        pyarrow = pyarrow_or_error()
        try:
            yield
        except (OSError, pyarrow.ArrowException, EOFError) as error:
            place = "" if group is None else f", row group {group}"
            form = "Parquet" if self.source.kind == "parquet" else "Arrow IPC"
            why = " ".join(str(error).split())[:500]
            raise JobError(f"{self.source.name}{place} cannot be read as {form}: {why}") from error


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The items of an iterator; a thread makes the next one while the caller works with this one."""
    end: Any = object()
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(next, items, end)
        while (item := future.result()) is not end:
            future = pool.submit(next, items, end)
            yield item


def _numbers(column: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A column as numbers; nulls become NaN."""
    import pyarrow
    from pyarrow import types

    kind = column.type
    if column.null_count or not (types.is_integer(kind) or types.is_floating(kind)):
        column = column.cast(pyarrow.from_numpy_dtype(dtype), safe=False)
    return np.require(_whole(column).to_numpy(zero_copy_only=False), dtype, "A")


def _whole(column: Any) -> Any:
    """A column of a table or a batch as one array."""
    import pyarrow

    if not isinstance(column, pyarrow.ChunkedArray):
        return column
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return any(fits(kind) for fits in (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal))


def _is_nested(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_nested(kind))


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:LISTED])) + (f" and {len(names) - LISTED} more" if len(names) > LISTED else "")
