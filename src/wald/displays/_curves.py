"""What curves over costs have in common: how they look, the point in use, the bound that is promised, the legend."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._source import Floats

#: Labels of points in use begin with it.
IN_USE = "in use"

_BOUND_GID = "wald-bound"


def curve_look(ax: Any, style: Any, gid: str, n_points: int) -> dict[str, Any]:
    """How the next curve of a kind is drawn; a single point gets a marker."""
    which = style.drawn(ax, gid)
    return {
        "color": style.OKABE_ITO[which % len(style.OKABE_ITO)],
        "linestyle": style.DASHES[which % len(style.DASHES)],
        "linewidth": 1.4,
        "marker": "o" if n_points == 1 else None,
        "markersize": 4,
        "zorder": 3,
        "gid": gid,
    }


def draw_bound(ax: Any, style: Any, bound: float, colour: Any) -> Any:
    """Draw what a certificate promises, in the colour of the curve; a line that several share is grey."""
    gid = f"{_BOUND_GID}-{bound}"
    there = [line for line in ax.get_lines() if line.get_gid() == gid]
    for line in there:
        line.set_color(style.GREY)
    if there:
        return None
    return ax.axhline(bound, color=colour, linestyle=(0, (1, 1.5)), linewidth=1.0, zorder=2, gid=gid)


def in_use(confidence: float | None, certified: bool = False) -> str:
    """Words for a point in use, and for the confidence of its interval."""
    words = f"{IN_USE}, certified" if certified else IN_USE
    return words if confidence is None else f"{words} ({100 * confidence:g} % CI)"


def draw_point(ax: Any, here: tuple[float, float], ends: Floats, words: str, colour: Any, marker: str = "o") -> Any:
    """Draw the point in use with the two ends of its interval; the first one of its words is in the legend."""
    first = words not in ax.get_legend_handles_labels()[1]
    return ax.errorbar(
        [here[0]],
        [here[1]],
        yerr=np.maximum([[here[1] - ends[0]], [ends[1] - here[1]]], 0.0),
        fmt=marker,
        color=colour,
        markersize=5,
        markeredgecolor="white",
        markeredgewidth=0.6,
        elinewidth=1,
        capsize=2,
        zorder=5,
        label=words if first else None,
    )


def legend_of_curves(ax: Any, style: Any) -> None:
    """Explain what has a name: curves first, points in use behind them."""
    handles, names = ax.get_legend_handles_labels()
    if names:
        in_order = sorted(range(len(names)), key=lambda i: names[i].startswith(IN_USE))
        style.legend(ax, [handles[i] for i in in_order], [names[i] for i in in_order])
