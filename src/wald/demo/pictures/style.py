"""How all pictures look: for the width of a page, in colours that the colour-blind tell apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ..errors import DemoError

#: Okabe and Ito's colours.
BLUE, ORANGE, GREY, BLACK = "#0072B2", "#D55E00", "#777777", "#000000"

#: Inches.
PAGE_WIDTH = 7.0

_SETTINGS: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.titlesize": 10,
    "lines.linewidth": 1.4,
    "savefig.dpi": 250,
    "savefig.facecolor": "white",
}


def written(path: Path, draw: Callable[[], Figure]) -> Path:
    """Draw a picture in the common style and write it."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        figure = draw()
        try:
            figure.savefig(path)
        except OSError as error:
            raise DemoError(f"cannot write {path} ({error.strerror or error}).") from error
    return path


def boxed(axes: Any, colour: str, width: float) -> None:
    """Take away the ticks and draw a frame, for images."""
    axes.set(xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set(visible=True, color=colour, linewidth=width)


def grouped(n: float) -> str:
    """Write a whole number with its thousands set apart."""
    return f"{round(n):,}".replace(",", " ")
