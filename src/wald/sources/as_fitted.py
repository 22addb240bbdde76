"""Tables of other doors as data frames with the missing texts of the rows of `fit`: encoders tell None from NaN."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .cells import objects_of


def frame_of_arrow(table: Any, texts: Mapping[str, float | None], library: str | None) -> Any:
    """Make a frame of an Arrow table.

    Parameters
    ----------
    table : pyarrow.Table
    texts : dict
        The columns of texts, and what stands for a missing one: NaN or None.
    library : {"pandas", "polars", "pyarrow"} or None

    Returns
    -------
    data frame
        Of the library; None: the Arrow table. Dictionaries of texts are written out, and columns without a type hold
        missing texts, or missing numbers.
    """
    import pyarrow as pa

    columns = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        if pa.types.is_null(kind):
            column = column.cast(pa.large_string() if name in texts else pa.float64())
        elif name in texts and pa.types.is_dictionary(kind):
            column = column.cast(kind.value_type)
        elif name not in texts and pa.types.is_boolean(kind) and column.null_count:
            column = column.cast(pa.int8())  # pandas would make objects of them
        columns[name] = column
    if library == "polars":
        import polars

        return polars.from_arrow(pa.table(columns))
    if library != "pandas":
        return pa.table(columns)
    import pandas

    frame = {}
    for name, column in columns.items():
        missing = texts.get(name)
        if name not in texts or (is_text(column.type) and not column.null_count):
            frame[name] = column.to_pandas()
            continue
        objects = [missing if value is None else value for value in column.to_pylist()]
        frame[name] = pandas.Series(objects_of(objects), dtype=object)
    return pandas.DataFrame(frame)


def with_missing(frame: Any, texts: Mapping[str, float | None]) -> Any:
    """A frame of pandas whose missing texts are those of the rows of `fit`.

    Parameters
    ----------
    frame : pandas.DataFrame
    texts : dict
        As for `frame_of_arrow`.
    """
    changed = {}
    for name, missing in texts.items():
        column = frame[name]
        if missing is not None and str(column.dtype) in ("str", "category"):  # NaN already
            continue
        nulls = column.isna().to_numpy()
        if nulls.any():
            values = np.array(column.to_numpy(dtype=object), dtype=object)
            values[nulls] = missing
            changed[name] = type(column)(values, index=column.index, dtype=object)
    return frame.assign(**changed) if changed else frame


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is one of texts."""
    return str(kind) in ("string", "large_string", "string_view")
