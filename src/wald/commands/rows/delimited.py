"""Reads text tables in blocks: with polars where it is installed, else, and to locate errors, with Python's csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .header import MISSING, begins_with_names, number
from .schema import Part, Reading, RowSchema, Selection, distinct, first_bad, not_finite, note_order, select, short
from .separators import CANDIDATES, infer_separator, separator_character
from .source import Source
from .typed import guesses, typed_rows

#: Bytes of a block.
BLOCK = 16 << 20

Floats = NDArray[np.float64]
#: Cells of the columns that are no features, by position.
Texts = dict[int, NDArray[Any]]


@dataclass(frozen=True)
class _Table:
    """Layout of a text table: its separator, names and number of columns, and the columns to read."""

    path: Source
    separator: str
    names: tuple[str, ...] | None
    n_columns: int
    selection: Selection
    schema: RowSchema

    def place(self, line: int, column: int) -> str:
        name = f" ({short(self.names[column])})" if self.names is not None else ""
        return f"{self.path}, line {line}, column {column + 1}{name}"


def read_rows(source: Source, schema: RowSchema, reading: Reading, whole: bool) -> Iterator[Part]:
    """Read rows of a text table in UTF-8, as float64 arrays, or as the schema says.

    Parameters
    ----------
    source : Source
    schema : RowSchema
    reading : Reading
    whole : bool
        Not used: rows come in blocks.

    Yields
    ------
    Part
    """
    with source.decompressed() as (file, share):
        line, first = _first(source, file)
        if reading.separator is not None:
            separator = separator_character(reading.separator)
        else:
            cut = {candidate: _cells(source, first, line, candidate) or [] for candidate in CANDIDATES}
            separator = infer_separator(source, cut, schema, reading)
        cells = next(_records(source, first, line, separator))[1]
        second = _block(file, 1)
        header = begins_with_names(source, cells, _cells(source, second, line, separator), schema, reading)
        lead = second if header else first + second
        names = tuple(cells) if header else None
        if not header and schema.names is not None:
            note_order(source)
        selection, places = schema.split(select(source, names or len(cells), schema, reading))
        table = _Table(source, separator, names, len(cells), selection, schema)
        line += first.count(b"\n") * header
        guessed = _guessed(table, places, line, header) if schema.typed is not None and schema.typed.open else {}
        n_rows = 0
        while block := lead + _block(file, BLOCK):
            lead = b""
            made: Any
            if schema.typed is not None:
                texts = _texts(table, block, line)
                cells_of = {c: texts[p] for c, p in places.items()}
                made = typed_rows(schema.typed, cells_of, guessed, _finds(table, places, block, line))
            else:
                made, texts = _values(table, block, line)
                if places:
                    made = schema.frame(source, made, {c: distinct(texts[p]) for c, p in places.items()}, MISSING)
            line += block.count(b"\n")
            n_rows += len(made)
            if len(made):
                groups = None if selection.groups is None else texts[selection.groups]
                kept = {names[c] if names is not None else str(c): texts[c] for c in selection.kept}
                yield Part(made, groups, share(), kept, selection.left_out)
    if n_rows == 0:
        raise UserError(f"{source} has column names, and no rows.")


def _guessed(table: _Table, places: dict[int, int], line: int, header: bool) -> dict[int, Any]:
    """What the whole file says of its columns of which the model says nothing."""
    columns = table.schema.typed
    assert columns is not None
    wanted = tuple(places[c] for c in columns.open)
    some = replace(table, selection=Selection((), None, (), (), wanted))

    def blocks() -> Iterator[Texts]:
        with table.path.decompressed() as (file, _):
            _, first = _first(table.path, file)
            lead, at = b"" if header else first, line
            while block := lead + _block(file, BLOCK):
                lead = b""
                texts = _texts(some, block, at)
                at += block.count(b"\n")
                yield {c: texts[places[c]] for c in columns.open}

    return guesses(columns, blocks())


def _finds(table: _Table, places: dict[int, int], block: bytes, line: int) -> Callable[[int, int], str]:
    """What finds the line of a row of a block, which takes a second look."""

    def place(row: int, column: int) -> str:
        records = _records(table.path, block, line, table.separator)
        at = next(at for i, (at, _) in enumerate(records) if i == row)
        return table.place(at, places[column])

    return place


def _first(source: Source, file: Any) -> tuple[int, bytes]:
    """Number and bytes of the first line that is not empty."""
    line, first = 1, _block(file, 1)
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise UserError(f"{source} is written in UTF-16; wald reads UTF-8. Convert it: iconv -f UTF-16 -t UTF-8.")
    first = first.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
    while first and not first.decode("utf-8", "replace").strip():
        line, first = line + first.count(b"\n"), _block(file, 1)
    if not first:
        raise UserError(f"{source} is empty.")
    return line, first


def _cells(source: Source, block: bytes, line: int, separator: str) -> list[str] | None:
    """Cells of the first line of a block; None if there is none, or it cannot be parsed."""
    try:
        return next((cells for _, cells in _records(source, block, line, separator)), None)
    except UserError:  # a quote where this separator allows none
        return None


def _block(file: Any, least: int) -> bytes:
    """Read at least this many bytes, and on to the end of a line outside quoted cells."""
    block: bytes = file.read(least) + file.readline()
    while block.count(b'"') % 2 and (more := file.readline()):
        block += more
    return block


def _records(path: Source, block: bytes, line: int, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each line that is not empty."""
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


