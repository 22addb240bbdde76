"""The style of displays: as wide as the column of a paper, in colours that colour-blind readers can distinguish.

The only file here that loads matplotlib: it is imported where something is drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, Locator, NullLocator

from ..stopping.core.binomial import upper_bound
from ..utils.figures import percent, thousands

#: Okabe and Ito's colours without yellow, which is illegible on white.
OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
BLUE, ORANGE = OKABE_ITO[:2]
GREY, PALE, BLACK = "#777777", "#e4e4e4", "#000000"
#: Lines also differ when they are printed without colour.
DASHES: tuple[Any, ...] = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (5, 1.5, 1, 1.5)))

#: Longest name of a column at an axis, in characters, and the least distance of two names as a share of the axis.
_LONGEST_NAME, _NAMES_APART = 16, 0.065

#: Inches.
COLUMN_WIDTH, PAGE_WIDTH = 3.4, 7.0

#: For new figures; axes that the user gives keep their sizes.
SETTINGS: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "figure.dpi": 150,
    "savefig.facecolor": "white",
}

#: For pictures of a page's width that are written to files.
PAGE_SETTINGS: Any = {
    **SETTINGS,
    "axes.titlesize": 9,
    "figure.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 250,
    "svg.hashsalt": "wald",  # the same picture is the same file
}


@contextmanager
def page_style(**more: Any) -> Iterator[None]:
    """Draw pages in the common style, whatever the user's own settings are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        settings: Any = PAGE_SETTINGS | more
        matplotlib.rcParams.update(settings)
        yield


def new_axes(width: float = COLUMN_WIDTH, height: float = 2.6) -> Any:
    """Axes on a new figure."""
    with matplotlib.rc_context(SETTINGS):
        return plt.subplots(figsize=(width, height), layout="constrained")[1]


def new_row(n: int, width: float, height: float) -> Any:
    """Axes beside each other on a new figure, as an array."""
    with matplotlib.rc_context(SETTINGS):
        return plt.subplots(1, n, figsize=(width, height), layout="constrained", squeeze=False)[1][0]


def divided(ax: Any, n: int, what: str, heights: Sequence[float] | None = None) -> Any:
    """Axes for n things: the given ones, or one divided, side by side, or below each other in these proportions."""
    if isinstance(ax, Sequence | np.ndarray):
        panels = np.asarray(ax, dtype=object).ravel()
        if len(panels) != n:
            raise ValueError(f"The 'ax' parameter must hold one Axes for each of {n} {what}s. Got {len(panels)}.")
        return panels
    if n == 1:
        return np.array([ax], dtype=object)
    spec = ax.get_subplotspec()
    if spec is None:
        raise ValueError(f"This Axes is no subplot and cannot be divided: give ax as a sequence of {n} Axes.")
    ax.set_axis_off()
    cells = spec.subgridspec(1, n) if heights is None else spec.subgridspec(n, 1, height_ratios=heights)
    return np.array([ax.figure.add_subplot(cell) for cell in cells], dtype=object)


def text_size(ax: Any) -> float:
    """Size of the axes' labels, in points, which all other text takes over."""
    return float(ax.xaxis.label.get_fontsize())


def open_frame(ax: Any) -> None:
    """Hide the lines above and on the right."""
    ax.spines[["top", "right"]].set_visible(False)


def boxed(ax: Any, colour: str = GREY, width: float = 0.6) -> None:
    """Remove the ticks and draw a frame, for images."""
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set(visible=True, color=colour, linewidth=width)


def legend(
    ax: Any, handles: Sequence[Any], names: Sequence[str], title: str | None = None, *, most_columns: int = 3
) -> Any:
    """Draw a legend above the axes, where it hides nothing, with as many columns as fit."""
    for n_columns in range(most_columns, 0, -1):
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


def grouped(n: float) -> str:
    """Write a number with its thousands set apart."""
    return thousands(round(n)) if n >= 1000 else f"{n:.3g}"


