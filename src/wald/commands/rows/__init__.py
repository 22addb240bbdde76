"""Data files as rows that a model takes: one reader per format, and the checks that all of them share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..answers import as_user_error
from ..errors import UserError
from .schema import Part, Reading, RowSchema, note_left_out, note_order
from .source import COMPRESSIONS, STDIN, Source, damage_errors, infer_format, source_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["FORMATS", "Part", "Reading", "RowSchema", "data_name", "joined", "note_left_out", "read", "read_whole"]

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npy": "npy",
    ".svmlight": "svmlight",
    ".svm": "svmlight",
    ".libsvm": "svmlight",
}
#: Modules that read the formats, by their `read_rows`.
_READERS = {"csv": "delimited", "tsv": "delimited", "parquet": "parquet", "npy": "arrays", "svmlight": "svmlight"}


def read(path: Path, schema: RowSchema, reading: Reading) -> Iterator[Part]:
    """Read a data file in parts of bounded size (svmlight files are read as a whole).

    Parameters
    ----------
    path : Path
    schema : RowSchema
        Form of the rows: data frames where the model knows names, CSR matrices for svmlight, arrays otherwise.
    reading : Reading

    Yields
    ------
    Part

    Raises
    ------
    UserError
        If the file is invalid; the message names the place.
    """
    for part in _arrays(path, schema, reading, whole=False):
        yield replace(part, rows=_named(part.rows, schema))


def read_whole(path: Path, schema: RowSchema, reading: Reading) -> Part:
    """Read all rows of a data file at once; see `read`. NPY files stay memory-mapped. Says which columns it left out.

    Parameters
    ----------
    path : Path
    schema : RowSchema
    reading : Reading

    Returns
    -------
    Part
    """
    part = joined(path, schema, reading)
    note_left_out(part.left_out)
    return part


def joined(path: Path, schema: RowSchema, reading: Reading) -> Part:
    """All rows of a data file, and the columns to keep, as one part; see `read_whole`."""
    import numpy as np

    parts = list(_arrays(path, schema, reading, whole=True))
    rows = parts[0].rows if len(parts) == 1 else _joined([part.rows for part in parts])
    groups = [part.groups for part in parts if part.groups is not None]
    whole = np.concatenate(groups) if groups else None
    kept = {name: np.concatenate([part.kept[name] for part in parts]) for name in parts[0].kept}
    return Part(_named(rows, schema), whole, 1.0, kept, parts[0].left_out)


def data_name(path: Path) -> str:
    """Name of DATA in messages."""
    return "standard input" if str(path) == STDIN else str(path)


def _arrays(path: Path, schema: RowSchema, reading: Reading, whole: bool) -> Iterator[Part]:
    known = ", ".join(_READERS)
    if reading.format not in (None, *_READERS):
        raise UserError(f"--format must be one of {known}. Got {reading.format!r}.")
    suffix = path.suffix.lower()
    if suffix in COMPRESSIONS:
        suffix = path.with_suffix("").suffix.lower()
    kind = reading.format or FORMATS.get(suffix)
    with as_user_error(data_name(path), *damage_errors()), source_of(path) as source:
        if kind is None and source.path == path:
            raise UserError(f"{path}: nothing is known of the suffix {path.suffix!r}; name the --format: {known}.")
        kind = kind or infer_format(source)
        if reading.text is not None and not schema.of_texts:
            raise UserError("--text names the column of a model whose rows are texts, and this one reads a table.")
        if kind in ("npy", "svmlight"):
            _require_numbers(kind, source, schema)
            schema = replace(schema, typed=None)
        if kind not in ("csv", "tsv") and reading.separator is not None:
            raise UserError(f"--separator speaks of text tables, and {source} is {kind}.")
        if kind in ("npy", "parquet") and source.compression is not None:
            raise UserError(
                f"{source} is packed by {source.compression}; only CSV and svmlight are read so. Unpack it first."
            )
        if kind == "tsv":
            reading = replace(reading, separator=reading.separator or "\t")
        reader = import_module(f".{_READERS[kind]}", __name__)  # they load NumPy, and libraries of tables
        n_rows = 0
        for part in reader.read_rows(source, schema, reading, whole):
            if part.groups is not None:
                _require_groups(source, part.groups, n_rows)
                n_rows += len(part.groups)
            yield part


def _require_groups(source: Source, groups: NDArray[Any], n_before: int) -> None:
    """Raise UserError for a row whose group is missing: an empty cell, a null or NaN."""
    if groups.dtype.kind not in "Of":
        return
    missing = next((row for row, key in enumerate(groups.tolist()) if key is None or key == "" or key != key), None)
    if missing is not None:
        raise UserError(
            f"{source}, row {n_before + missing} (from 0): --groups names no group there. Leave such rows out, or give "
            "each a group of its own."
        )


def _require_numbers(kind: str, source: Source, schema: RowSchema) -> None:
    """Raise UserError for a model of categories that a format cannot hold; say that a file without names is read."""
    reads = None if schema.categories is None or schema.categories.reads_arrays else "categories"
    if schema.typed is not None and not schema.typed.takes_numbers:
        reads = "texts" if schema.of_texts else "columns by name"
    if reads is not None:
        raise UserError(
            f"{source} is {kind}, which holds numbers without names, and the model reads {reads}. Write its "
            "rows as CSV or Parquet."
        )
    if schema.names is not None:
        note_order(source)


def _joined(rows: list[Any]) -> Any:
    """Arrays or data frames, one below the other."""
    import narwhals.stable.v2 as nw
    import numpy as np

    if isinstance(rows[0], np.ndarray):
        return np.concatenate(rows)
    return nw.maybe_reset_index(nw.concat([nw.from_native(part) for part in rows])).to_native()


def _named(rows: Any, schema: RowSchema) -> Any:
    """A data frame with the model's names that shares the array's memory; rows without names as they are."""
    import numpy as np
    from scipy import sparse

    if schema.names is None or sparse.issparse(rows) or not isinstance(rows, np.ndarray):
        return rows
    if find_spec("pandas") is not None:
        import pandas

        return pandas.DataFrame(rows, columns=list(schema.names), copy=False)
    if find_spec("polars") is not None:
        import polars

        return polars.DataFrame(rows, schema=list(schema.names))
    raise UserError(
        "the model knows its columns by name, which needs a data frame, and neither pandas nor polars is installed: "
        "pip install pandas."
    )
