"""Reads NPY files, memory-mapped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..answers import reason
from ..errors import UserError
from .schema import Part, Reading, RowSchema, first_bad, not_finite, select
from .source import Source

#: Largest number of values in a part.
AT_ONCE = 4 << 20


def read_rows(source: Source, schema: RowSchema, reading: Reading, whole: bool) -> Iterator[Part]:
    """Read rows of an NPY file, in its own dtype and memory order.

    Parameters
    ----------
    source : Source
    schema : RowSchema
    reading : Reading
    whole : bool
        Whether to give all rows in one part.

    Yields
    ------
    Part
    """
    values = _mapped(source)
    selection = select(source, values.shape[1], schema, reading)
    every = selection.features == tuple(range(values.shape[1]))
    step = len(values) if whole else max(1, AT_ONCE // values.shape[1])
    for start in range(0, len(values), step):
        some = values[start : start + step]
        chosen = some if every else some[:, list(selection.features)]
        bad = first_bad(chosen, schema)
        if bad is not None:
            place = f"{source}, row {start + bad[0]} (from 0), column {selection.features[bad[1]]} (from 0)"
            raise not_finite(place, float(chosen[bad]))
        groups = None if selection.groups is None else np.asarray(some[:, selection.groups])
        kept = {str(c): np.asarray(some[:, c]) for c in selection.kept}
        yield Part(chosen, groups, min(1.0, (start + step) / len(values)), kept, selection.left_out)


def _mapped(source: Source) -> NDArray[Any]:
    try:
        values = np.lib.format.open_memmap(source.path, mode="r")
    except OSError:
        raise
    except Exception as error:  # NumPy lets Python parse the header, which may raise many types
        if "Python objects" in str(error):
            raise UserError(
                f"{source} holds Python objects, which only pickle could read. Save an array of numbers."
            ) from error
        raise UserError(f"{source} is not an NPY file, or it is damaged: {reason(error)}") from error
    if values.dtype.kind not in "biuf":
        raise UserError(f"{source} holds {values.dtype}, which are no real numbers.")
    if values.ndim != 2:
        raise UserError(f"{source} holds an array of shape {values.shape}; rows and columns are needed.")
    if 0 in values.shape:
        raise UserError(f"{source} is empty: its array has the shape {values.shape}.")
    return values
