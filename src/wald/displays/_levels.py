"""Levels that budget curves are compared with, and the words of their axes."""

from __future__ import annotations

from typing import Any

_GID = "wald-level"


def draw_level(ax: Any, style: Any, level: float, text: str, colour: Any, *, above: bool) -> list[Any]:
    """Draw a line with its name at its right end; nothing if the axes have the same one already.

    The first level of a name is grey. Another level of that name belongs to another model, and gets its curve's colour.
    """
    kind = f"{_GID}-{text}"
    there = [line for line in ax.get_lines() if (line.get_gid() or "").startswith(kind)]
    gid = f"{kind}-{level}"
    if any(line.get_gid() == gid for line in there):
        return []
    line = ax.axhline(level, color=colour if there else style.GREY, linewidth=0.8, zorder=2, gid=gid)
    if not there:
        ax.annotate(
            text,
            (1.0, level),
            xycoords=ax.get_yaxis_transform(),
            xytext=(-2, 2 if above else -2),
            textcoords="offset points",
            ha="right",
            va="bottom" if above else "top",
            fontsize=style.text_size(ax),
            color="#555555",
        )
    return [line]


def label_axes(ax: Any, style: Any, about: Any) -> None:
    """Label the axes of a budget curve."""
    part, unit = about.part, "" if about.unit is None else f" ({about.unit})"
    labels = {
        "share": f"{part}s with costly features",
        "cost": f"mean cost of a {part}{unit}",
        "time": f"features, policy and inference, µs a {part}",
    }
    ax.set_xlabel(labels[about.against])
    if about.compared_with == "truth":
        ax.set_ylabel(f"{part}s answered right" if about.measure == "accuracy" else f"mean loss of a {part}")
    else:
        ax.set_ylabel(f"{'' if about.measure == 'accuracy' else 'dis'}agreement with all features")
    style.percent_axis(ax.yaxis)
    if about.against == "share":
        style.percent_axis(ax.xaxis)
    ax.margins(x=0.03, y=0.14)
    style.open_frame(ax)
