"""``wald bench``: speed relative to the wrapped model on the user's rows, and the number of labels that differ."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..inspection.promises import broken_promise
from ..utils.alternating import Timing, in_turns
from ..utils.figures import counted, number, percent, ratio, share
from ..utils.progress import share_done
from . import options
from .answers import EXIT_NO, as_json, as_user_error, grid, handling_errors, note, progress_console, show
from .errors import UserError
from .libraries import is_library_model, library_model, library_name
from .models import HoldsPipelineError, load_fast, load_model, schema_of_saved
from .rankings import bench_groups, require_ranker
from .rows import data_name, read_whole

if TYPE_CHECKING:
    from rich.table import Table

    from ..reporting.timing import Rival

#: Smallest number of times for a median.
LEAST_REPEATS = 7
#: Rows that a timed run predicts one by one.
SINGLE = 50
#: Rows of the case between one row and all rows.
HUNDRED = 100


@options.takes_about_data
def bench(
    file: options.FileArgument,
    data: options.DataArgument,
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            show_default=False,
            help="The wrapped model's own file, as given to wald fit; FILE itself where that is a tree library's. A "
            "tree library's file is timed in the library if that is installed, and otherwise in wald's own full "
            "evaluation, which the table then says.",
        ),
    ] = None,
    groups: options.Groups = None,
    repeats: Annotated[int, typer.Option(help=f"Times that each median is of, at least {LEAST_REPEATS}.")] = 9,
    about_data: options.AboutData = options.NOTHING_SAID,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    jobs: options.Jobs = 1,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Time FILE against the model it wraps, in turns, on the same rows and threads, and compare the answers.

    A model of LightGBM, XGBoost or CatBoost is timed in its own library, where that is installed.

    Give rows that neither the model nor wald fit has seen. Exit code 1: more labels differ than the promise allows, or
    more of the first rows of --groups are missing.
    """
    with handling_errors("bench", debug):
        from threadpoolctl import threadpool_limits

        if repeats < LEAST_REPEATS:
            raise UserError(f"--repeats must be at least {LEAST_REPEATS}. Got {repeats}.")
        threads = options.threads(jobs)
        whole = is_library_model(file)
        if model is None and not whole:
            raise UserError(f"{file} is timed against the model that it wraps: name that model's file, --model MODEL.")
        own_file = model or file
        wrapped = load_model(own_file, trust_pickle, trust_type or ())
        same = whole and own_file.samefile(file)
        try:
            fast = load_fast(file, threads, None if same else wrapped, trust_type or ())
        except HoldsPipelineError:  # it needs no MODEL, and is timed against it
            fast = load_fast(file, threads, None, trust_type or ())
        rival, about_rival = _rival(own_file, wrapped, threads)
        require_ranker(fast, groups)
        reading = about_data.reading(groups)
        part = read_whole(data, schema_of_saved(fast, file), reading)
        with threadpool_limits(threads), as_user_error(data_name(data), ValueError, TypeError):
            if part.groups is not None:
                found, cases = bench_groups(rival, fast, part, repeats)
            else:
                full = wrapped.predict_proba if fast.compiled_plan_.model.answers_probabilities else None
                found, cases = _bench_rows(rival, full, fast, part.rows, threads, repeats)
        facts = {"file": str(file), "model": rival.name, **found, "threads": threads, "repeats": repeats}
        if json:
            as_json(facts | {"cases": [_facts(case) for case in cases]})
        else:
            show(_table(cases, rival.name), *_words(facts), *([about_rival] if about_rival else []))
        if facts["broken"] is not None:
            note(f"wald bench: {facts['broken']}")
            raise typer.Exit(EXIT_NO)


def _bench_rows(
    rival: Rival, answer_in_full: Callable[[Any], Any] | None, fast: Any, rows: Any, threads: int, repeats: int
) -> tuple[dict[str, Any], list[Timing]]:
    """Compare the answers for rows with those of `answer_in_full`, or else of the rival, and time both in turns."""
    import numpy as np

    compiled = fast.compiled_plan_
    full = rival.predict(rival.rows(rows)) if answer_in_full is None else answer_in_full(rows)
    found = compiled.predict(rows, n_threads=threads)
    with share_done(progress_console(), "timing in turns") as report:
        cases = _timed(rival, fast, rows, repeats, report)
    model, output = compiled.model, compiled.model.decision
    if output.early_values:
        differs = output.lost_values(found.labels.astype(np.float64), np.asarray(full, dtype=np.float64)) > 0
    else:
        differs = found.labels != full
        differs = differs.any(axis=1) if differs.ndim > 1 else differs
    broken = None
    if output.early_values or not output.valued:  # in full, values of sums may differ in their last bits
        classes = np.empty(0) if output.valued else model.classes
        broken = broken_promise(compiled.certificate, full, differs, classes, model.words, found.labels)
    return {
        "n_rows": len(found.labels),
        "answer": output.column,
        "same": "Within the tolerance" if output.early_values else f"Same {output.column}",
        "differ": model.words.differ,
        "n_different": int(np.count_nonzero(differs)),
        "largest_difference": float(np.abs(found.labels - full).max(initial=0.0)) if output.valued else None,
        "mean_cost": float(found.costs.mean()),
        "full_cost": compiled.plan.full_cost,
        "certificate": str(compiled.certificate),
        "broken": broken,
    }, cases


