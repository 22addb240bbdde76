"""The pictures: one function each, from the tables of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure

from .._common import Estimate, Record, number, over_seeds, per_seed, select
from .._law_picture import draw_costs
from .._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    LEAST,
    ORANGE,
    PAGE_WIDTH,
    PINK,
    SKY,
    draw_line,
    legend_below,
    panels_in_a_row,
    per_cent_axis,
    write_picture,
)
from .._walks import DELTAS, DRIFTS
from .tradeoff import CURVE_SHARES, LADDER_SHARES, RECALLS, RISK, SHARES, Tables

#: How each predictor is drawn: name in the tables, words, colour, line, marker.
_LINES = (
    ("budgeted", "budgeted, unseen terms at their mean", SKY, "--", "s"),
    ("budgeted, best threshold", "budgeted, best threshold", GREEN, "--", "v"),
    ("attentive", "attentive", ORANGE, "-", "o"),
    ("ladder", "ladder", BLUE, "-", "D"),
)


def draw_all(folder: Path, tables: Tables, models: Sequence[Record]) -> list[Path]:
    """Draw every picture into the folder, as PNG and SVG."""
    pictures = {
        "error-requested-and-seen": lambda: draw_errors(tables["simulated_errors"]),
        "terms-needed": lambda: draw_costs(tables["simulated_costs"]),
        "stop-error-against-terms": lambda: draw_tradeoff(tables["curves"]),
        "precision-and-recall": lambda: draw_precision_recall(tables["precision_recall"]),
        "terms-at-one-in-a-thousand": lambda: draw_at_risk(tables["at_risk"], models),
    }
    return [path for name, draw in pictures.items() for path in write_picture(folder, name, draw)]


def draw_errors(records: Sequence[Record]) -> Figure:
    """Error requested against error seen."""
    figure = Figure(figsize=(0.6 * PAGE_WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    axes.plot(DELTAS, DELTAS, color=GREY, linestyle=(0, (1, 1.5)), label="as requested")
    names = ["edge", *(f"{drift:g}" for drift in DRIFTS)]
    for name, colour, marker in zip(names, (BLACK, BLUE, SKY, GREEN, ORANGE), "sovD^", strict=True):
        label = "every full sum on the threshold" if name == "edge" else f"mean full sum {name} sd".replace("-", "−")
        seen = [over_seeds(per_seed(select(records, drift=name, requested=delta), "seen")) for delta in DELTAS]
        draw_line(axes, DELTAS, seen, colour, "-", marker, label)
    axes.set(xscale="log", yscale="log")
    ticks = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
    per_cent_axis(axes.xaxis, ticks[3:])
    per_cent_axis(axes.yaxis, ticks)
    axes.set_ylim(4e-4, 0.45)
    axes.set_xlabel("stop error requested, δ (log scale)")
    axes.set_ylabel("stop error seen, share of negatives (log scale)")
    axes.legend(loc="upper left", handlelength=1.8, borderaxespad=0.2)
    return figure


def draw_tradeoff(records: Sequence[Record]) -> Figure:
    """Disagreement against the mean number of support vectors, for every data set."""
    data = list(dict.fromkeys(str(r["data"]) for r in records))
    figure, panels = panels_in_a_row(len(data), 3.1)
    for axes, name in zip(panels, data, strict=True):
        for predictor, label, colour, style, marker in _LINES:
            shares = SHARES if predictor != "ladder" else (*LADDER_SHARES, *SHARES)
            chosen = [select(records, data=name, predictor=predictor, share=share) for share in shares]
            cost = [over_seeds(per_seed(some, "cost_share")).mean for some in chosen]
            error = [over_seeds(per_seed(some, "disagreement")) for some in chosen]
            draw_line(axes, cost, error, colour, style, marker, label)
        axes.axhline(RISK, color=GREY, linestyle=(0, (1, 1.5)), linewidth=1, label="0.1 %")
        axes.set_xscale("log")
        per_cent_axis(axes.xaxis, (0.002, 0.01, 0.05, 0.2, 1.0))
        axes.set_xlim(0.0016, 1.1)
        axes.set_xlabel("support vectors evaluated,\nmean, share of all (log scale)")
        axes.set_title(name, loc="left")
    panels[0].set_yscale("symlog", linthresh=1e-4, linscale=0.5)
    panels[0].set_ylim(-2e-5, 0.7)
    per_cent_axis(panels[0].yaxis, (0, 1e-4, 1e-3, 1e-2, 1e-1))
    panels[0].set_ylabel("answers that differ from the full\nmodel's, share of rows (log scale)")
    legend_below(figure, panels[0])
    return figure


def draw_precision_recall(records: Sequence[Record]) -> Figure:
    """Precision against recall at equal mean cost: a row of panels for every cost."""
    data = list(dict.fromkeys(str(r["data"]) for r in records))
    figure = Figure(figsize=(PAGE_WIDTH, 1.75 * len(CURVE_SHARES) + 0.6), layout="constrained")
    panels = figure.subplots(len(CURVE_SHARES), len(data), squeeze=False, sharex=True, sharey=True)
    lines = (
        ("full", "full", BLACK, ":", None),
        ("budgeted", "budgeted", SKY, "--", "s"),
        ("attentive", "attentive, as in the paper", ORANGE, "-", "o"),
        ("attentive, ranked by its estimate", "attentive, rejected rows\nranked by their estimate", PINK, "-", "^"),
        ("ladder", "ladder", BLUE, "-", "D"),
    )
    for row, share in zip(panels, CURVE_SHARES, strict=True):
        for axes, name in zip(row, data, strict=True):
            for predictor, label, colour, style, marker in lines:
                chosen = select(records, data=name, share=share, predictor=predictor)
                precision = [over_seeds(per_seed(select(chosen, recall=r), "precision")) for r in RECALLS]
                draw_line(axes, RECALLS, precision, colour, style, marker, label, every=3)
        row[0].set_ylabel(f"precision at {100 * share:g} %\nof the terms")
    for axes, name in zip(panels[0], data, strict=True):
        axes.set_title(name, loc="left")
    for axes in panels[-1]:
        axes.set_xlabel("recall")
    panels[0, 0].set(xlim=(0, 1.02), ylim=(0, 1.04))
    legend_below(figure, panels[0, 0])
    return figure


def draw_at_risk(records: Sequence[Record], models: Sequence[Record]) -> Figure:
    """Mean number of support vectors at 0.1 % disagreement, for every model."""
    figure = Figure(figsize=(PAGE_WIDTH, 0.45 * len(models) + 1.1), layout="constrained")
    axes = figure.subplots()
    lines = (
        ("full", "full", BLACK, "^"),
        ("budgeted", "budgeted", SKY, "s"),
        ("attentive", "attentive", ORANGE, "o"),
        ("ladder", "ladder", BLUE, "D"),
        ("ladder, certified", "ladder, certified at 95 %", BLUE, "o"),
    )
    least, most = float("inf"), 0.0
    for place, (predictor, label, colour, marker) in enumerate(lines):
        shown: list[Estimate] = []
        for model in models:
            chosen = select(records, data=model["data"], model=model["model"], predictor=predictor)
            shown.append(over_seeds(per_seed(chosen, "terms")))
        least, most = min([least, *(e.mean for e in shown)]), max([most, *(e.mean for e in shown)])
        axes.errorbar(
            [e.mean for e in shown],
            [y + 0.14 * (place - 2) for y in range(len(models))],
            xerr=[[e.mean - max(e.low, LEAST) for e in shown], [e.high - e.mean for e in shown]],
            fmt=marker,
            color=colour,
            markersize=4.5,
            markerfacecolor="white" if predictor.endswith("certified") else colour,
            elinewidth=1,
            label=label,
        )
    names = [f"{model['data']},\n{model['model']}" for model in models]
    axes.set_yticks(range(len(models)), names)
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.grid(axis="y", visible=False)
    axes.set_xscale("log")
    axes.set_xlim(0.4 * least, 1.3 * most)
    axes.xaxis.set_major_formatter(lambda value, _: number(value))
    axes.set_xlabel("support vectors evaluated per row, mean, at 0.1 % disagreement (log scale)")
    legend_below(figure, axes)
    return figure
