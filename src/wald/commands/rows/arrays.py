"""NumPy's own files, mapped and not read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UserError
from .wanted import Part, Reading, Wanted, first_bad, not_finite, select

#: Values that are handed on at once.
AT_ONCE = 4 << 20


def read_npy(path: Path, wanted: Wanted, reading: Reading, whole: bool) -> Iterator[Part]:
    """Rows of an NPY file, in its own dtype and memory order; in one part if ``whole``.

    Parameters
    ----------
    path : Path
    wanted : Wanted
    reading : Reading
    whole : bool

    Yields
    ------
    Part
    """
    values = _mapped(path)
    selection = select(path, values.shape[1], wanted, reading)
    every = selection.features == tuple(range(values.shape[1]))
    step = len(values) if whole else max(1, AT_ONCE // values.shape[1])
    for start in range(0, len(values), step):
        some = values[start : start + step]
        chosen = some if every else some[:, list(selection.features)]
        bad = first_bad(chosen, wanted.allow_nan)
        if bad is not None:
            place = f"{path}, row {start + bad[0]} (from 0), column {selection.features[bad[1]]} (from 0)"
            raise not_finite(place, float(chosen[bad]))
        groups = None if selection.groups is None else np.asarray(some[:, selection.groups])
        yield Part(chosen, groups, min(1.0, (start + step) / len(values)))


def _mapped(path: Path) -> NDArray[Any]:
    try:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(file)
    except ValueError as error:
        raise UserError(f"{path} is not an NPY file: {' '.join(str(error).split())}") from error
    if dtype.hasobject:
        raise UserError(f"{path} holds Python objects, which only pickle could read. Save an array of numbers.")
    if dtype.kind not in "biuf":
        raise UserError(f"{path} holds {dtype}, which are no real numbers.")
    if len(shape) != 2:
        raise UserError(f"{path} holds an array of shape {shape}; rows and columns are needed.")
    if 0 in shape:
        raise UserError(f"{path} is empty: its array has the shape {shape}.")
    try:
        return np.lib.format.open_memmap(path, mode="r")
    except ValueError as error:
        raise UserError(f"{path} is damaged: {error}") from error
