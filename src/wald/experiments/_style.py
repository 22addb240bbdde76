"""How the pictures of experiments look: as the displays do, for a page, with a grid to read figures off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..displays._style import BLACK, GREY, OKABE_ITO, PAGE_WIDTH, page_style

__all__ = ["BLACK", "BLUE", "GREEN", "GREY", "ORANGE", "PAGE_WIDTH", "PINK", "SKY", "per_cent_axis", "write_picture"]

BLUE, ORANGE, GREEN, PINK, _, SKY = OKABE_ITO

_SETTINGS: Any = {
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
    with page_style(**_SETTINGS):
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
