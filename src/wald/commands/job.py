"""``wald predict`` into a folder: the options of a job, and what it says."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..utils.figures import number
from ..utils.progress import rows_done
from .answers import as_json, as_user_error, monitor_facts, note, note_monitor, progress_console
from .errors import UserError
from .rows import Reading, RowSchema, note_left_out, read

if TYPE_CHECKING:
    from ..early_exit.estimators import EarlyExit
    from ..jobs import Options, Report


def is_job(data: Sequence[str], output: str) -> bool:
    """Whether a command asks for many files, or for a folder of parts."""
    if len(data) > 1 or output.endswith(("/", os.sep)):
        return True
    one = data[0]
    if output == "-":  # a single file's answers; a folder is refused where files are read
        return False
    return "://" in one or os.path.isdir(one) or (glob.has_magic(one) and not os.path.exists(one))


def require_job_options(output: str, to: str | None, *, format: str | None, zero_based: object) -> None:
    """Raise UserError for what a job cannot do."""
    if to not in (None, "parquet", "csv", "arrow"):
        raise UserError(f"--to must be parquet, csv or arrow. Got {to!r}.")
    if output == "-" or (os.path.exists(output) and not os.path.isdir(output)) or _names_a_file(output):
        raise UserError(f"-o: many files are predicted into a folder; name one, as out/. Got {output}.")
    for option, given in (("--format", format), ("--zero-based", zero_based)):
        if given is not None:
            raise UserError(f"{option} is for a single file and -o FILE; a job into a folder does not take it.")


def _names_a_file(output: str) -> bool:
    known = (".parquet", ".pq", ".csv", ".tsv", ".npy", ".gz", ".bz2", ".xz")
    return not output.endswith(("/", os.sep)) and not os.path.isdir(output) and output.lower().endswith(known)


def run_job(
    fast: EarlyExit,
    schema: RowSchema,
    reading: Reading,
    data: Sequence[str],
    output: str,
    models: tuple[Path, Path | None],
    options: Options,
    force: bool,
) -> Report:
    """Run a job."""
    from ..jobs import JobError, run
    from ..utils import files

    left_out: dict[str, int] = {}

    def reader(path: Path) -> Iterator[tuple[Any, dict[str, Any]]]:
        first = True
        try:
            for part in read(path, schema, replace(reading, one_of_many=True)):
                for name in part.left_out if first else ():
                    left_out[name] = left_out.get(name, 0) + 1
                first = False
                yield part.rows, part.kept
        except UserError as error:
            raise JobError(str(error)) from error

    text = {"header": reading.header, "separator": reading.separator}
    fingerprint = "+".join(_digest(path) for path in models if path is not None)
    fingerprint += "".join(f" {name}={value!r}" for name, value in text.items() if value is not None)
    files.last_words = lambda: f"wald predict: the files were being checked; the same command begins again ({output})."
    with rows_done(progress_console(), "predicting") as report:

        def progress(so_far: Report) -> None:
            files.last_words = lambda: f"wald predict: {so_far.state(output)}"
            done = so_far.rows_now + so_far.rows_before
            report(done, so_far.all_rows, so_far.rows_now / max(so_far.seconds, 1e-9))

        try:
            result = run(
                fast,
                data,
                Path(output),
                model=fingerprint,
                options=options,
                reader=reader,
                force=force,
                progress=progress,
            )
        except JobError as error:
            raise UserError(str(error)) from error
        finally:
            files.last_words = None
    for name, n in left_out.items():
        result.left_out[name] = result.left_out.get(name, 0) + n
    return result


def _digest(path: Path) -> str:
    import hashlib

    with as_user_error(str(path), OSError), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def say(result: Report, output: str, fast: EarlyExit, budget: float | None, json: bool) -> None:
    """Say what was done: by a job of many parts, or with a single file, which is none of them."""
    full_cost, many = fast.compiled_plan_.plan.full_cost, result.n_parts > 0
    mean = result.total_cost / result.n_rows if result.n_rows else None
    rate = result.rows_now / max(result.seconds, 1e-9)
    if json:
        facts = {
            "output": output,
            "n_rows": result.n_rows,
            "mean_cost": mean,
            "full_cost": full_cost,
            "budget": budget,
            "labels": result.counts,
            "left_out": result.left_out if many else list(result.left_out),
        }
        of_parts = {
            "parts": result.n_parts,
            "parts_before": result.n_before,
            "skipped": result.skipped,
            "rows_per_second": rate,
            "bytes_decoded": result.bytes_decoded,
            "bytes_there": result.bytes_there,
        }
        as_json(facts | (of_parts if many else {}) | monitor_facts(fast))
        return
    units = "" if mean is None else f", {number(mean)} of {number(full_cost)} units per row"
    if many:
        before = f", {result.n_before} of them done before" if result.n_before else ""
        note(f"{result.n_rows} rows in {result.n_parts} parts{before}{units}; {rate:,.0f} rows a second.")
    else:
        note(f"{result.n_rows} rows{units}.")
    if result.bytes_there:
        decoded, there = result.bytes_decoded / 1e6, result.bytes_there / 1e6
        note(f"Decoded {decoded:,.1f} of {there:,.1f} MB of Parquet columns.")
    note_left_out(result.left_out if many else list(result.left_out))
    if result.skipped:
        note(f"Skipped {len(result.skipped)} of {result.n_parts} parts; the same command tries them again:")
        for why in result.skipped:
            note(f"  {why}")
    note_monitor(fast)
