"""Output files of labels, costs, probabilities and kept columns; a file is written completely or not at all."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..utils.files import atomic_file
from .answers import as_user_error
from .errors import UserError

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Columns by name.
Columns = Mapping[str, "NDArray[Any]"]
Write = Callable[[Columns], None]

_TEXT = {".csv": ",", ".tsv": "\t"}
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz"}


@contextmanager
def sink(path: Path) -> Iterator[Write]:
    """Open an output file.

    Parameters
    ----------
    path : Path
        CSV or TSV (also compressed), Parquet or NPY, by suffix; ``-`` is CSV on stdout. Devices and pipes get CSV, too.

    Yields
    ------
    callable
        Takes the columns of the next rows; every call has the same columns.
    """
    if str(path) == "-":
        yield _lines(sys.stdout, ",")
        sys.stdout.flush()  # before the summary is printed, so that a full stdout fails first
        return
    suffix = path.suffix.lower()
    compression = _COMPRESSIONS.get(suffix)
    kind = path.with_suffix("").suffix.lower() if compression is not None else suffix
    with as_user_error(f"-o: {path}", OSError):
        if path.exists() and not path.is_file():
            with path.open("w", newline="", encoding="utf-8") as file:
                yield _lines(file, _TEXT.get(kind, ","))
        elif kind in _TEXT:
            with atomic_file(path) as beside, _opened(beside, compression) as file:
                yield _lines(file, _TEXT[kind])
        elif compression is None and kind in (".npy", ".parquet", ".pq"):
            save = _save_npy if kind == ".npy" else _save_parquet
            if save is _save_parquet:
                _parquet_library()  # raises before any work is done
            parts: list[Columns] = []
            yield parts.append
            whole = {name: _joined([part[name] for part in parts]) for name in parts[0]}
            with atomic_file(path) as beside, as_user_error(f"-o: {path}", Exception):  # polars raises its own types
                save(beside, whole)
        else:
            raise UserError(
                f"-o: {path} must end in .csv or .tsv (and .gz, .bz2 or .xz after it), .parquet or .npy, or be - for "
                "CSV on stdout."
            )


def _opened(path: Path, compression: str | None) -> Any:
    from .rows.source import opener

    opened = open if compression is None else opener(compression, str(path))
    return opened(path, "wt", newline="", encoding="utf-8")


def _lines(file: Any, separator: str) -> Write:
    writer = csv.writer(file, lineterminator="\n", delimiter=separator)
    begun = False

    def write(columns: Columns) -> None:
        nonlocal begun
        if not begun:
            writer.writerow(columns)
            begun = True
        writer.writerows(zip(*map(_cells, columns.values()), strict=True))

    return write


def _cells(values: NDArray[Any]) -> list[Any]:
    """Cells of a column for the CSV writer: float32 with float32's digits; None is written as an empty cell."""
    if values.dtype.kind == "f" and values.dtype.itemsize < 8:
        return [str(value) for value in values]
    cells: list[Any] = values.tolist()
    return cells


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    import numpy as np

    values = np.concatenate(parts)
    if values.dtype == object:
        values = np.array(["" if value is None else str(value) for value in values])
    return values


def _save_npy(path: Path, columns: Columns) -> None:
    import numpy as np

    values = next(iter(columns.values()))
    if len(columns) > 1:
        values = np.empty(len(values), dtype=[(name, column.dtype) for name, column in columns.items()])
        for name, column in columns.items():
            values[name] = column
    with path.open("wb") as file:
        np.save(file, values, allow_pickle=False)


def _save_parquet(path: Path, columns: Columns) -> None:
    import narwhals.stable.v2 as nw

    backend = _parquet_library()
    nw.from_dict(dict(columns), backend=backend).write_parquet(str(path))


def _parquet_library() -> Any:
    for library in ("polars", "pyarrow"):
        if find_spec(library) is not None:
            return library
    raise UserError("Parquet files are written with polars or pyarrow, and neither is installed: pip install polars.")
