"""Writes parts of predictions as Parquet, CSV or Arrow IPC, one batch of rows after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

#: Formats, and suffixes of their files.
SUFFIXES = {"parquet": ".parquet", "csv": ".csv", "arrow": ".arrow"}


@contextmanager
def writer(path: Path, to: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Open an output file.

    Parameters
    ----------
    path : Path
    to : str
        One of `SUFFIXES`.

    Yields
    ------
    callable
        Takes the columns of the next rows; every call has the same columns.
    """
    import pyarrow

    opened: list[Any] = []

    def write(columns: Mapping[str, Any]) -> None:
        table = pyarrow.table(dict(columns))
        if not opened:
            opened.append(_opened(path, to, table.schema))
        opened[0].write_table(table.cast(opened[0].schema) if to == "parquet" else table)

    try:
        yield write
    except BaseException:
        for file in opened:
            with suppress(OSError):  # the disk is full; the first error says so
                file.close()
        raise
    for file in opened:
        file.close()


def _opened(path: Path, to: str, schema: Any) -> Any:
    if to == "parquet":
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(path, schema)
    if to == "csv":
        from pyarrow.csv import CSVWriter, WriteOptions

        return CSVWriter(path, schema, write_options=WriteOptions(quoting_style="needed"))
    import pyarrow

    return pyarrow.ipc.new_file(str(path), schema)
