"""Text tables, block by block: polars or pandas parse a block, and Python's own reader finds what is wrong with it."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .wanted import Part, Reading, Selection, Wanted, first_bad, not_finite, select

#: Bytes that are parsed at once.
BLOCK = 16 << 20
#: Cells that stand for a missing value.
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "None")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Table:
    """How a file is cut into cells, and which of them are wanted."""

    path: Path
    separator: str
    names: tuple[str, ...] | None
    n_columns: int
    selection: Selection
    allow_nan: bool

    def place(self, line: int, column: int) -> str:
        name = f" ({self.names[column]!r})" if self.names is not None else ""
        return f"{self.path}, line {line}, column {column + 1}{name}"


def read_delimited(path: Path, wanted: Wanted, reading: Reading, separator: str) -> Iterator[Part]:
    """Rows of a text table in UTF-8, as float64 arrays.

    Parameters
    ----------
    path : Path
    wanted : Wanted
    reading : Reading
    separator : str
        Between cells: "," or a tab.

    Yields
    ------
    Part
    """
    parse = _parser()
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            raise UserError(f"{path} is written in UTF-16; wald reads UTF-8. Convert it: iconv -f UTF-16 -t UTF-8.")
        file.seek(0)
        if file.read(3) != b"\xef\xbb\xbf":  # a byte order mark
            file.seek(0)
        line = 1
        while (first := _block(file, 1)) and not first.strip():
            line += first.count(b"\n")
        if not first:
            raise UserError(f"{path} is empty.")
        cells = next(_records(path, first, line, separator))[1]
        header = reading.header if reading.header is not None else not _is_data(cells)
        if not header:
            if wanted.names is not None and reading.header is None:
                raise UserError(
                    f"{path} has no line of column names, and the model knows its columns by name. If they stand in "
                    "the model's order, say so with --no-header."
                )
            file.seek(file.tell() - len(first))
        names = tuple(cells) if header else None
        selection = select(path, names or len(cells), wanted, reading)
        table = _Table(path, separator, names, len(cells), selection, wanted.allow_nan)
        line, n_rows = line + first.count(b"\n") * header, 0
        while block := _block(file, BLOCK):
            values, groups = _values(table, block, line, parse)
            line += block.count(b"\n")
            n_rows += len(values)
            if len(values):
                yield Part(values, groups, file.tell() / size)
    if n_rows == 0:
        raise UserError(f"{path} has column names, and no rows.")


def _block(file: Any, least: int) -> bytes:
    """At least so many bytes, to the end of a line that no quoted cell continues."""
    block: bytes = file.read(least) + file.readline()
    while block.count(b'"') % 2 and (more := file.readline()):
        block += more
    return block


def _is_data(cells: list[str]) -> bool:
    """Whether a first line holds numbers: not names, and not the numbering that some writers put there."""
    if cells == [str(i) for i in range(len(cells))] and len(cells) > 1:
        return False
    return all(_number(cell) is not None for cell in cells)


def _number(cell: str) -> float | None:
    if cell.strip() in MISSING:
        return float("nan")
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _records(path: Path, block: bytes, line: int, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The cells of every line that is not empty, and its number."""
    try:
        text = block.decode("utf-8")
    except UnicodeDecodeError as error:
        at = line + block.count(b"\n", 0, error.start)
        raise UserError(
            f"{path}, line {at}: byte 0x{block[error.start]:02x} is not UTF-8. If the file is in another encoding, "
            "convert it, as with iconv -f LATIN1 -t UTF-8."
        ) from error
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for cells in reader:
            if cells:
                yield line + reader.line_num - 1, cells
    except csv.Error as error:
        raise UserError(f"{path}, line {line + reader.line_num - 1}: {error}.") from error


def _values(table: _Table, block: bytes, line: int, parse: _Parse) -> tuple[Floats, NDArray[Any] | None]:
    """A block's features and groups, the quick way; the thorough one where anything is odd."""
    quick = parse(table, block)
    if quick is None or first_bad(quick[0], allow_nan=False) is not None:
        return _thorough(table, block, line)
    return quick


def _thorough(table: _Table, block: bytes, line: int) -> tuple[Floats, NDArray[Any] | None]:
    """Parse cell by cell; the first that is wrong is told with its place."""
    rows: list[list[float]] = []
    groups: list[str] = []
    for at, cells in _records(table.path, block, line, table.separator):
        if len(cells) != table.n_columns:
            raise UserError(f"{table.path}, line {at} has {len(cells)} cells; the lines above have {table.n_columns}.")
        row = []
        for c in table.selection.features:
            value = _number(cells[c])
            if value is None:
                raise UserError(f"{table.place(at, c)}: {_short(cells[c])} is not a number.")
            if not np.isfinite(value) and not (table.allow_nan and np.isnan(value)):
                raise not_finite(table.place(at, c), value)
            row.append(value)
        rows.append(row)
        if table.selection.groups is not None:
            groups.append(cells[table.selection.groups])
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(table.selection.features))
    return values, None if table.selection.groups is None else np.array(groups, dtype=object)


def _short(cell: str) -> str:
    return repr(cell if len(cell) <= 40 else cell[:40] + "…")


# ---- the quick ways: None where they will not do ---------------------------------------------------------------------

_Parse = Callable[[_Table, bytes], tuple[Floats, NDArray[Any] | None] | None]


def _parser() -> _Parse:
    for library, parse in (("polars", _with_polars), ("pandas", _with_pandas)):
        if find_spec(library) is not None:
            return parse
    raise UserError("text tables are read with polars or pandas, and neither is installed: pip install polars.")


def _with_polars(table: _Table, block: bytes) -> tuple[Floats, NDArray[Any] | None] | None:
    import polars

    features, groups = table.selection.features, table.selection.groups
    numbers = set(features)
    schema = {str(c): polars.Float64 if c in numbers else polars.String for c in range(table.n_columns)}
    try:
        frame = polars.read_csv(
            io.BytesIO(block), has_header=False, schema=schema, separator=table.separator, null_values=list(MISSING)
        )
    except polars.exceptions.PolarsError:
        return None
    if groups is not None and frame[str(groups)].null_count():  # its name may be one of those in MISSING
        return None
    values = frame.select(str(c) for c in features).to_numpy()
    return values, None if groups is None else frame[str(groups)].to_numpy().astype(object)


def _with_pandas(table: _Table, block: bytes) -> tuple[Floats, NDArray[Any] | None] | None:
    import pandas

    features, groups = table.selection.features, table.selection.groups
    numbers = set(features)
    exact = {} if int(pandas.__version__.partition(".")[0]) >= 3 else {"float_precision": "round_trip"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = pandas.read_csv(
                io.BytesIO(block),
                header=None,
                index_col=False,  # or the first of too many cells would become one
                names=range(table.n_columns),
                dtype={c: np.float64 if c in numbers else str for c in range(table.n_columns)},
                sep=table.separator,
                keep_default_na=False,
                na_values={c: list(MISSING) for c in features},
                **exact,
            )
    except (ValueError, Warning):  # its own parser's errors are ValueErrors, and UnicodeDecodeError too
        return None
    values = np.ascontiguousarray(frame[list(features)].to_numpy())
    return values, None if groups is None else frame[groups].to_numpy().astype(object)
