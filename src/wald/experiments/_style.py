"""How the pictures of experiments look: for the width of a page, in colours that the colour-blind tell apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

#: Okabe and Ito's colours.
BLUE, ORANGE, GREEN, PINK, SKY, GREY, BLACK = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"),
    *("#777777", "#000000"),
)

#: Inches.
PAGE_WIDTH = 7.0

_SETTINGS: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.5,
    "savefig.dpi": 250,
    "savefig.facecolor": "white",
    "svg.hashsalt": "wald",  # the same picture is the same file
}


def write_picture(folder: Path, name: str, draw: Callable[[], Figure]) -> list[Path]:
    """Draw a picture in the common style and write it as PNG and SVG."""
    paths = [folder / f"{name}.png", folder / f"{name}.svg"]
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = draw()
        figure.savefig(paths[0])
        figure.set_layout_engine("none")  # what has found its place stays there
        figure.savefig(paths[1], metadata={"Date": None})
    return paths


def per_cent_axis(axis: Any, ticks: tuple[float, ...]) -> None:
    """Put ticks at shares, written in per cent."""
    axis.set_major_locator(matplotlib.ticker.FixedLocator(list(ticks)))
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    axis.set_minor_locator(matplotlib.ticker.NullLocator())
