"""Reads Parquet and Arrow IPC files in blocks of bounded size: some columns, as arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..models.file_columns import DOCUMENTS_AT_ONCE, BadCellError, lacking, rows_at_once
from ..sources import SomeColumns
from .distinct import distinct_values
from .errors import JobError
from .folders import columns_of
from .parts import Input
from .wanted import Wanted, plain_kind

#: Largest number of values in a block.
AT_ONCE = 16 << 20

T = TypeVar("T")


def pyarrow_or_error() -> Any:
    """Import pyarrow. Raises JobError if it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise JobError("jobs of many files need pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow


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
    features : list of str
        The file's columns in the model's order.
    left_out : list of str
        Columns of the file that the model does not know, and nobody named.
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
        own = self.schema.names
        self._constants = {
            name: pyarrow.scalar(value).cast(wanted.folders[name])
            for name, value in columns_of(source.name).items()
            if name not in own and name in wanted.folders
        }
        for name, value in self._constants.items():
            self.schema = self.schema.append(pyarrow.field(name, value.type))
        self.features = wanted.features(source.name, self.schema)
        for name in wanted.keep:
            wanted.require_kind(source.name, name, self.schema.field(name).type)
        unused = wanted.typed.unused if wanted.typed is not None else ()
        named = {*self.features, *wanted.keep, *wanted.aside, *unused}
        framed_texts = wanted.typed is not None and wanted.names is None
        self.left_out = [] if framed_texts else [name for name in own if name not in named]
        self._lack: set[str] = set()
        if wanted.typed is not None and source.kind == "parquet":
            own_features = [name for name in self.features if name not in self._constants]
            self._lack = lacking(about, self.schema, own_features)
        coded = wanted.categories.known if wanted.categories is not None else ()
        plain = [name for c, name in enumerate(self.features) if c not in coded]
        kinds = {self.schema.field(name).type for name in plain} - {pyarrow.null()}
        self.dtype = np.dtype(np.float32 if kinds == {pyarrow.float32()} else np.float64)

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
        asked = dict.fromkeys([*(self.features[c] for c in columns), *kept])
        names = [name for name in asked if name not in self._constants]
        with self._errors(group):
            for batch in self._batches(group, names, max(1024, AT_ONCE // max(1, len(names)))):
                rows: list[NDArray[Any] | None] = [None] * len(self.features)
                for c in columns:
                    rows[c] = _numbers(self._column(batch, self.features[c]), self.dtype)
                copied = {name: self._copied(batch, name) for name in kept}
                yield Block(SomeColumns(batch.num_rows, rows, self.dtype, self.wanted.names), copied)

    def frames(self, group: int) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Read the rows of a row group as the model takes them, and the columns to keep."""
        asked = dict.fromkeys([*self.features, *self.wanted.keep])
        names = [name for name in asked if name not in self._constants]
        size = max(1024, AT_ONCE // max(1, len(names)))
        if self.wanted.typed is not None:
            if self.source.kind == "parquet":
                size = rows_at_once(self._file.metadata, self.wanted.typed, self.features, AT_ONCE)
            elif self.wanted.typed.holds_documents:
                size = DOCUMENTS_AT_ONCE
        read = self._coded if self.wanted.typed is None else self._typed
        begun = 0
        with self._errors(group):
            for batch in self._batches(group, names, size):
                rows = read(batch, group, begun)
                begun += batch.num_rows
                yield rows, {name: self._copied(batch, name) for name in self.wanted.keep}

    def column_of(self, group: int, name: str, size: int) -> Iterator[Any]:
        """Read one column of a row group, in arrays of at most so many rows."""
        names = [] if name in self._constants else [name]
        with self._errors(group):
            for batch in self._batches(group, names, size):
                yield _whole(self._column(batch, name))

    def _typed(self, batch: Any, group: int, begun: int) -> Any:
        """Rows of a pipeline."""
        typed = self.wanted.typed
        assert typed is not None
        columns = []
        for c, name in enumerate(self.features):
            try:
                columns.append(typed.from_arrow(c, self._column(batch, name), name in self._lack))
            except BadCellError as error:
                place = (
                    f"{self.source.name}, row group {group}, row {begun + error.row} of it (from 0), column {name!r}"
                )
                raise JobError(f"{place}: {error}") from error
        return typed.rows(columns)

    def _coded(self, batch: Any, group: int, begun: int) -> Any:
        """A data frame with the model's categories."""
        categories, own = self.wanted.categories, self.wanted.names
        assert categories is not None
        assert own is not None
        coded = {c: self.features[c] for c in categories.known}
        plain = [name for c, name in enumerate(self.features) if c not in coded]
        numbers = np.empty((batch.num_rows, len(plain)), dtype=self.dtype)
        for c, name in enumerate(plain):
            numbers[:, c] = _numbers(self._column(batch, name), self.dtype)
        try:
            columns = {
                c: categories.column(c, name, *distinct_values(_whole(self._column(batch, name))))
                for c, name in coded.items()
            }
        except ValueError as error:
            raise JobError(f"{self.source.name}, row group {group}: {error}") from error
        return categories.frame(own, numbers, columns)

    def _column(self, batch: Any, name: str) -> Any:
        import pyarrow

        constant = self._constants.get(name)
        return batch[name] if constant is None else pyarrow.repeat(constant, batch.num_rows)

    def _copied(self, batch: Any, name: str) -> Any:
        """A column to copy, in the type that it has in all parts; categories become their values."""
        column = _whole(self._column(batch, name))
        kind = self.kind(name)
        return column if column.type == kind else column.cast(kind)

    def kind(self, name: str) -> Any:
        """Type of a column to copy in all parts."""
        known = self.wanted.kinds.get(name)
        return plain_kind(self.schema.field(name).type) if known is None else known[0]

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
