"""How all pictures look: as the displays do, for the width of a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from ...displays._style import BLUE, GREY, ORANGE, PAGE_WIDTH, SETTINGS, boxed, grouped
from ..errors import DemoError

__all__ = ["BLUE", "GREY", "ORANGE", "PAGE_WIDTH", "boxed", "grouped", "written"]

_SETTINGS: Any = {
    **SETTINGS,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "figure.titlesize": 10,
    "savefig.dpi": 250,
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
