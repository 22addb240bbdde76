"""Finds the input files of a job, and cuts them into the parts of its output."""

from __future__ import annotations

import glob
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from .errors import JobError

#: Formats by suffix.
FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "other",
    ".tsv": "other",
    ".npy": "other",
}
COMPRESSIONS = (".gz", ".bz2", ".xz", ".zst")
#: Row groups are put together until a part has this number of rows.
PART_ROWS = 4_000_000


@dataclass(frozen=True)
class Input:
    """One input file, as it was when it was found.

    Attributes
    ----------
    name : str
        Path or URL.
    size : int
        In bytes.
    changed : str
        Time of the last change, or what the store has in its place.
    kind : str
        "parquet", "arrow" or "other".
    """

    name: str
    size: int
    changed: str
    kind: str

    @property
    def is_url(self) -> bool:
        """Whether fsspec opens it."""
        return "://" in self.name

    def open(self) -> IO[bytes]:
        """Open the bytes of the file."""
        if self.is_url:
            fs, path = _fsspec(self.name)
            return fs.open(path, "rb")  # type: ignore[no-any-return]
        return Path(self.name).open("rb")


@dataclass(frozen=True)
class Part:
    """One output file, and what it is made from.

    Attributes
    ----------
    name : str
        Name of the output file; names sort like the inputs.
    source : Input
    groups : tuple of int or None
        First row group and the one after the last; None: the whole file.
    n_rows : int or None
        None where a file does not say it.
    """

    name: str
    source: Input
    groups: tuple[int, int] | None = None
    n_rows: int | None = None


def find(data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], out: Path) -> list[Input]:
    """Find the input files.

    Parameters
    ----------
    data : str or path, or sequence of these
        Files, glob patterns, folders (all files below of one known format, Parquet first, without those whose name, or
        a folder's, begins with a dot or an underscore), and URLs of fsspec.
    out : Path
        The output folder; files below it are no inputs.

    Returns
    -------
    list of Input
        In the order given; those of a pattern or a folder sorted by name.

    Raises
    ------
    JobError
        If nothing is found, a file is found twice, or a suffix is not known.
    TypeError
        If this is no list of names.
    """
    if not isinstance(data, str | os.PathLike | Iterable):
        raise TypeError(f"data must be a list of files and folders. Got {type(data).__name__}.")
    words = [os.fspath(given) for given in ([data] if isinstance(data, str | os.PathLike) else data)]
    found = [one for given in words for one in (_from_url(given) if "://" in given else _from_disk(given, out))]
    names = [one.name if one.is_url else os.path.realpath(one.name) for one in found]
    twice = {name for name, times in Counter(names).items() if times > 1}
    if twice:
        raise JobError(f"{min(twice)} is given twice; give every file once.")
    return found


def _is_hidden(path: Path) -> bool:
    """Whether a file is not for readers, as Spark's _SUCCESS, or what lies in its folder _temporary."""
    folders = [part for part in path.parts[:-1] if not part.startswith("_") or "=" not in part]  # _c=1 has a value
    return any(part.startswith((".", "_")) for part in (*folders, path.name))


def _from_disk(given: str, out: Path) -> Iterator[Input]:
    path = Path(given)
    if path.exists() and _inside(path, out):
        what = "is" if path.samefile(out) else "lies inside"
        raise JobError(
            f"-o: {given} {what} the output folder, whose files are no inputs. Name another folder, as out/."
        )
    if path.is_dir():
        below = sorted(p for p in path.rglob("*") if p.is_file() and not _is_hidden(p.relative_to(path)))
        below = [p for p in below if not _inside(p, out)]
        files = [p for p in below if _kind(p.name) == "parquet"] or [p for p in below if _kind(p.name) is not None]
        if not files:
            raise JobError(f"{given}: there is no Parquet file in this folder, nor below it.")
    elif path.exists():
        files = [path]
    elif glob.has_magic(given):
        there = [p for p in map(Path, sorted(glob.glob(given, recursive=True))) if p.is_file()]
        files = [p for p in there if not _inside(p, out)]
        if not files and there:
            raise JobError(f"-o: all files of {given} lie inside the output folder {out}; name another one.")
        if not files:
            raise JobError(f"{given}: no file has such a name.")
    else:
        raise JobError(f"{given}: No such file or directory.")
    for file in files:
        state = file.stat()
        yield Input(str(file), state.st_size, str(state.st_mtime_ns), _known(str(file)))


def _inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _from_url(given: str) -> Iterator[Input]:
    fs, path = _fsspec(given)
    protocol = given.split("://", 1)[0]
    try:
        if fs.isdir(path):
            paths = sorted(p for p in fs.find(path) if _kind(p) == "parquet")
        else:
            paths = sorted(fs.glob(path)) if glob.has_magic(path) else [path]
        for one in paths:
            facts = fs.info(one)
            changed = next(
                (str(facts[k]) for k in ("ETag", "etag", "mtime", "LastModified", "created") if k in facts), ""
            )
            kind = _known(one)
            if kind == "other":
                raise JobError(
                    f"{one}: only Parquet and Arrow IPC are read from a URL; copy this file to a disk first."
                )
            yield Input(f"{protocol}://{one}", int(facts["size"] or 0), changed, kind)
    except (OSError, ImportError) as error:
        raise JobError(f"{given}: {error}") from error
    if not paths:
        raise JobError(f"{given}: there is no such file.")


def _fsspec(url: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise JobError(f"{url}: URLs are read by fsspec, which is not installed: pip install fsspec") from None
    try:
        fs, path = url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise JobError(f"{url}: {error}") from error
    return fs, path


def _kind(name: str) -> str | None:
    path = PurePosixPath(name.lower())
    if path.suffix in COMPRESSIONS and FORMATS.get(path.with_suffix("").suffix) == "other":
        return "other"
    return FORMATS.get(path.suffix)


def _known(name: str) -> str:
    kind = _kind(name)
    if kind is None:
        raise JobError(f"{name}: nothing is known of its suffix; known are {', '.join(FORMATS)}.")
    return kind


def cut(inputs: Sequence[Input], rows_of_groups: Sequence[Sequence[int] | None], suffix: str) -> list[Part]:
    """Cut inputs into parts: one for each file, and several for a file with many row groups.

    Parameters
    ----------
    inputs : sequence of Input
    rows_of_groups : sequence of (sequence of int, or None)
        Rows of each row group of each file; None where there are no groups.
    suffix : str
        Suffix of the output files.

    Returns
    -------
    list of Part
    """
    ranges: list[tuple[Input, tuple[int, int] | None, int | None]] = []
    for source, rows in zip(inputs, rows_of_groups, strict=True):
        if rows is None:
            ranges.append((source, None, None))
            continue
        begin = total = 0
        for i, n in enumerate(rows):
            total += n
            if total >= PART_ROWS or i == len(rows) - 1:
                ranges.append((source, (begin, i + 1), total))
                begin, total = i + 1, 0
        if not rows:
            ranges.append((source, (0, 0), 0))
    width = max(5, len(str(len(ranges) - 1)))
    return [
        Part(f"part-{i:0{width}}-{_stem(source.name)}{suffix}", source, groups, n)
        for i, (source, groups, n) in enumerate(ranges)
    ]


def _stem(name: str) -> str:
    stem = re.split(r"[/\\]", name)[-1].split(".", 1)[0]
    return re.sub(r"[^\w-]", "_", stem)[:80]