class CostTicks(Locator):
    """Ticks at round numbers of a logarithmic axis and at the full cost, far enough apart for their labels."""

    def __init__(self) -> None:
        self.full: set[float] = set()

    def __call__(self) -> Any:
        """Ticks of the current view."""
        assert self.axis is not None
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Ticks between two values: at 1, 2 and 5, or only at powers of ten on a wide axis."""
        first, last = int(np.floor(np.log10(vmin))), int(np.ceil(np.log10(vmax)))
        steps = (1, 2, 5) if vmax / vmin < 300 else (1,)
        round_numbers = [step * 10.0**power for power in range(first, last + 1) for step in steps]
        full = [cost for cost in self.full if vmin <= cost <= vmax]
        kept = full_kept = _apart(sorted(full, reverse=True), (vmax / vmin) ** 0.17)
        for tick in round_numbers:
            if vmin <= tick <= vmax and all(_ratio(tick, cost) > (vmax / vmin) ** 0.15 for cost in full_kept):
                kept = [*kept, tick]
        return np.array(sorted(kept))


def _ratio(a: float, b: float) -> float:
    return max(a / b, b / a)


def _apart(values: Sequence[float], ratio: float) -> list[float]:
    """Drop values that are too close to one that is kept."""
    kept: list[float] = []
    for value in values:
        if all(_ratio(value, other) > ratio for other in kept):
            kept.append(value)
    return kept


def cost_axis(ax: Any, costs: Any, full_cost: float | None, label: str) -> None:
    """Set up a horizontal axis of costs: logarithmic if they are positive, with a tick at the full cost."""
    costs = np.asarray(costs, dtype=np.float64)
    costs = np.append(costs, [] if full_cost is None else full_cost)
    if ax.get_xlabel() not in ("", label):
        label = "cost per row"
    ax.set_xlabel(label)
    low, high = float(costs.min()), float(costs.max())
    first_time = not isinstance(ax.xaxis.get_major_locator(), CostTicks)
    if low <= 0:
        return
    if first_time:
        ax.set_xscale("log")
        ax.xaxis.set_major_locator(CostTicks())
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(FuncFormatter(lambda cost, _: grouped(cost)))
    if full_cost is not None:
        ax.xaxis.get_major_locator().full.add(full_cost)
    left, right = (low / 1.15, high * 1.15) if first_time else ax.get_xlim()
    ax.set_xlim(min(left, low / 1.15), max(right, high * 1.15))


def name_costs(ax: Any, costs: Any, reads: Sequence[Sequence[str]]) -> None:
    """Name what is read up to each cost, on an axis of costs: of several names the first, and how many follow."""
    left, right = ax.get_xlim()
    logarithmic = ax.get_xscale() == "log"
    place = np.log if logarithmic else np.asarray
    least = _NAMES_APART * (place(right) - place(left))
    ticks: list[float] = []
    names: list[list[str]] = []
    for cost, read in zip(costs, reads, strict=True):
        if ticks and place(cost) - place(ticks[-1]) < least:
            names[-1] += read
            ticks[-1] = cost  # what was read up to here
        else:
            ticks.append(cost)
            names.append(list(read))
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(FixedFormatter([_some(n, c) for n, c in zip(names, ticks, strict=True)]))
    ax.tick_params(axis="x", labelrotation=40)
    for label in ax.get_xticklabels():
        label.set(horizontalalignment="right", rotation_mode="anchor", parse_math=False)


def _some(names: Sequence[str], cost: float) -> str:
    """The first name, how many follow, and the cost of all so far."""
    if not names:
        return grouped(cost)
    first = names[0] if len(names[0]) <= _LONGEST_NAME else f"{names[0][: _LONGEST_NAME - 1]}…"
    more = f" +{len(names) - 1}" if len(names) > 1 else ""
    return f"{first}{more} ({grouped(cost)})"


class ShareTicks(Locator):
    """Powers of ten, and 0, of shares that were counted among ``n_rows``."""

    def __init__(self, n_rows: int, confidence: float) -> None:
        self.fewest = self.most = n_rows
        self.confidence = confidence

    def __call__(self) -> Any:
        """Ticks of the current view."""
        assert self.axis is not None
        return self.tick_values(*sorted(self.axis.get_view_interval()))

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Ticks between two values."""
        powers = 10.0 ** np.arange(np.ceil(np.log10(1 / self.most) - 1e-9), 1)
        return np.append(0.0, powers[powers <= vmax])

    def label(self, share: float) -> str:
        """Write a share; for 0, also its upper confidence limit."""
        if share > 0:
            return f"{100 * share:g} %"
        return f"0 seen\n(< {percent(upper_bound(0, self.fewest, self.confidence))})"


def share_axis(ax: Any, n_rows: int, confidence: float, highest: float) -> None:
    """Set up a vertical axis of shares: logarithmic down to one row, with 0 below that."""
    ticks = ax.yaxis.get_major_locator()
    if isinstance(ticks, ShareTicks):
        ticks.fewest, ticks.most = min(ticks.fewest, n_rows), max(ticks.most, n_rows)
        highest = max(highest, ax.get_ylim()[1] / 2)
    else:
        ticks = ShareTicks(n_rows, confidence)
    ax.set_yscale("symlog", linthresh=1 / ticks.most, linscale=0.7)
    ax.yaxis.set_major_locator(ticks)
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda share, _: ticks.label(share)))
    ax.set_ylim(-0.2 / ticks.most, 2 * max(highest, 1 / ticks.most))


def drawn(ax: Any, gid: str) -> int:
    """How many artists of a kind the axes hold already."""
    return sum(artist.get_gid() == gid for artist in ax.get_children())


def percent_axis(axis: Any) -> None:
    """Write shares on a linear axis in per cent."""
    axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %".replace("-", "−")))
