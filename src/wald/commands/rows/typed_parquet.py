"""Reads Parquet files for pipelines, each column in the type that the pipeline was fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from ...models.file_columns import BadCellError, lacking, rows_at_once
from ..answers import reason
from ..errors import UserError
from .schema import Part, Reading, RowSchema, listed, select
from .source import Source

#: Largest number of values in a batch.
AT_ONCE = 4 << 20


def read_typed_rows(path: Source, schema: RowSchema, reading: Reading) -> Iterator[Part]:
    """Read rows of a Parquet file as a pipeline takes them: data frames, or columns of texts.

    Parameters
    ----------
    path : Source
    schema : RowSchema
        With `typed`.
    reading : Reading

    Yields
    ------
    Part
    """
    if find_spec("pyarrow") is None:
        raise UserError(
            "Parquet files are read with pyarrow for a pipeline, and it is not installed: pip install pyarrow."
        )
    import pyarrow
    from pyarrow.parquet import ParquetFile

    errors = (pyarrow.ArrowException, OSError, ValueError, EOFError)
    assert schema.typed is not None
    try:
        file = ParquetFile(path.path)
    except errors as error:
        raise _unreadable(path, error) from error
    names, n_rows = list(file.schema_arrow.names), int(file.metadata.num_rows)
    selection = select(path, names, schema, reading)
    if n_rows == 0:
        raise UserError(f"{path} is empty: it has columns, and no rows.")
    features, kept = ([names[c] for c in places] for places in (selection.features, selection.kept))
    groups = None if selection.groups is None else names[selection.groups]
    columns = list(dict.fromkeys([*features, *kept, *([] if groups is None else [groups])]))
    if twice := [name for name in columns if names.count(name) > 1]:
        raise UserError(f"{path} has more than one column called {listed(twice)}, and columns are read by name.")
    for c, name in enumerate(features):
        kind = file.schema_arrow.field(name).type
        if (takes := schema.typed.misfit(c, kind)) is not None:
            raise UserError(f"{path}: the model takes {takes} in the column {name!r}, and the file holds {kind}.")
    start, batches = 0, file.iter_batches(rows_at_once(file.metadata, schema.typed, features, AT_ONCE), columns=columns)
    lack = lacking(file.metadata, file.schema_arrow, features)
    while True:
        try:
            batch = next(batches, None)
        except errors as error:
            raise _unreadable(path, error) from error
        if batch is None:
            break
        made = []
        for c, name in enumerate(features):
            try:
                made.append(schema.typed.from_arrow(c, batch[name], name in lack))
            except BadCellError as error:
                raise UserError(f"{path}, row {start + error.row} (from 0), column {name!r}: {error}") from error
            except errors as error:
                raise _unreadable(path, error) from error
        start += batch.num_rows
        texts: dict[str, Any] = {
            name: batch[name].to_numpy(zero_copy_only=False) for name in columns if name in (*kept, groups)
        }
        part = {name: texts[name] for name in kept}
        done = start / n_rows
        yield Part(schema.typed.rows(made), None if groups is None else texts[groups], done, part, selection.left_out)
    if start != n_rows:
        raise UserError(f"{path} is damaged: it announces {n_rows} rows, and holds {start}.")


def _unreadable(path: Source, error: Exception) -> UserError:
    return UserError(f"{path} cannot be read as Parquet: {reason(error)}")
