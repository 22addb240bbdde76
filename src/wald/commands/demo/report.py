"""Prints the measurements: a table, its caption, the certificates and the paths of the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ...utils.alternating import Timing
from ...utils.figures import counted, number, ratio, share
from ..answers import grid
from .material import Material
from .measure import REPEATS, Exhibit


def report(
    exhibits: Sequence[Exhibit], material: Material, threads: int, pictures: Sequence[Path], console: Console
) -> None:
    """Print the table, its caption, the certificates and the paths of the pictures."""
    figures = table(exhibits)
    figures.width = console.measure(figures, options=console.options.update(width=200)).maximum
    console.print(figures, crop=False)  # a narrow terminal wraps lines; numbers are never cut
    console.print(Text(caption(exhibits, material, threads), style="dim"))
    console.print("\n[bold]Certificates[/bold]")
    for exhibit in exhibits:
        console.print(f"{exhibit.task.name}, {exhibit.task.question}:", highlight=False)
        console.print(Padding(Text(promise(exhibit)), (0, 0, 0, 2)))
    console.print("\n[bold]Pictures[/bold]")
    for path in pictures:
        console.print(Text(str(path)), soft_wrap=True)


def table(exhibits: Sequence[Exhibit]) -> Table:
    """Make a table with three lines per model: scikit-learn, wald, and their ratio."""
    made = grid(["model", ""], ["rows per\nsecond", "µs for\none row", "units\nper row", "same\nlabel"])
    for exhibit in exhibits:
        task, plan, many, one = exhibit.task, exhibit.fast.plan_, exhibit.many, exhibit.one
        n_rows, n_terms, mean = exhibit.n_rows, exhibit.n_terms, exhibit.mean_cost
        made.add_row(
            f"[bold]{task.name}[/bold]\n{task.question}\n[dim]{task.aim}[/dim]",
            "scikit-learn\n" + ("wald [dim](everything)[/dim]" if plan.evaluate_all else "wald") + "\n",
            _lines(many.n_rows / many.model_seconds, many.n_rows / many.wald_seconds, _factor(many)),
            _lines(1e6 * one.model_seconds, 1e6 * one.wald_seconds, _factor(one)),
            _lines(n_terms, mean, ratio(n_terms, mean), f" of {number(plan.full_cost)}"),
            f"\n{share(n_rows - exhibit.n_different, n_rows)}\n",
            end_section=True,
        )
    return made


def _lines(model: float, wald: float, factor: str, of: str = "") -> str:
    return f"{number(model)}\n{number(wald)}{of}\n[dim]{factor}[/dim]"


def _factor(timing: Timing) -> str:
    return ratio(timing.model_seconds, timing.wald_seconds)


def caption(exhibits: Sequence[Exhibit], material: Material, threads: int) -> str:
    """The rows behind the figures, and how they were counted."""
    alone = " (scikit-learn's SVC uses one)" if threads > 1 else ""
    sentences = [
        material.split,
        "Under each model, what its plan minimizes.",
        "Units are support vectors, pixels for the linear model, or trees.",
        f"Units and same label (as the full model) are counted on {material.counted}.",
        f"Times are medians of {REPEATS} runs in turns, {counted(threads, 'thread')}{alone}:",
        f"predict on {number(exhibits[0].many.n_rows)} of these rows;",
        "for one row wald's predict_one, which checks less, and scikit-learn's predict.",
        "× says how many times faster, or fewer.",
    ]
    if any(e.fast.plan_.full_cost > e.n_terms for e in exhibits):
        sentences.append("A kernel machine's plan may add landmarks, vectors of its own, which count as one unit each.")
    if any(e.task.cost == "units" and e.many.wald_seconds > e.many.model_seconds for e in exhibits):
        sentences.append("Where × is below 1, wald is slower: a plan for fewest pixels pays more for each pixel.")
    return " ".join(sentences)


def promise(exhibit: Exhibit) -> str:
    """The certificate as a sentence, which says so if everything is evaluated."""
    certificate = str(exhibit.fast.certificate_)
    if exhibit.fast.plan_.evaluate_all:
        return f"evaluates everything: {certificate.removeprefix('no early exit: ')}"
    return certificate
