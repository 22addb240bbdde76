"""``wald predict``: labels or values of the rows of a file, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..utils.progress import share_done
from . import options
from .answers import EXIT_SKIPPED, as_user_error, handling_errors, progress_console
from .errors import UserError
from .job import is_job, require_job_options, run_job, say
from .labels import sink
from .models import load_served, schema_of_saved
from .rankings import require_ranker
from .rows import Part, data_name, joined, read

if TYPE_CHECKING:
    from ..early_exit.compiled.answer_columns import AnswerColumns
    from ..jobs import Options, Report


@options.takes_about_data
def predict(
    file: options.FileArgument,
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help=f"{options.DATA} Or a job of many files, into a folder: files, a quoted pattern, a folder of Parquet "
            "files, or a URL of fsspec; Parquet, Arrow IPC, CSV or NPY.",
        ),
    ],
    output: Annotated[
        str,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="CSV or TSV (also .gz, .bz2, .xz), Parquet or NPY, by suffix, which replaces the file of before once "
            "all rows are done; - is CSV on stdout. A folder (OUT/) "
            "takes a part for each file; the same command again goes on where a job was broken off.",
        ),
    ],
    cost: Annotated[bool, typer.Option("--cost", help="Write what each row cost beside its answer.")] = False,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Write the wrapped model's class probabilities beside the label; every row is evaluated in full for "
            "them, and MODEL is needed.",
        ),
    ] = False,
    keep: options.Keep = None,
    budget: Annotated[
        float | None,
        typer.Option(
            help="Most that a row may cost, in units; with --groups, on average over those of a group. Outside of the "
            "certificate."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Of a ranker fitted with a --risk: the column, by name or position from 0, that names the group of "
            "each row (qid in svmlight). Rows of a group race for its first places. A single file is then read as a "
            "whole; in a job, rows of a group stand side by side, also across row groups and files.",
        ),
    ] = None,
    to: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Of a folder's parts: parquet (the default), csv or arrow.")
    ] = None,
    model: options.Model = None,
    about_data: options.AboutData = options.NOTHING_SAID,
    skip_bad: Annotated[
        bool,
        typer.Option(
            "--skip-bad",
            help="Of a job: leave out files and parts that cannot be read or do not fit the model, list them at the "
            "end, and exit with code 3.",
        ),
    ] = False,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    force: Annotated[
        bool, typer.Option("--force", help="Of a job: begin anew, and delete the parts that are done.")
    ] = False,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Write the answers for the rows DATA, one line per row, in their order: what is kept, label, cost, probabilities.

    A regressor or ranker has a value in place of the label; several are called value_0, value_1 and so on.

    Memory is bounded by parts of the file, but for svmlight and with --groups, where it is read as a whole; that of a
    job is bounded by parts or groups.
    """
    with handling_errors("predict", debug):
        from ..early_exit.compiled.answer_columns import AnswerColumns
        from ..jobs import Options, Report

        many = is_job(data, output)
        data_file, output_file = Path(data[0]), Path(output)
        if many:
            require_job_options(output, to, format=about_data.format, zero_based=about_data.zero_based)
        elif to is not None:
            raise UserError("--to is for a folder of parts (-o OUT/); a single file's suffix says its format.")
        elif skip_bad:
            raise UserError("--skip-bad is for a job into a folder (-o OUT/); a single file is written whole or not.")
        piped = output == "-"
        if piped and json:
            raise UserError("--json and -o - both want stdout; write the answers to a file.")
        if not piped and not many:
            options.require_writable(output_file, True, file, data_file, model, devices=True)
        fast = load_served(file, options.threads(jobs), model, trust_pickle, trust_type or (), proba)
        schema = schema_of_saved(fast, file)
        if budget is not None and groups is None:
            with as_user_error("--budget"):
                fast.compiled_plan_.plan.affordable(budget)
        if proba:
            _require_probabilities(fast, file)
        require_ranker(fast, groups)
        reading = about_data.reading(groups, keep)
        written = Options(
            cost, budget, reading.keep, reading.drop, to or "parquet", proba, skip_bad, reading.text, groups
        )
        if many:
            done = run_job(fast, schema, reading, data, output, (file, model), written, force)
        else:
            done, columns = Report(), AnswerColumns.of(fast.compiled_plan_)
            with share_done(progress_console(), "predicting") as report, sink(output_file) as write:
                whole = groups is not None  # no group is cut
                for part in [joined(data_file, schema, reading)] if whole else read(data_file, schema, reading):
                    with as_user_error(data_name(data_file), ValueError, TypeError):
                        write(_answers(fast, columns, part, written, done))
                    report(part.done)
        say(done, output, fast, budget, json)
        if done.skipped:
            raise typer.Exit(EXIT_SKIPPED)


def _answers(fast: Any, columns: AnswerColumns, part: Part, asked: Options, done: Report) -> dict[str, Any]:
    """Columns of the output for some rows, which are counted."""
    from ..early_exit.group_answers import answered
    from ..engine.threads import effective_threads
    from ..utils.labels import with_kept

    n_threads = effective_threads(fast.n_jobs, part.rows)
    found = answered(fast, part.rows, part.groups, budget=asked.budget, n_threads=n_threads)
    own = columns.of_answers(found.labels) | ({"cost": found.costs} if asked.cost else {})
    if asked.proba and not columns.are_probabilities:
        proba = fast.predict_proba(part.rows).T
        own |= {f"proba_{label}": column for label, column in zip(fast.classes_, proba, strict=True)}
    counted = columns.counted(found.labels)
    done.add({"rows": len(found.labels), "cost": float(found.costs.sum()), "labels": counted})
    done.left_out = dict.fromkeys(part.left_out, 1)
    return with_kept(part.kept, own)


def _require_probabilities(fast: Any, file: Path) -> None:
    """Raise UserError if the model has no probabilities, before any work is done."""
    if hasattr(fast, "predict_proba"):
        return
    from ..early_exit import EarlyExitClassifier
    from ..persistence import SavedModel

    if isinstance(fast.estimator_, SavedModel):
        raise UserError(
            f"--proba: {file} holds no probabilities; the wrapped model's own file has them: --model MODEL."
        )
    name = type(fast.estimator_).__name__
    if not isinstance(fast, EarlyExitClassifier):
        raise UserError(f"--proba: the wrapped {name} is no classifier, and has no probabilities. Leave --proba out.")
    raise UserError(
        f"--proba: the wrapped {name} has no probabilities. Calibrate it before wald fit (CalibratedClassifierCV with "
        "ensemble=False), or leave --proba out."
    )
