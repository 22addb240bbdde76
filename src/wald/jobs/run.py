"""The loop of a job: predict part after part, and write each one whole or not at all."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..early_exit import CompiledPlan
from ..early_exit.estimators import EarlyExit
from ..early_exit.group_answers import require_groups
from ..models.column_kinds import Holds
from ..models.file_categories import FileCategories
from ..models.file_columns import FileColumns
from ..sources import Schema
from ..sources.schema import listed
from ..utils.files import temporary_name
from ..utils.labels import with_kept
from .errors import JobError
from .folders import kinds_of
from .groups import Answers, RowGroups
from .manifest import Manifest, locked
from .parts import Input, Part, cut, find
from .scan import Table, Wanted, pyarrow_or_error
from .whole_groups import Groups, WholeGroups, fingerprint
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
    keep : tuple of str
        Columns to copy, features or not; those of folders named ``column=value``, too.
    drop : tuple of str
        Columns to leave out. Those that a model with names does not know are left out anyway.
    to : {"parquet", "csv", "arrow"}
    proba : bool
        Whether to write the model's probabilities, in columns ``proba_LABEL``; all columns are read for them.
    skip_bad : bool
        Whether to leave out files and parts that cannot be read or do not fit the model, and list them in the report,
        instead of ending at the first one.
    text : str or None
        The column of texts, for a model whose rows are texts; None: the only column that is left.
    groups : str or None
        Of a ranker with a risk: the column that names the group of each row. Rows of a group stand side by side, also
        across row groups and files.
    """

    cost: bool = False
    budget: float | None = None
    keep: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    to: str = "parquet"
    proba: bool = False
    skip_bad: bool = False
    text: str | None = None
    groups: str | None = None

    def __post_init__(self) -> None:
        if self.to not in SUFFIXES:
            raise JobError(f"--to must be one of {', '.join(SUFFIXES)}. Got {self.to!r}.")
        for name in ("keep", "drop"):
            given = getattr(self, name)
            object.__setattr__(self, name, (given,) if isinstance(given, str) else tuple(given))

    def decisive(self, by_name: bool) -> dict[str, Any]:
        """What the bytes of a part depend on; columns to drop are none of it where the model finds its own by name."""
        asked = {**vars(self), "keep": list(self.keep), "drop": [] if by_name else list(self.drop)}
        del asked["skip_bad"]
        if not self.proba:  # as in the manifests of jobs before there were probabilities
            del asked["proba"]
        for name in ("text", "groups"):
            if getattr(self, name) is None:
                del asked[name]
        return asked


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
    n_done : int
        Parts that are whole.
    left_out : dict from str to int
        Columns that the model does not know, and the number of files that have them.
    skipped : list of str
        What `Options.skip_bad` left out, and why.
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
    n_done: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)

    def state(self, out: object) -> str:
        """Say what is done, and how to go on, for a job that ends before its end."""
        return f"{self.n_done} of {self.n_parts} parts are whole in {out}; the same command goes on from there."

    def add(self, facts: dict[str, Any]) -> None:
        """Count a part that is whole."""
        self.n_done += 1
        self.n_rows += facts["rows"]
        self.total_cost += facts["cost"]
        for label, n in facts["labels"].items():
            self.counts[label] = self.counts.get(label, 0) + n


