"""``wald inspect``: prints the certificate and the plan in a file, stage by stage."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..inspection.facts import facts_of
from ..utils.figures import between, first_of, number, share_between, thousands
from . import options
from .answers import EXIT_NO, as_json, as_user_error, grid, handling_errors, monitor_facts, note, show
from .models import load_fast, load_model, schema_of_saved
from .rankings import ranking_facts, stages_of_race
from .rows import Reading, data_name, read_whole

if TYPE_CHECKING:
    from rich.table import Table

#: Most names of columns in a line of the table.
MOST_NAMED = 3


def inspect(
    file: options.FileArgument,
    model: options.Model = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="DATA",
            help="Rows, by suffix as for wald predict, on which to measure the time of transformers that are not taken "
            "apart.",
        ),
    ] = None,
    text: options.Text = None,
    trust_pickle: options.TrustPickle = False,
    trust_type: options.TrustType = None,
    json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Show the certificate and the plan in FILE, and what its monitor has seen.

    Exit code 1: the certificate is void, or does not follow from its own counts.
    """
    with handling_errors("inspect", debug):
        from ..sources import source_of

        wrapped = None if model is None else load_model(model, trust_pickle, trust_type or ())
        fast = load_fast(file, 1, wrapped, trust_type or ())
        if wrapped is not None:
            with as_user_error(str(file), ValueError):
                fast.compiled_plan_.require_own_answers()
        if rows is not None:
            held = read_whole(rows, schema_of_saved(fast, file), Reading(text=text)).rows
            with as_user_error(data_name(rows), ValueError, TypeError):
                fast.compiled_plan_.measure_in_front(source_of(held))
        told = facts_of(fast)
        facts, certificate, plan = told["model"], told["certificate"], told["plan"]
        ranking = ranking_facts(fast).get("ranking")
        if ranking is not None:
            certificate = ranking["certificate"]
        if json:
            as_json({"file": str(file), **told, **ranking_facts(fast), **monitor_facts(fast)})
        else:
            stages = [] if plan["evaluate_all"] else [_table(facts, plan)]
            checked = [facts["checked"].capitalize() + "."] if facts["checked"] else []
            ahead = [facts["in_front"][0].upper() + facts["in_front"][1:] + "."] if facts["in_front"] else []
            race = {} if ranking is None else ranking["plan"]
            stages += [stages_of_race(race)] if race.get("looks") else []
            show(certificate["sentence"], _described(facts, plan, len(stages) > 0), *ahead, *checked, *stages)
            if (monitor := fast.compiled_plan_.monitor) is not None:
                show(repr(monitor))
        if not certificate["holds"]:
            note("wald inspect: the certificate does not hold.")
            raise typer.Exit(EXIT_NO)


def _described(model: dict[str, Any], plan: dict[str, Any], race: bool = False) -> str:
    kind = model["description"]
    own = f" and {plan['n_surrogates']} vectors of the plan's own" if plan["n_surrogates"] else ""
    read = "rows that are no table's" if model["n_features"] is None else f"{model['n_features']} features"
    parts = model["unit"] == "characters"  # of texts, which a plan reads in parts
    counted, units = ("words or slices", "characters") if parts else (model["unit"], "units")
    words = f"{kind}, {model['answers']}, {read}, {model['terms']} {counted}{own}; "
    if plan["evaluate_all"]:
        alone = model["seconds_of_one"]
        time = "" if alone is None else f", in about {1e6 * alone:.2g} us where it comes alone"
        without = "without groups, " * race
        cost = f"{number(plan['full_cost'])} {units}{time}.{_unused(plan)}"
        return f"{words}{without}every row is evaluated in full, at {cost}"
    cost = between(plan["expected_cost_low"], plan["expected_cost_high"])
    leaving = " A row leaves by the size of its own error." if plan["own_errors"] else ""
    return (
        f"{words}{cost} of {number(plan['full_cost'])} {units} per row expected.{leaving}\n"
        f"Shares and cost are estimated from {thousands(plan['n_rows'])} validation rows; the intervals hold together "
        f"with {plan['confidence']:.0%} confidence if the stages, which were chosen on the same rows, fit others as "
        "well."
    )


def _unused(plan: dict[str, Any]) -> str:
    """What early stages are for if no row can leave at them."""
    n = len(plan["looks"]) - 1
    if n == 0:
        return ""
    serve = "The early stage serves" if n == 1 else f"The {n} early stages serve"
    return f" {serve} calls with a budget only, and --json lists their costs."


def _table(model: dict[str, Any], plan: dict[str, Any]) -> Table:
    """One line per stage; the last is the full model."""
    stages = plan["looks"]
    below = any(math.isfinite(stage["below"]) for stage in stages)
    above = "leaves above" if model["binary"] else "leaves at confidence"
    named = "reads" in stages[0]  # columns that have names
    of_columns = ["reads"] if named else []
    head = ("look", *of_columns, "units", "cost", *(["leaves below"] if below else []), above, "rows that get here")
    table = grid([], head)
    for i, stage in enumerate(stages):
        last = i == len(stages) - 1
        limits = [stage["below"], stage["above"]] if below else [stage["above"]]
        table.add_row(
            "all" if last else str(i + 1),
            *([first_of(stage["reads"], MOST_NAMED)] if named else []),
            number(stage["units"]),
            number(stage["cost"]),
            *("" if last else _limit(limit) for limit in limits),
            share_between(stage["reached_by_low"], stage["reached_by_high"]),
        )
    return table


def _limit(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "never"
