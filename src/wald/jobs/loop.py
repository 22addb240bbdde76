"""The loop of a job: predict part after part, and write each one whole or not at all."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..utils.files import temporary_name
from ..utils.labels import with_kept
from .errors import JobError
from .groups import Answers, RowGroups
from .manifest import Manifest
from .options import Options
from .parts import Part
from .report import Report
from .wanted import Wanted
from .whole_groups import WholeGroups
from .write import writer

#: Reads a file of another format than Parquet and Arrow IPC: rows for ``predict``, and the columns to keep.
Reader = Callable[[Path], Iterator[tuple[Any, dict[str, NDArray[Any]]]]]


@dataclass(frozen=True)
class Job:
    """What is asked of the rows of all parts.

    Attributes
    ----------
    options : Options
    wanted : Wanted
    rows : RowGroups
    whole : WholeGroups or None
        Answers groups that are whole, across row groups and files; None: rows are answered by themselves.
    classes : ndarray or None
        Labels of the probabilities.
    reader : callable or None
    progress : callable
    report : Report
    """

    options: Options
    wanted: Wanted
    rows: RowGroups
    whole: WholeGroups | None
    classes: NDArray[Any] | None
    reader: Reader | None
    progress: Callable[[Report], object]
    report: Report

    def run(self, parts: Sequence[Part], manifest: Manifest) -> Report:
        """Predict the parts that an earlier run has not finished."""
        report, begun = self.report, time.perf_counter()
        report.n_parts, report.n_before = len(parts), len(manifest.done)
        rows = [part.n_rows for part in parts]
        report.all_rows = None if None in rows else sum(n or 0 for n in rows)
        for facts in manifest.done.values():
            report.add(facts)
        report.rows_before = report.n_rows
        for part in parts:
            if part.name not in manifest.done:
                before = report.rows_now
                try:
                    facts = self._part(part, manifest.folder, begun)
                except JobError as error:
                    if not self.options.skip_bad:
                        raise
                    report.rows_now = before
                    report.skipped.append(str(error))
                    continue
                manifest.add(part.name, facts)
                report.add(facts)
        report.seconds = time.perf_counter() - begun
        self.progress(report)
        return report

    def _part(self, part: Part, folder: Path, begun: float) -> dict[str, Any]:
        import pyarrow

        report, columns, counts = self.report, self.rows.columns, Counter[str]()
        # of empty parts, too
        kinds = {name: _kind(columns.classes, none) for name, none in columns.of_answers(columns.none).items()}
        n, total = 0, 0.0
        with temporary_name(folder) as beside:
            with writer(beside, self.options.to) as write:
                for some in self._answers(part):
                    answered = columns.of_answers(some.labels)
                    own: dict[str, Any] = {name: pyarrow.array(one, kinds[name]) for name, one in answered.items()}
                    if self.options.cost:
                        own["cost"] = some.costs
                    if some.proba is not None:
                        assert self.classes is not None
                        own |= {f"proba_{label}": some.proba[:, k] for k, label in enumerate(self.classes)}
                    write(with_kept(some.kept, own))
                    counts.update(columns.counted(some.labels))
                    n, total = n + len(some.labels), total + float(some.costs.sum())
                    report.rows_now += len(some.labels)
                    report.bytes_decoded, report.bytes_there = self.rows.bytes.decoded, self.rows.bytes.there
                    report.seconds = time.perf_counter() - begun
                    self.progress(report)
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            beside.replace(folder / part.name)
        return {"rows": n, "cost": total, "labels": columns.counted(columns.none) | counts}

    def _answers(self, part: Part) -> Iterator[Answers]:
        if self.whole is not None:
            return self.whole.answers(part)
        if part.source.kind == "other":
            return self._other(part)
        return self.rows.answers(part.source, range(*(part.groups or (0, 0))))

    def _other(self, part: Part) -> Iterator[Answers]:
        import pyarrow

        assert self.reader is not None
        where = part.source.name
        for rows, kept in self.reader(Path(where)):
            columns = {name: pyarrow.array(column) for name, column in kept.items()}
            for name, column in columns.items():
                self.wanted.require_kind(where, name, column.type)
            labels, costs, proba = self.rows.predict(rows, where)
            yield Answers(labels, costs, columns, proba)


def _kind(classes: NDArray[Any] | None, none: NDArray[Any]) -> Any:
    """The Arrow type of a column of answers."""
    import pyarrow

    return pyarrow.array(none if classes is None else classes).type
