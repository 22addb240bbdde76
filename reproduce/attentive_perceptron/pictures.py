"""The pictures: one function each, from the tables of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure

from wald.displays import AttentionMapDisplay

from .._common import Record, over_seeds, per_seed, select
from .._law_picture import draw_costs
from .._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
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
from .audits import DELTAS, HELD
from .choice import GAP, SHARE, WITHIN, curve
from .claims import data_sets
from .epochs import DEFAULT, Tables
from .learners import NAMES, READINGS
from .pixels import PixelsRead

#: How each contender is drawn: colour, line, marker.
STYLES = {
    "full": (BLACK, ":", "^"),
    "budgeted": (GREEN, "--", "s"),
    "printed": (PINK, "-", "v"),
    "centred": (ORANGE, "-", "o"),
    "bridge": (SKY, "-", "s"),
    "conditional": (BLUE, "-", "D"),
}
RULES = {name: DEFAULT if name == "full" else WITHIN for name in STYLES}


def draw_all(folder: Path, tables: Tables, drawn: Sequence[tuple[str, list[PixelsRead]]]) -> list[Path]:
    """Draw every picture into the folder, as PNG and SVG."""
    pictures = {
        "over-epochs": lambda: draw_epochs(tables["epochs"]),
        "error-against-features": lambda: draw_tried(tables["tried"]),
        "stop-errors": lambda: draw_stop_errors(tables["stop_errors"]),
        "terms-needed": lambda: draw_costs(tables["simulated_costs"]),
    }
    if drawn:
        pictures["pixels-read"] = lambda: draw_pixels(drawn)
    return [path for name, draw in pictures.items() for path in write_picture(folder, name, draw)]


def draw_epochs(records: Sequence[Record]) -> Figure:
    """Features seen, updates, test error and time over the epochs: a column of panels for every data set."""
    data = data_sets(records)
    figure = Figure(figsize=(PAGE_WIDTH, 6.4), layout="constrained")
    panels = figure.subplots(4, len(data), squeeze=False, sharex=True)
    rows = (
        ("share", "features seen,\nshare of all (log scale)"),
        ("updates", "updates\n(log scale)"),
        ("error", "test error"),
        ("microseconds_per_row", "time per example,\nµs"),
    )
    for column, name in zip(panels.T, data, strict=True):
        for axes, (figure_name, _) in zip(column, rows, strict=True):
            for reading, (colour, line, marker) in STYLES.items():
                own = select(records, data=name, reading=reading, rule=RULES[reading])
                epochs = sorted({int(r["epoch"]) for r in own})
                means = [over_seeds(per_seed(select(own, epoch=e), figure_name)) for e in epochs]
                draw_line(axes, epochs, means, colour, line, marker, NAMES[reading])
            if figure_name == "error":
                axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
                full = over_seeds(per_seed(select(records, data=name, reading="full"), "error")).mean
                axes.set_ylim(0, 4 * full)
            elif figure_name == "share":
                axes.set_yscale("log")
                axes.set_ylim(0.03, 1.2)
                per_cent_axis(axes.yaxis, (0.05, 0.1, 0.2, 0.5, 1.0))
            else:
                if figure_name == "updates":
                    axes.set_yscale("symlog", linthresh=1)
                axes.set_ylim(bottom=0)
        column[0].set_title(name.replace(", ", ",\n"), loc="left", fontsize=8)
        column[-1].set_xlabel("epoch")
        column[-1].set_xticks(epochs)
    for row, (_, label) in zip(panels, rows, strict=True):
        row[0].set_ylabel(label)
        for axes in row[1:]:
            axes.tick_params(labelsize=7)
    legend_below(figure, panels[0, 0], lines=2)
    return figure


def draw_tried(records: Sequence[Record]) -> Figure:
    """Held-out error above the full learner's against features seen, for everything that was tried."""
    data = data_sets(records)
    figure, panels = panels_in_a_row(len(data), 2.9)
    for axes, name in zip(panels, data, strict=True):
        for reading in ("budgeted", *READINGS):
            colour, _, marker = STYLES[reading]
            points = [
                (over_seeds(per_seed(own, "share")), over_seeds(per_seed(own, "gap")))
                for _, own in _tried(records, name, reading)
            ]
            axes.errorbar(
                [x.mean for x, _ in points],
                [100 * y.mean for _, y in points],
                xerr=[[x.mean - max(x.low, 1e-3) for x, _ in points], [x.high - x.mean for x, _ in points]],
                yerr=[100 * (y.high - y.mean) for _, y in points],
                fmt=marker,
                color=colour,
                markersize=3,
                elinewidth=0.7,
                label=NAMES[reading],
            )
        axes.axhline(100 * GAP, color=GREY, linestyle=(0, (1, 1.5)), linewidth=1, label="0.3 points")
        axes.axvline(SHARE, color=GREY, linestyle=(0, (4, 2)), linewidth=1, label="130 of 784")
        axes.set_xscale("log")
        axes.set_xlim(0.015, 1.2)
        per_cent_axis(axes.xaxis, (0.02, 0.1, 0.5))
        axes.set_title(name.replace(", ", ",\n"), loc="left", fontsize=8)
    panels[len(panels) // 2].set_xlabel("features seen, mean, share of all (log scale)")
    panels[0].set_yscale("symlog", linthresh=1)
    panels[0].set_yticks([-1, -0.5, 0, 0.3, 1, 2, 5, 10, 20], ["−1", "−0.5", "0", "0.3", "1", "2", "5", "10", "20"])
    panels[0].minorticks_off()
    panels[0].set_ylabel("held-out error above the\nfull learner's, points")
    legend_below(figure, panels[0], lines=2)
    return figure


def _tried(records: Sequence[Record], data: str, reading: str) -> list[tuple[Record, list[Record]]]:
    """The settings that every seed tried. Budgets differ by seed, and are grouped by their order."""
    n_seeds = len({r["seed"] for r in records})
    return [(first, own) for first, own in curve(records, data, reading) if len(own) == n_seeds]


def draw_stop_errors(records: Sequence[Record]) -> Figure:
    """Stop error requested against the true one, and against the audited one."""
    figure = Figure(figsize=(PAGE_WIDTH, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(DELTAS, DELTAS, color=GREY, linestyle=(0, (1, 1.5)), label="as requested")
    styles = {**{name: STYLES[name] for name in READINGS}, HELD: (BLUE, "--", "o")}
    for reading, (colour, line, marker) in styles.items():
        own = select(records, reading=reading, data=data_sets(records)[0])
        requested = [delta for delta in DELTAS if select(own, requested=delta)]
        true = [over_seeds(per_seed(select(own, requested=delta), "true")) for delta in requested]
        kind = {"joint": "of all examples", "posterior": "of those stopped", "conditional": "of those needed"}
        words = NAMES.get(reading, "conditional, held by audits")
        draw_line(left, requested, true, colour, line, marker, f"{words}: {kind[str(own[0]['error'])]}")
        every = select(records, reading=reading)
        right.plot(
            [float(r["true"]) for r in every],
            [float(r["audited"]) for r in every],
            marker,
            color=colour,
            markersize=2,
            alpha=0.5,
            markerfacecolor="white" if reading == HELD else colour,
            markeredgewidth=0.5,
        )
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
    ticks = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
    per_cent_axis(left.xaxis, DELTAS)
    for axis in (left.yaxis, right.xaxis, right.yaxis):
        per_cent_axis(axis, ticks)
    left.set(xlabel="stop error requested, δ (log scale)", ylabel="true stop error (log scale)")
    left.set_title(data_sets(records)[0], loc="left")
    right.plot([0.001, 1], [0.001, 1], color=GREY, linestyle=(0, (1, 1.5)))
    right.set(xlabel="true stop error (log scale)", ylabel="audited estimate (log scale)")
    right.set(xlim=(8e-4, 1.2), ylim=(8e-4, 1.2))
    right.set_title("every run", loc="left")
    legend_below(figure, left, lines=3)
    return figure


def draw_pixels(drawn: Sequence[tuple[str, list[PixelsRead]]]) -> Figure:
    """Pixels that were read of easy and hard digits before they were skipped, in the order of reading."""
    figure = Figure(figsize=(PAGE_WIDTH, 2.1 * len(drawn) + 0.4), layout="constrained")
    rows: Any = figure.subplots(len(drawn), len(drawn[0][1]), squeeze=False)
    norm = LogNorm(1, 1 + max(float(np.nanmax(digit.place)) for _, digits in drawn for digit in digits))
    for row, (reading, digits) in zip(rows, drawn, strict=True):
        side = [f"{kind} {name}" for name in ("2", "3") for kind in ("easy", "hard")]
        n = len(digits[0].image)
        AttentionMapDisplay(
            images=np.stack([digit.image for digit in digits]),
            seen=np.stack([digit.place for digit in digits]),
            image_shape=digits[0].shape,
            titles=[f"{words}: {digit.n_read} of {n} pixels" for words, digit in zip(side, digits, strict=True)],
            colour_by="order",
            name=NAMES[reading],
        ).plot(ax=list(row), norm=norm, colorbar=reading == drawn[-1][0])
    return figure
