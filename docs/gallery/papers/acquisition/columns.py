"""Axes below each other for the examples, on a new figure that is as high as it must be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from wald.displays._style import SETTINGS


def new_column(width: float, heights: Sequence[float], between: float, rim: float) -> Any:
    """Axes of these heights, in points, below each other on a new figure, as an array."""
    height = sum(heights) + between * (len(heights) - 1) + 2 * rim
    with matplotlib.rc_context(SETTINGS):
        figure = plt.figure(figsize=(width, height / 72))
        panels, top = [], height - rim
        for points in heights:
            wide = 1 - 2 * rim / (72 * width)
            panels.append(figure.add_axes((rim / (72 * width), (top - points) / height, wide, points / height)))
            top -= points + between
    return np.array(panels, dtype=object)


def make_room_above(figure: Any, panels: Sequence[Any], legend: Any, rim: float) -> None:
    """Make a figure of `new_column` higher, so that it holds the legend above the first axes."""
    width, before = figure.get_size_inches()
    after = before + (legend.get_window_extent().height / figure.dpi) + rim / 72
    figure.set_size_inches(width, after)
    for panel in panels:
        left, bottom, wide, high = panel.get_position().bounds
        panel.set_position((left, bottom * before / after, wide, high * before / after))