def _rival(path: Path, wrapped: Any, threads: int) -> tuple[Rival, str]:
    """The wrapped model; one of a tree library's file in that library, where it is installed. And a note about it."""
    from ..models.tree_classifier import TreeModel
    from ..reporting.timing import Rival

    if not isinstance(wrapped, TreeModel):
        return Rival(type(wrapped).__name__, wrapped.predict), ""
    loaded = library_model(path, wrapped, threads)
    if loaded is not None:
        return loaded, ""
    name = library_name(wrapped)
    return Rival("wald, every tree", wrapped.predict), (
        f"{name} is not installed: the times beside wald's are those of wald's own full evaluation, and not {name}'s. "
        f"pip install {name.lower()} for these."
    )


def _timed(rival: Rival, fast: Any, rows: Any, repeats: int, report: Callable[[float], object]) -> list[Timing]:
    import numpy as np
    from scipy import sparse

    from ..sources import source_of

    source, n = source_of(rows), rows.shape[0]
    ones = [source.take(np.array([i])).rows for i in range(min(SINGLE, n))]
    runs = [("one (predict)", ones, fast.predict, ones)]
    if not sparse.issparse(rows):  # predict_one takes no sparse rows
        plain = [_single(one) for one in ones]
        if _takes_single(fast, plain):
            runs.append(("one (predict_one)", ones, fast.predict_one, plain))
    some = [(str(HUNDRED), source.take(np.arange(HUNDRED)).rows)] if n > HUNDRED else []
    for name, batch in [*some, ("all", rows)]:
        runs.append((name, [batch], fast.predict, [batch]))
    return [
        in_turns(
            name,
            batches[0].shape[0],
            rival.predict,
            [*map(rival.rows, batches)],
            predict,
            same_batches,
            repeats=repeats,
            report=lambda done, i=i: report((i + done) / len(runs)),  # type: ignore[misc]  # mypy does not see through defaults
        )
        for i, (name, batches, predict, same_batches) in enumerate(runs)
    ]


def _takes_single(fast: Any, plain: list[Any]) -> bool:
    """Whether single rows are taken: a user's own transformer may refuse a frame that is made of a dict."""
    try:
        for row in plain:
            fast.predict_one(row)
    except Exception:  # whatever it raises
        return False
    return True


def _single(rows: Any) -> Any:
    """A table of one row, or one text, as predict_one takes it: a dict if some column holds no numbers."""
    import numpy as np

    from ..sources import source_of

    if isinstance(rows, np.ndarray):
        return rows[0] if rows.ndim == 1 else np.ascontiguousarray(source_of(rows).array()[0])
    if hasattr(rows, "dtypes") and any(getattr(kind, "kind", "O") not in "biuf" for kind in rows.dtypes):
        return rows.to_dict("records")[0] if hasattr(rows, "iloc") else rows.to_dicts()[0]
    return np.ascontiguousarray(source_of(rows).array()[0])


def _facts(case: Timing) -> dict[str, Any]:
    """Seconds per call of ``n_rows`` rows."""
    facts = case._asdict()
    return {"rows": facts.pop("name"), **facts, "ratio": case.model_seconds / case.wald_seconds}


def _table(cases: list[Timing], model: str) -> Table:
    table = grid(["rows"], [f"{model}, µs", "wald, µs", "faster"])
    for case in cases:
        table.add_row(
            case.name if case.name != "all" else f"all {number(case.n_rows)}",
            number(1e6 * case.model_seconds),
            number(1e6 * case.wald_seconds),
            ratio(case.model_seconds, case.wald_seconds),
        )
    return table


def _words(facts: dict[str, Any]) -> list[str]:
    """How far the answers agree, how times were taken, and what is promised."""
    cost = f"{number(facts['mean_cost'])} of {number(facts['full_cost'])}"
    turns = f"Medians of {facts['repeats']} runs in turns, {counted(facts['threads'], 'thread')}."
    if "n_groups" in facts:
        missing = (
            f"Of the first {facts['k']} rows of {facts['n_groups']} groups, {percent(facts['missing'])} are missing"
        )
        return [f"{missing} on average; {cost} trees a row.", turns, facts["certificate"]]
    n, k, most = facts["n_rows"], facts["n_different"], facts["largest_difference"]
    by = "" if not most else f", by {most:.2g} at most"
    same = f"{facts['same']} on {share(n - k, n)} of {n} rows ({k} {facts['differ']}{by})"
    return [f"{same}; {cost} units per row.", f"{turns} predict_one checks less than predict.", facts["certificate"]]
