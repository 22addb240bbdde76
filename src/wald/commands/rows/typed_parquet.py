"""Reads Parquet files for pipelines, each column in the type that the pipeline was fitted on."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

from ...models.file_columns import BadCellError, lacking, rows_at_once
from ..errors import UserError
from .parquet import AT_ONCE, columns_to_read, opened_by_arrow, parts, unreadable
from .schema import Part, Reading, RowSchema, select
from .source import Source


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

    typed, file = schema.typed, opened_by_arrow(path)
    assert typed is not None
    selection = select(path, file.names, schema, reading)
    columns = columns_to_read(path, file, selection)
    features = [file.names[c] for c in selection.features]
    for c, name in enumerate(features):
        kind = file.schema.field(name).type
        if (takes := typed.misfit(c, kind)) is not None:
            raise UserError(f"{path}: the model takes {takes} in the column {name!r}, and the file holds {kind}.")
    lack = lacking(file.metadata, file.schema, features)

    def rows_of(batch: Any, start: int) -> Any:
        made = []
        for c, name in enumerate(features):
            try:
                made.append(typed.from_arrow(c, batch[name], name in lack))
            except BadCellError as error:
                raise UserError(f"{path}, row {start + error.row} (from 0), column {name!r}: {error}") from error
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise unreadable(path, error) from error
        return typed.rows(made)

    batches = file.batches(columns, rows_at_once(file.metadata, typed, features, AT_ONCE))
    yield from parts(path, file, selection, batches, rows_of)
