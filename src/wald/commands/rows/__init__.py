"""Data files as rows that a model takes: one reader per format, and the checks that all of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..answers import mistaken, note
from ..errors import UserError
from .arrays import read_npy
from .delimited import read_delimited
from .parquet import read_parquet
from .svmlight import read_svmlight
from .wanted import Part, Reading, Wanted

__all__ = ["FORMATS", "Part", "Reading", "Wanted", "read", "read_whole"]

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


def read(path: Path, wanted: Wanted, reading: Reading) -> Iterator[Part]:
    """Rows of a data file, in bounded parts (svmlight files are read as a whole).

    Parameters
    ----------
    path : Path
    wanted : Wanted
        What the model takes. Data frames are given where it knows names, CSR matrices for svmlight, arrays otherwise.
    reading : Reading

    Yields
    ------
    Part

    Raises
    ------
    UserError
        For everything that is wrong with the file; the message names the place.
    """
    for part in _arrays(path, wanted, reading, whole=False):
        yield replace(part, rows=_named(part.rows, wanted))


def read_whole(path: Path, wanted: Wanted, reading: Reading, tell: Callable[[float], object] = float) -> Part:
    """All rows of a data file at once; see `read`. NPY files stay mapped.

    Parameters
    ----------
    path : Path
    wanted : Wanted
    reading : Reading
    tell : callable, optional
        Called with the share of the file that has been read.

    Returns
    -------
    Part
    """
    parts = []
    for part in _arrays(path, wanted, reading, whole=True):
        parts.append(part)
        tell(part.done)
    rows = parts[0].rows if len(parts) == 1 else np.concatenate([part.rows for part in parts])
    groups = [part.groups for part in parts if part.groups is not None]
    return Part(_named(rows, wanted), np.concatenate(groups) if groups else None, 1.0)


def _arrays(path: Path, wanted: Wanted, reading: Reading, whole: bool) -> Iterator[Part]:
    kind = reading.format or FORMATS.get(path.suffix.lower())
    known = ", ".join(dict.fromkeys(FORMATS.values()))
    if kind is None:
        raise UserError(f"{path}: nothing is known of the suffix {path.suffix!r}; name the --format: {known}.")
    if kind not in FORMATS.values():
        raise UserError(f"--format must be one of {known}. Got {kind!r}.")
    with mistaken(str(path), OSError):
        path.open("rb").close()  # says in one way why a file cannot be opened
        if kind in ("npy", "svmlight") and wanted.names is not None:
            note(f"{path} has no column names: its columns are taken in the model's order.")
        match kind:
            case "csv" | "tsv":
                yield from read_delimited(path, wanted, reading, "," if kind == "csv" else "\t")
            case "parquet":
                yield from read_parquet(path, wanted, reading)
            case "npy":
                yield from read_npy(path, wanted, reading, whole)
            case _:
                yield from read_svmlight(path, wanted, reading, whole)


def _named(rows: Any, wanted: Wanted) -> Any:
    """A frame with the model's names around an array's memory."""
    if wanted.names is None or sparse.issparse(rows):
        return rows
    if find_spec("pandas") is not None:
        import pandas

        return pandas.DataFrame(rows, columns=list(wanted.names), copy=False)
    if find_spec("polars") is not None:
        import polars

        return polars.DataFrame(rows, schema=list(wanted.names))
    raise UserError(
        "the model knows its columns by name, which needs a data frame, and neither pandas nor polars is installed: "
        "pip install pandas."
    )
