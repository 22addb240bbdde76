"""The style of the papers' pictures: that of the displays, with a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ._common import Estimate

__all__ = [
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "LEAST",
    "ORANGE",
    "PAGE_WIDTH",
    "PINK",
    "SKY",
    "draw_line",
    "legend_below",
    "panels_in_a_row",
    "per_cent_axis",
    "write_picture",
]

#: Okabe and Ito's colours, as in wald's displays.
BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
GREY, BLACK = "#777777", "#000000"
#: Inches.
PAGE_WIDTH = 7.0

#: The value that is drawn for 0 and less on a logarithmic scale.
LEAST = 1e-9

_SETTINGS: Any = {
    "font.size": 8,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.dpi": 150,
    "figure.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 250,
    "savefig.facecolor": "white",
    "svg.hashsalt": "wald",  # the same picture is the same file
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
}


def write_picture(folder: Path, name: str, draw: Callable[[], Figure]) -> list[Path]:
    """Draw a picture in the common style and write it as PNG and SVG."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # whatever the user's own settings are
        matplotlib.rcParams.update(_SETTINGS)
        figure = draw()
        figure.savefig(paths[0])
        figure.set_layout_engine(None)  # keeps the layout of the PNG
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def panels_in_a_row(n_panels: int, height: float) -> tuple[Figure, Any]:
    """Make a figure as wide as the page, with panels that share the y axis."""
    figure = Figure(figsize=(PAGE_WIDTH, height), layout="constrained")
    return figure, figure.subplots(1, n_panels, squeeze=False, sharey=True)[0]


def per_cent_axis(axis: Any, ticks: tuple[float, ...]) -> None:
    """Put ticks at shares, written in per cent."""
    axis.set_major_locator(matplotlib.ticker.FixedLocator(list(ticks)))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())


def draw_line(
    axes: Any,
    x: Sequence[float],
    estimates: Sequence[Estimate],
    colour: str,
    style: str,
    marker: str | None,
    label: str | None,
    every: int = 1,
) -> None:
    """Draw means with their intervals as a band."""
    axes.plot(
        x, [e.mean for e in estimates], style, color=colour, marker=marker, label=label, markevery=every, markersize=3
    )
    # where a scale is logarithmic, an interval that reaches below 0 goes down to the edge of the picture
    low = [max(e.low, LEAST) for e in estimates]
    axes.fill_between(x, low, [e.high for e in estimates], color=colour, alpha=0.15, linewidth=0)


def legend_below(figure: Figure, axes: Any, lines: int = 1) -> None:
    """Put the axes' legend under the figure, in so many lines of text."""
    handles, labels = axes.get_legend_handles_labels()
    columns = -(-len(labels) // lines)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=1.8, columnspacing=1.2)