def run(
    fast: EarlyExit,
    data: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
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
    fast : EarlyExitClassifier, EarlyExitRegressor, EarlyExitRanker or EarlyExitOutlierDetector
    data : str or path, or sequence of these
        Files, patterns, folders or URLs; see `find`.
    out : str or path
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
    pyarrow = pyarrow_or_error()
    out = Path(out)
    if options.proba and not hasattr(fast, "predict_proba"):
        raise JobError("proba: the model has no probabilities, or its file does not hold them; leave it out.")
    inputs = find(data, out)
    try:
        categories = None if fast.schema_.names is None else FileCategories.of(fast.compiled_plan_.model)
        typed = _typed(fast.compiled_plan_)
    except ValueError as error:
        raise JobError(str(error)) from error
    folders = kinds_of([one.name for one in inputs])
    if typed is not None:
        schema = Schema(len(typed.kinds), typed.names)
        folders |= {name: pyarrow.string() for name in typed.texts if name in folders}
    else:
        schema = replace(fast.schema_, n_columns=int(fast.n_features_in_))
    if options.text is not None and (typed is None or typed.names is not None):
        raise JobError("--text names the column of a model whose rows are texts, and this one reads a table.")
    if options.groups is not None:
        _require_groups(fast, options)
    wanted = Wanted(schema, options.keep, options.drop, folders, categories, typed, options.text, options.groups)
    report = Report()
    rows = _checked(inputs, wanted, reader, options.skip_bad, report)
    groups = None if options.groups is None else Groups.of(inputs, wanted)
    parts = cut(inputs, rows, SUFFIXES[options.to])
    with locked(out):
        try:
            asked = {"model": model, "options": options.decisive(wanted.names is not None)}
            job = _Job(fast, wanted, options, reader, progress, report)
            if groups is not None:
                asked["files that groups may reach into"] = fingerprint(inputs)
                job.complete(inputs, rows, groups)
            return job.run(parts, Manifest.begin(out, asked, parts, force))
        except JobError as error:
            if not report.n_parts:
                raise
            raise JobError(f"{error} {report.state(out)}") from error
        except OSError as error:
            state = f". {report.state(out)}" if report.n_parts else ""
            raise JobError(f"-o: {out}: {error.strerror or error}{state}") from error
        except BaseException as error:
            if report.n_parts:
                error.add_note(report.state(out))
            raise


def _require_groups(fast: EarlyExit, options: Options) -> None:
    """Raise JobError if rows do not race in groups, or with the other options."""
    try:
        require_groups(fast)
    except TypeError as error:
        raise JobError(f"--groups: {error}") from error
    if options.skip_bad:
        raise JobError("--skip-bad leaves out files, which would cut groups: leave it or --groups out.")


def _checked(
    inputs: Sequence[Input], wanted: Wanted, reader: Reader | None, skip_bad: bool, report: Report
) -> list[list[int] | None]:
    """Rows of the row groups of each file, whose columns are checked; None where it has none, or is left out."""
    rows: list[list[int] | None] = []
    dropped: set[str] = set()
    seen: set[str] = set()
    for source in inputs:
        if source.kind == "other":
            if reader is None:
                raise JobError(f"{source.name}: only Parquet and Arrow IPC are read here.")
            dropped |= {*wanted.drop}
            rows.append(None)
            continue
        try:
            table = Table(source, wanted)
        except JobError:
            if not skip_bad:
                raise
            rows.append(None)  # reading it fails again when its turn comes
            continue
        table.close()
        names = table.schema.names
        seen |= {*names}
        dropped |= {name for name in wanted.drop if name in names}
        for name in table.left_out:
            report.left_out[name] = report.left_out.get(name, 0) + 1
        rows.append(table.group_rows)
    lost = [name for name in wanted.drop if name not in dropped]
    if lost and seen:
        raise JobError(f"--drop: no file has a column {lost[0]!r}; there are {listed(sorted(seen))}.")
    return rows


class _Job:
    def __init__(
        self,
        fast: EarlyExit,
        wanted: Wanted,
        options: Options,
        reader: Reader | None,
        progress: Callable[[Report], object],
        report: Report,
    ) -> None:
        self._options, self._reader, self._progress = options, reader, progress
        self._classes = fast.compiled_plan_.model.classes
        self._wanted, self._report = wanted, report
        self._rows = RowGroups(fast, wanted, options.budget if options.groups is None else None, options.proba)
        self._fast = fast
        self._whole: WholeGroups | None = None

    def complete(self, inputs: Sequence[Input], rows: Sequence[Sequence[int] | None], groups: Groups) -> None:
        """Answer groups that are whole, across row groups and files."""
        self._whole = WholeGroups(self._fast, self._options.budget, self._wanted, self._rows, inputs, rows, groups)

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
                before = report.rows_now
                try:
                    facts = self._part(part, manifest.folder, begun)
                except JobError as error:
                    if not self._options.skip_bad:
                        raise
                    report.rows_now = before
                    report.skipped.append(str(error))
                    continue
                manifest.add(part.name, facts)
                report.add(facts)
        report.seconds = time.perf_counter() - begun
        self._progress(report)
        return report

    def _part(self, part: Part, folder: Path, begun: float) -> dict[str, Any]:
        import pyarrow

        columns, counts = self._rows.columns, Counter[str]()
        # of empty parts, too
        kinds = {name: _kind(columns.classes, none) for name, none in columns.of_answers(columns.none).items()}
        n, total = 0, 0.0
        answers = self._answers(part)
        with temporary_name(folder) as beside:
            with writer(beside, self._options.to) as write:
                for some in answers:
                    answered = columns.of_answers(some.labels)
                    own: dict[str, Any] = {name: pyarrow.array(one, kinds[name]) for name, one in answered.items()}
                    if self._options.cost:
                        own["cost"] = some.costs
                    if some.proba is not None:
                        own |= {f"proba_{label}": some.proba[:, k] for k, label in enumerate(self._classes)}
                    write(with_kept(some.kept, own))
                    counts.update(columns.counted(some.labels))
                    n, total = n + len(some.labels), total + float(some.costs.sum())
                    self._report.rows_now += len(some.labels)
                    self._report.bytes_decoded = self._rows.bytes.decoded
                    self._report.bytes_there = self._rows.bytes.there
                    self._report.seconds = time.perf_counter() - begun
                    self._progress(self._report)
            with beside.open("rb+") as file:
                os.fsync(file.fileno())
            beside.replace(folder / part.name)
        return {"rows": n, "cost": total, "labels": columns.counted(columns.none) | counts}

    def _answers(self, part: Part) -> Iterator[Answers]:
        if self._whole is not None:
            return self._whole.answers(part)
        other = part.source.kind == "other"
        return self._other(part) if other else self._rows.answers(part.source, range(*(part.groups or (0, 0))))

    def _other(self, part: Part) -> Iterator[Answers]:
        import pyarrow

        assert self._reader is not None
        where = part.source.name
        for rows, kept in self._reader(Path(where)):
            columns = {name: pyarrow.array(column) for name, column in kept.items()}
            for name, column in columns.items():
                self._wanted.require_kind(where, name, column.type)
            labels, costs, proba = self._rows.predict(rows, where)
            yield Answers(labels, costs, columns, proba)


def _kind(classes: NDArray[Any] | None, none: NDArray[Any]) -> Any:
    """The Arrow type of a column of answers."""
    import pyarrow

    return pyarrow.array(none if classes is None else classes).type


def _typed(compiled: CompiledPlan) -> FileColumns | None:
    """The columns of a pipeline whose rows are read whole; None for numbers that stages read when they need them."""
    typed = FileColumns.of(compiled.model)
    if typed is None or compiled.columns_by_stage() is None:
        return typed
    return typed if any(kind.holds > Holds.NUMBERS for kind in typed.kinds) else None
