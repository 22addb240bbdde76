"""The loop of a job: predict part after part, and write each one whole or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..early_exit import EarlyExitClassifier
from ..engine.threads import effective_threads
from ..utils.files import temporary_name
from .errors import JobError
from .late import Steps
from .manifest import Manifest, locked
from .parts import Input, Part, cut, find
from .scan import Block, Table, Wanted, ahead, pyarrow_or_error
from .write import SUFFIXES, writer

#: Most values of undecided rows that are kept while further columns are read.
MOST_OPEN = 32 << 20

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


@dataclass(frozen=True, eq=False)
class _Piece:
    """Rows after the first step: codes and stages, the values of the rows that are open, and columns to keep."""

    codes: NDArray[Any]
    stages: NDArray[Any]
    open: NDArray[Any]
    kept: dict[str, Any]


def _chosen(rows: NDArray[Any], which: NDArray[np.intp]) -> NDArray[Any]:
    return rows[:0] if len(which) == 0 else np.take(rows.T, which, axis=1).T


class _Job:
    def __init__(
        self,
        fast: EarlyExitClassifier,
        wanted: Wanted,
        options: Options,
        reader: Reader | None,
        progress: Callable[[Report], object],
    ) -> None:
        self._fast, self._wanted, self._options = fast, wanted, options
        self._reader, self._progress = reader, progress
        self._predictor = fast._ready()
        self._threads = effective_threads(fast.n_jobs)
        plan, budget = self._predictor.plan, options.budget
        n_stages = plan.n_stages if budget is None else min(plan.n_stages, plan.affordable(budget))
        self._steps = Steps(self._predictor.columns_by_stage(), wanted.n_features, n_stages)
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

        classes = self._fast.classes_
        kind = pyarrow.array(classes).type  # of empty parts, too
        n, total, counts = 0, 0.0, np.zeros(len(classes), dtype=np.int64)
        answers = self._other(part) if part.source.kind == "other" else self._table(part)
        with temporary_name(folder) as beside:
            with writer(beside, self._options.to) as write:
                for labels, costs, kept in answers:
                    own = {"label": pyarrow.array(labels, kind), **({"cost": costs} if self._options.cost else {})}
                    write(_merged(kept, own))
                    counts += np.bincount(np.searchsorted(classes, labels), minlength=len(classes))
                    n, total = n + len(labels), total + float(costs.sum())
                    self._report.rows_now += len(labels)
                    self._report.seconds = time.perf_counter() - begun
                    self._progress(self._report)
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            beside.replace(folder / part.name)
        labelled = {str(label): int(count) for label, count in zip(classes, counts, strict=True)}
        return {"rows": n, "cost": total, "labels": labelled}

    def _other(self, part: Part) -> Iterator[tuple[NDArray[Any], NDArray[Any], dict[str, Any]]]:
        assert self._reader is not None
        for rows, kept in self._reader(Path(part.source.name)):
            yield *self._predict(rows, part.source.name), kept

    def _table(self, part: Part) -> Iterator[tuple[NDArray[Any], NDArray[Any], dict[str, Any]]]:
        """Labels, costs and kept columns of one row group after another; none has no rows."""
        import pyarrow

        table, again = Table(part.source, self._wanted), Table(part.source, self._wanted)
        first, last = part.groups or (0, 0)
        if sum(table.group_rows[first:last]) == 0:
            kept = {name: pyarrow.array([], table.schema.field(name).type) for name in self._wanted.keep}
            yield self._fast.classes_[:0], np.empty(0), kept
        mine: list[_Piece] = []
        n_read, announced = 0, sum(table.group_rows[first:last])
        for group, steps, block in ahead(self._blocks(table, range(first, last))):
            where = f"{part.source.name}, row group {group}"
            codes, stages = self._codes(block.rows, steps[0], where)
            n_open = sum(len(one.open) for one in mine) + np.count_nonzero(codes < 0)
            many = n_open * block.rows.shape[1] > MOST_OPEN
            opened = block.rows[:0] if many else _chosen(block.rows, np.flatnonzero(codes < 0))
            mine.append(_Piece(codes, stages, opened, block.kept))
            if sum(len(one.codes) for one in mine) < table.group_rows[group]:
                continue
            kept = {name: pyarrow.chunked_array([one.kept[name] for one in mine]) for name in self._wanted.keep}
            codes, stages, opened = (
                np.concatenate([getattr(one, name) for one in mine]) for name in ("codes", "stages", "open")
            )
            mine.clear()
            n_read += len(codes)
            yield *self._finished(again, group, steps, _Piece(codes, stages, opened, kept), where), kept
        if n_read != announced:
            raise JobError(f"{part.source.name} is damaged: it announces {announced} rows there, and holds {n_read}.")
        table.close()
        again.close()

    def _blocks(self, table: Table, groups: range) -> Iterator[tuple[int, list[int], Block]]:
        """Blocks of the columns of the first step."""
        for group in groups:
            steps = self._steps.choose(table.bytes_of(group)[0])
            for block in table.blocks(group, self._steps.columns(steps[0]), keep=True):
                yield group, steps, block

    def _finished(
        self, table: Table, group: int, steps: list[int], rows: _Piece, where: str
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Labels and costs of a row group, of which further columns are read while rows are open."""
        sizes, there = table.bytes_of(group)
        self._report.bytes_there += there
        self._report.bytes_decoded += int(sizes[self._steps.columns(steps[0])].sum()) + table.kept_bytes(group)
        codes, values = rows.codes, rows.open
        labels = self._predictor.labels(np.maximum(codes, 0))
        costs = self._predictor.plan.stage_costs.take(rows.stages)
        left = np.flatnonzero(codes < 0)
        if len(values) < len(left):  # too many to be kept: all columns are read at once
            self._report.bytes_decoded += int(sizes[self._steps.columns(0)].sum())
            for start, rows_read in self._some(table, group, self._steps.columns(0), left):
                some = left[start : start + len(rows_read)]
                labels[some], costs[some] = self._predict(named(rows_read, self._wanted.names), where)
            return labels, costs
        for before, depth in pairwise(steps):
            if not len(left):
                break
            columns = np.setdiff1d(self._steps.columns(depth), self._steps.columns(before))
            self._report.bytes_decoded += int(sizes[columns].sum())
            for start, rows_read in self._some(table, group, columns, left):
                values[start : start + len(rows_read), columns] = rows_read[:, columns]
            if depth == 0:
                labels[left], costs[left] = self._predict(named(values, self._wanted.names), where)
                break
            found, at = self._predictor.first_stages(values, depth, self._threads)
            now = found >= 0
            labels[left[now]] = self._predictor.labels(found[now])
            costs[left[now]] = self._predictor.plan.stage_costs.take(at[now])
            left, values = left[~now], values[~now]
        return labels, costs

    @staticmethod
    def _some(
        table: Table, group: int, columns: NDArray[np.intp], which: NDArray[np.intp]
    ) -> Iterator[tuple[int, NDArray[Any]]]:
        """Columns of some rows of a row group, in pieces: the place among them at which each begins, and its rows."""
        begun = 0
        for block in table.blocks(group, columns, keep=False):
            begin, end = np.searchsorted(which, (begun, begun + len(block.rows)))
            if end > begin:
                yield int(begin), _chosen(block.rows, which[begin:end] - begun)
            begun += len(block.rows)

    def _codes(self, rows: NDArray[Any], depth: int, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
        """Codes and stages after ``depth`` stages, or, at 0, after full prediction."""
        if depth:
            return self._predictor.first_stages(rows, depth, self._threads)
        try:
            return self._predictor.predict(named(rows, self._wanted.names), self._threads, self._options.budget)
        except (ValueError, TypeError) as error:
            raise JobError(f"{where}: {' '.join(str(error).split())}") from error

    def _predict(self, rows: Any, where: str) -> tuple[NDArray[Any], NDArray[Any]]:
        try:
            return self._fast.predict(rows, budget=self._options.budget, return_cost=True)  # type: ignore[return-value]
        except (ValueError, TypeError) as error:
            raise JobError(f"{where}: {' '.join(str(error).split())}") from error


def named(rows: NDArray[Any], names: tuple[str, ...] | None) -> Any:
    """A data frame with these names that shares the array's memory; the array if there are no names."""
    if names is None:
        return rows
    try:
        import pandas
    except ImportError:
        import polars

        return polars.DataFrame(rows, schema=list(names))
    return pandas.DataFrame(rows, columns=list(names), copy=False)


def _merged(kept: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Kept columns, then wald's own; a kept column is renamed if wald has a column of its name."""
    columns: dict[str, Any] = {}
    for name, column in kept.items():
        while name in own or name in columns:
            name = f"input_{name}"
        columns[name] = column
    return columns | own
