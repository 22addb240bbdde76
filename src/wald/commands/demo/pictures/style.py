"""Common style of the pictures: that of the displays, at the width of a page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from ....displays._style import BLUE, GREY, ORANGE, PAGE_WIDTH, boxed, grouped, page_style
from ...answers import reason
from ...errors import UserError

__all__ = ["BLUE", "GREY", "ORANGE", "PAGE_WIDTH", "boxed", "grouped", "written"]


def written(path: Path, draw: Callable[[], Figure]) -> Path:
    """Draw a picture in the common style and write it."""
    with page_style():
        figure = draw()
        try:
            figure.savefig(path)
        except OSError as error:
            raise UserError(f"cannot write {path} ({reason(error)}).") from error
    return path
