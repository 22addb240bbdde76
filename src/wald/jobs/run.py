"""Predict the rows of files: what a job reads is checked before it begins, or goes on."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from ..early_exit import CompiledPlan
from ..early_exit.estimators import EarlyExit, require_early_exit
from ..early_exit.group_answers import require_groups
from ..models.column_kinds import Holds
from ..models.file_categories import FileCategories
from ..models.file_columns import FileColumns
from ..sources import Schema
from ..sources.schema import listed
from .errors import JobError
from .folders import kinds_of
from .groups import RowGroups
from .loop import Job, Reader
from .manifest import Manifest, locked
from .options import Options
from .parts import Input, cut, find
from .report import Report
from .scan import Table, pyarrow_or_error
from .wanted import Wanted
from .whole_groups import Groups, WholeGroups, fingerprint
from .write import SUFFIXES


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
    TypeError
        If ``fast`` is no early-exit estimator.

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
    require_early_exit(fast, "fast must be")
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
            answering = RowGroups(fast, wanted, options.budget if groups is None else None, options.proba)
            whole = None
            if groups is not None:
                asked["files that groups may reach into"] = fingerprint(inputs)
                whole = WholeGroups(fast, options.budget, wanted, answering, inputs, rows, groups)
            classes = fast.compiled_plan_.model.classes
            job = Job(options, wanted, answering, whole, classes, reader, progress, report)
            return job.run(parts, Manifest.begin(out, asked, parts, force))
        except JobError as error:
            if not report.n_parts:
                raise
            raise JobError(f"{str(error).removesuffix('.')}. {report.state(out)}") from error
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


def _typed(compiled: CompiledPlan) -> FileColumns | None:
    """The columns of a pipeline whose rows are read whole; None for numbers that stages read when they need them."""
    typed = FileColumns.of(compiled.model)
    if typed is None or compiled.columns_by_stage() is None:
        return typed
    return typed if any(kind.holds > Holds.NUMBERS for kind in typed.kinds) else None