def _values(table: _Table, block: bytes, line: int) -> tuple[Floats, Texts]:
    """Features and other columns of a block; parsed cell by cell where polars fails, or may have completed a line."""
    parsed = _with_polars(table, block)
    if parsed is not None:
        bad = first_bad(parsed[0])
        if bad is None or (_is_complete(table, block, len(parsed[0])) and first_bad(parsed[0], table.schema) is None):
            return parsed
    return _parse_cells(table, block, line)


def _texts(table: _Table, block: bytes, line: int) -> Texts:
    """Columns of a block as they are written; cell by cell where polars fails, or may have completed a line."""
    frame, last = _frame(table, block), str(table.n_columns - 1)
    # the last cell is null where the line may have too few cells, or be empty
    if frame is None or (frame[last].null_count() and not _is_complete(table, block, frame.height)):
        return _parse_cells(table, block, line)[1]
    return {c: frame[str(c)].fill_null("").to_numpy().astype(object) for c in table.selection.others}


def _is_complete(table: _Table, block: bytes, n_rows: int) -> bool:
    """Whether so many lines have all their cells, by the number of separators; False where cells are quoted."""
    return b'"' not in block and 0 < n_rows * (table.n_columns - 1) == block.count(table.separator.encode())


def _parse_cells(table: _Table, block: bytes, line: int) -> tuple[Floats, Texts]:
    """Parse cell by cell; an error names the place of the first invalid cell."""
    rows: list[list[float]] = []
    texts: dict[int, list[str]] = {c: [] for c in table.selection.others}
    for at, cells in _records(table.path, block, line, table.separator):
        if len(cells) != table.n_columns:
            raise UserError(f"{table.path}, line {at} has {len(cells)} cells; the lines above have {table.n_columns}.")
        row = []
        for c in table.selection.features:
            value = number(cells[c])
            if value is None:
                raise UserError(f"{table.place(at, c)}: {short(cells[c])} is not a number.{table.schema.hint}")
            if not (table.schema.allow_nan if value != value else table.schema.allow_inf or np.isfinite(value)):
                raise not_finite(table.place(at, c), value)
            row.append(value)
        rows.append(row)
        for c, column in texts.items():
            column.append(cells[c])
    values = np.array(rows, dtype=np.float64).reshape(len(rows), len(table.selection.features))
    return values, {c: np.array(column, dtype=object) for c, column in texts.items()}


def _with_polars(table: _Table, block: bytes) -> tuple[Floats, Texts] | None:
    """The same with polars; None where it is missing, fails, or would not give what is in the cells."""
    features, others = table.selection.features, table.selection.others
    both = not {*features}.isdisjoint(others)  # copied as written, and read as numbers
    frame = None if both or not features else _frame(table, block, features, MISSING)
    # text that equals an entry of MISSING became null
    if frame is None or any(frame[str(c)].null_count() for c in others):
        return None
    values = frame.select(str(c) for c in features).to_numpy()
    return values, {c: frame[str(c)].to_numpy().astype(object) for c in others}


def _frame(table: _Table, block: bytes, numbers: Sequence[int] = (), missing: Sequence[str] = ()) -> Any:
    """A block as polars reads it, with texts in all columns but `numbers`; None where polars is missing or fails."""
    open_quote = block.count(b'"') % 2 == 1  # polars panics on some files that end within a quoted cell
    if find_spec("polars") is None or open_quote:
        return None
    import polars

    schema = {str(c): polars.Float64 if c in {*numbers} else polars.String for c in range(table.n_columns)}
    try:
        return polars.read_csv(
            io.BytesIO(block), has_header=False, schema=schema, separator=table.separator, null_values=list(missing)
        )
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None
