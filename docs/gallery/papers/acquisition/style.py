"""The style of the picture, which is that of wald's displays, and its axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

ORANGE, BLACK = "#D55E00", "#000000"
#: Inches.
COLUMN_WIDTH = 3.4
#: For new figures; axes that the user gives keep their sizes.
SETTINGS: Any = {"font.size": 8, "axes.labelsize": 8, "figure.dpi": 150, "savefig.facecolor": "white"}


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


def divided(ax: Any, n: int, heights: Sequence[float]) -> Any:
    """Axes for n things: the given ones, or one divided, from top to bottom."""
    if isinstance(ax, Sequence | np.ndarray):
        panels = np.asarray(ax, dtype=object).ravel()
        if len(panels) != n:
            raise ValueError(f"The 'ax' parameter must hold one Axes for each of {n} examples. Got {len(panels)}.")
        return panels
    if n == 1:
        return np.array([ax], dtype=object)
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(f"This Axes is no subplot and cannot be divided: give ax as a sequence of {n} Axes.")
    ax.set_axis_off()
    inner = spec.subgridspec(n, 1, height_ratios=heights)
    return np.array([ax.figure.add_subplot(cell) for cell in inner], dtype=object)


def text_size(ax: Any) -> float:
    """Size of the axes' labels, in points, which all other text takes over."""
    return float(ax.xaxis.label.get_fontsize())


def legend(ax: Any, handles: Sequence[Any], names: Sequence[str], title: str | None) -> Any:
    """Draw a legend above the axes, where it hides nothing, with as many columns as fit."""
    for n_columns in range(len(names), 0, -1):
        made = ax.legend(
            handles=handles,
            labels=names,
            title=title,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=n_columns,
            alignment="left",
            frameon=False,
            fontsize=text_size(ax),
            title_fontsize=text_size(ax),
            handlelength=1.8,
            handletextpad=0.6,
            columnspacing=1.2,
            borderaxespad=0.2,
            borderpad=0.2,
        )
        if made.get_window_extent().width < 0.95 * ax.bbox.width:
            break
    return made
