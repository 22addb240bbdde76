"""The loop of a job: predict part after part, and write each one whole or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit import EarlyExitClassifier
from ..utils.files import temporary_name
from .errors import JobError
from .groups import Answers, RowGroups
from .manifest import Manifest, locked
from .parts import Input, Part, cut, find
from .scan import Table, Wanted, pyarrow_or_error
from .write import SUFFIXES, writer

#: Reads a file of another format than Parquet and Arrow IPC: rows for ``predict``, and the columns to keep.
Reader = Callable[[Path], Iterator[tuple[Any, dict[str, NDArray[Any]]]]]


@dataclass(frozen=True)
class Options:
    """What is written for each row.

    Attributes
    ----------
    cost : bool
        Whether to write costs beside labels.
    budget : float or None
        Most that a row may cost.
    keep, drop : tuple of str
        Columns that are no features; those of `keep` are copied.
    to : {"parquet", "csv", "arrow"}
    """

    cost: bool = False
    budget: float | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    to: str = "parquet"

    def __post_init__(self) -> None:
        if self.to not in SUFFIXES:
            raise JobError(f"--to must be one of {', '.join(SUFFIXES)}. Got {self.to!r}.")


@dataclass
class Report:
    """What a job has done.

    Attributes
    ----------
    n_parts, n_before : int
        Parts in all, and those that an earlier run had finished.
    n_rows : int
        Rows of all finished parts.
    total_cost : float
    seconds : float
        Time of this run.
    rows_now, rows_before : int
        Rows of this run, and of parts that an earlier run had finished.
    bytes_decoded, bytes_there : int
        Bytes of Parquet columns that were decoded, and that the files hold.
    counts : dict from str to int
        Rows of each label.
    all_rows : int or None
        Rows of all parts; None where some file does not say it.
    """

    n_parts: int = 0
    n_before: int = 0
    n_rows: int = 0
    total_cost: float = 0.0
    seconds: float = 0.0
    rows_now: int = 0
    rows_before: int = 0
    bytes_decoded: int = 0
    bytes_there: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    all_rows: int | None = None

    def add(self, facts: dict[str, Any]) -> None:
        """Count a part that is whole."""
        self.n_rows += facts["rows"]
        self.total_cost += facts["cost"]
        for label, n in facts["labels"].items():
            self.counts[label] = self.counts.get(label, 0) + n


def run(
    fast: EarlyExitClassifier,
    data: Sequence[str],
    out: Path,
    *,
    model: str,
    options: Options,
    reader: Reader | None = None,
    force: bool = False,
    progress: Callable[[Report], object] = lambda report: None,
) -> Report:
    """Predict the rows of files into a folder; take up a job that was broken off.

    Parameters
    ----------
    fast : EarlyExitClassifier
    data : sequence of str
        Files, patterns, folders or URLs; see `find`.
    out : Path
        The output folder.
    model : str
        Fingerprint of everything that decides labels and costs.
    options : Options
    reader : callable, default=None
        Reads files of other formats than Parquet and Arrow IPC.
    force : bool, default=False
        Whether to begin anew where the folder holds another job or other files.
    progress : callable, optional
        Called with the `Report` so far.

    Returns
    -------
    Report

    Raises
    ------
    JobError
        If inputs cannot be read or do not fit the model, or the folder is in use or holds another job. Parts that are
        whole stay.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow.parquet
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.frozen import FrozenEstimator
    >>> from sklearn.linear_model import LogisticRegression
    >>> from wald import EarlyExitClassifier
    >>> X, y = make_classification(3000, 4, random_state=0)
    >>> linear = LogisticRegression().fit(X[:500], y[:500])
    >>> fast = EarlyExitClassifier(FrozenEstimator(linear), risk=0.05, random_state=0).fit(X[500:])
    >>> folder = Path(tempfile.mkdtemp())
    >>> table = pyarrow.table({name: X[:, c] for c, name in enumerate("abcd")})
    >>> pyarrow.parquet.write_table(table, folder / "rows.parquet")
    >>> report = run(fast, [str(folder)], folder / "out", model="first", options=Options())
    >>> report.n_rows, report.n_parts
    (3000, 1)
    """
    names = getattr(fast, "feature_names_in_", None)
    n_features = int(fast.n_features_in_)
    wanted = Wanted(n_features, None if names is None else tuple(map(str, names)), options.keep, options.drop)
    pyarrow_or_error()
    inputs = find(data, out)
    parts = cut(inputs, [_group_rows(one, wanted, reader) for one in inputs], SUFFIXES[options.to])
    asked = {"model": model, "options": {**vars(options), "keep": list(options.keep), "drop": list(options.drop)}}
    with locked(out):
        try:
            manifest = Manifest.begin(out, asked, parts, force)
            return _Job(fast, wanted, options, reader, progress).run(parts, manifest)
        except JobError:
            raise
        except OSError as error:
            raise JobError(f"-o: {out}: {error.strerror or error}") from error


def _group_rows(source: Input, wanted: Wanted, reader: Reader | None) -> list[int] | None:
    """Rows of the row groups of a file, whose columns are checked; None if it has none."""
    if source.kind == "other":
        if reader is None:
            raise JobError(f"{source.name}: only Parquet and Arrow IPC are read here.")
        return None
    table = Table(source, wanted)
    table.close()
    return table.group_rows


class _Job:
    def __init__(
        self,
        fast: EarlyExitClassifier,
        wanted: Wanted,
        options: Options,
        reader: Reader | None,
        progress: Callable[[Report], object],
    ) -> None:
        self._classes, self._options, self._reader, self._progress = fast.classes_, options, reader, progress
        self._rows = RowGroups(fast, wanted, options.budget)
        self._report = Report()

    def run(self, parts: Sequence[Part], manifest: Manifest) -> Report:
        report, begun = self._report, time.perf_counter()
        report.n_parts, report.n_before = len(parts), len(manifest.done)
        rows = [part.n_rows for part in parts]
        report.all_rows = None if None in rows else sum(n or 0 for n in rows)
        for facts in manifest.done.values():
            report.add(facts)
        report.rows_before = report.n_rows
        for part in parts:
            if part.name not in manifest.done:
                facts = self._part(part, manifest.folder, begun)
                manifest.add(part.name, facts)
                report.add(facts)
        report.seconds = time.perf_counter() - begun
        self._progress(report)
        return report

    def _part(self, part: Part, folder: Path, begun: float) -> dict[str, Any]:
        import pyarrow

        classes = self._classes
        kind = pyarrow.array(classes).type  # of empty parts, too
        n, total, counts = 0, 0.0, np.zeros(len(classes), dtype=np.int64)
        other = part.source.kind == "other"
        answers = self._other(part) if other else self._rows.answers(part.source, range(*(part.groups or (0, 0))))
        with temporary_name(folder) as beside:
            with writer(beside, self._options.to) as write:
                for some in answers:
                    labels = pyarrow.array(some.labels, kind)
                    write(_merged(some.kept, {"label": labels, **({"cost": some.costs} if self._options.cost else {})}))
                    counts += np.bincount(np.searchsorted(classes, some.labels), minlength=len(classes))
                    n, total = n + len(labels), total + float(some.costs.sum())
                    self._report.rows_now += len(labels)
                    self._report.bytes_decoded = self._rows.bytes.decoded
                    self._report.bytes_there = self._rows.bytes.there
                    self._report.seconds = time.perf_counter() - begun
                    self._progress(self._report)
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            beside.replace(folder / part.name)
        labelled = {str(label): int(count) for label, count in zip(classes, counts, strict=True)}
        return {"rows": n, "cost": total, "labels": labelled}

    def _other(self, part: Part) -> Iterator[Answers]:
        assert self._reader is not None
        for rows, kept in self._reader(Path(part.source.name)):
            yield Answers(*self._rows.predict(rows, part.source.name), kept)


def _merged(kept: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Kept columns, then wald's own; a kept column is renamed if wald has a column of its name."""
    columns: dict[str, Any] = {}
    for name, column in kept.items():
        while name in own or name in columns:
            name = f"input_{name}"
        columns[name] = column
    return columns | own
