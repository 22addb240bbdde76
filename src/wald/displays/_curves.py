"""Common parts of curves over costs: the curve, the setting in use, the certified bound and the legend."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._display import AxesDisplay
from ._source import Floats

#: The labels of settings in use begin with this.
IN_USE = "in use"

#: Longest name in the legend that has the promise on its line, in characters.
_LONGEST = 20
_BOUND_GID = "wald-bound"


class CurveDisplay(AxesDisplay):
    """Base of the displays of a curve over costs, with the setting in use and a certified bound."""

    cost: ArrayLike
    cost_in_use: float | None
    interval_in_use: tuple[float, float] | None
    risk: float | None
    confidence: float

    #: Marks the curves of the kind, so that the next one on the same axes gets another colour.
    _gid: str

    @property
    def _height(self) -> float:
        return 2.9

    def _shown(self, values: Any) -> Floats:
        """Values of the vertical axis as they are drawn."""
        return np.asarray(values, dtype=np.float64)

    def _draw_curve(self, ax: Any, style: Any, values: Any, name: str | None, promise: str, **kwargs: Any) -> Any:
        """Draw the curve, with the promise behind the name, and return its colour; a single point gets a marker."""
        cost = np.asarray(self.cost, dtype=np.float64)
        which = style.drawn(ax, self._gid)
        line_style = {
            "color": style.OKABE_ITO[which % len(style.OKABE_ITO)],
            "linestyle": style.DASHES[which % len(style.DASHES)],
            "linewidth": 1.4,
            "marker": "o" if len(cost) == 1 else None,
            "markersize": 4,
            "zorder": 3,
            "gid": self._gid,
        }
        label = name
        if name is not None and self.risk is not None:  # a long name has a line of its own, lest the axes get narrow
            label = f"{name}{' ' if len(name) <= _LONGEST else chr(10)}(certified ≤ {promise})"
        (self.line_,) = ax.plot(cost, self._shown(values), label=label, **{**line_style, **kwargs})
        return self.line_.get_color()

    def _draw_point(self, ax: Any, value: float | None, *, certified: bool = False) -> None:
        """Draw the setting in use and its interval; the legend names only the first of several such points."""
        self.point_ = None
        if self.cost_in_use is None or value is None:
            return
        here = float(self._shown(value))
        low, high = np.sort(self._shown(self.interval_in_use or (value, value)))
        words = f"{IN_USE}, certified" if certified else IN_USE
        if self.interval_in_use is not None:
            words += f" ({100 * self.confidence:g} % CI)"
        first = words not in ax.get_legend_handles_labels()[1]
        self.point_ = ax.errorbar(
            [self.cost_in_use],
            [here],
            yerr=np.maximum([[here - low], [high - here]], 0.0),
            fmt="D" if certified else "o",
            color=self.line_.get_color(),
            markersize=5,
            markeredgecolor="white",
            markeredgewidth=0.6,
            elinewidth=1,
            capsize=2,
            zorder=5,
            label=words if first else None,
        )


def draw_bound(ax: Any, style: Any, bound: float, colour: Any) -> Any:
    """Draw a certified bound in the colour of its curve, or in grey if several curves share it."""
    gid = f"{_BOUND_GID}-{bound}"
    there = [line for line in ax.get_lines() if line.get_gid() == gid]
    for line in there:
        line.set_color(style.GREY)
    if there:
        return None
    return ax.axhline(bound, color=colour, linestyle=(0, (1, 1.5)), linewidth=1.0, zorder=2, gid=gid)


def legend_of_curves(ax: Any, style: Any) -> None:
    """Draw the legend: curves first, settings in use after them."""
    handles, names = ax.get_legend_handles_labels()
    if names:
        in_order = sorted(range(len(names)), key=lambda i: names[i].startswith(IN_USE))
        style.legend(ax, [handles[i] for i in in_order], [names[i] for i in in_order])
