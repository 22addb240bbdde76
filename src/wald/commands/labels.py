"""Labels, and what they cost, as files: they appear whole, or not at all."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._files import appearing
from .answers import mistaken
from .errors import UserError

Write = Callable[[NDArray[Any], NDArray[np.float64]], None]


@contextmanager
def sink(path: Path, classes: NDArray[Any], with_cost: bool) -> Iterator[Write]:
    """Open an output file.

    Parameters
    ----------
    path : Path
        CSV, Parquet or NPY, by suffix; ``-`` is CSV on stdout.
    classes : ndarray
        All labels that can come.
    with_cost : bool
        Whether costs are written too: as a second column, or field of a structured array.

    Yields
    ------
    callable
        Takes labels and costs of the next rows.
    """
    if str(path) == "-":
        yield _lines(sys.stdout, with_cost)
        return
    kind = path.suffix.lower()
    if kind == ".csv":
        with _opened(path) as beside, beside.open("w", newline="", encoding="utf-8") as file:
            yield _lines(file, with_cost)
    elif kind in (".npy", ".parquet", ".pq"):
        save = _save_npy if kind == ".npy" else _parquet_writer()
        parts: list[tuple[NDArray[Any], NDArray[np.float64]]] = []
        yield lambda labels, costs: parts.append((labels, costs))
        labels = np.concatenate([part[0] for part in parts])
        if labels.dtype == object:
            labels = np.array([str(label) for label in labels])
        with _opened(path) as beside:
            save(beside, labels, np.concatenate([part[1] for part in parts]) if with_cost else None)
    else:
        raise UserError(f"-o: {path} must end in .csv, .parquet or .npy, or be - for CSV on stdout.")


@contextmanager
def _opened(path: Path) -> Iterator[Path]:
    """The output file; that it cannot be made is the user's mistake."""
    with ExitStack() as stack:
        with mistaken(f"-o: {path}", OSError):
            beside = stack.enter_context(appearing(path))
        yield beside


def _lines(file: Any, with_cost: bool) -> Write:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["label", "cost"] if with_cost else ["label"])

    def write(labels: NDArray[Any], costs: NDArray[np.float64]) -> None:
        if with_cost:
            writer.writerows(zip(labels.tolist(), costs.tolist(), strict=True))
        else:
            writer.writerows([label] for label in labels.tolist())

    return write


def _save_npy(path: Path, labels: NDArray[Any], costs: NDArray[np.float64] | None) -> None:
    values = labels
    if costs is not None:
        values = np.empty(len(labels), dtype=[("label", labels.dtype), ("cost", np.float64)])
        values["label"], values["cost"] = labels, costs
    with path.open("wb") as file:
        np.save(file, values, allow_pickle=False)


def _parquet_writer() -> Callable[[Path, NDArray[Any], NDArray[np.float64] | None], None]:
    if find_spec("polars") is not None:
        return _save_with_polars
    if find_spec("pyarrow") is not None:
        return _save_with_arrow
    raise UserError("Parquet files are written with polars or pyarrow, and neither is installed: pip install polars.")


def _save_with_polars(path: Path, labels: NDArray[Any], costs: NDArray[np.float64] | None) -> None:
    import polars

    polars.DataFrame({"label": labels, **({} if costs is None else {"cost": costs})}).write_parquet(path)


def _save_with_arrow(path: Path, labels: NDArray[Any], costs: NDArray[np.float64] | None) -> None:
    import pyarrow
    from pyarrow.parquet import write_table

    write_table(pyarrow.table({"label": labels, **({} if costs is None else {"cost": costs})}), path)
