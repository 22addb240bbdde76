"""The pictures of curves, times and trees: one function each, from the tables of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator
from numpy.typing import NDArray

from .._common import Estimate, Record, select
from .._style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PAGE_WIDTH,
    PINK,
    SKY,
    draw_line,
    legend_below,
    panels_in_a_row,
    per_cent_axis,
    write_picture,
)
from .arcs import FILTERED, MARGINS, UNFILTERED, Way
from .contenders import NAMES, Contender
from .curves import Tables
from .depths import DEEPEST
from .figures import budgets, data_sets, full_time, lost, pooled, pooled_uas, ran, speed, time_of
from .material import SOURCES
from .steps import Walk
from .times import NOTHING
from .walks import draw_sentence, draw_word

#: How each policy is drawn: colour, line, marker.
STYLES = {
    "uniform": (GREY, "--", "s"),
    "uniform, examples": (GREY, ":", "s"),
    "myopic": (PINK, "-", "v"),
    "q-learning": (GREEN, "-", "^"),
    "simple": (SKY, "-", "s"),
    "simple, parsimonious": (SKY, "--", "P"),
    "one-shot": (ORANGE, "-", "o"),
    "parsimonious": (ORANGE, "--", "P"),
    "unweighted": (GREEN, ":", "^"),
    "anytime": (GREEN, "-", "^"),
    "iterated": (BLUE, "-", "D"),
    "label-free": (BLUE, "--", "X"),
}
_CURVES = ("uniform", "myopic", "q-learning", "simple", "one-shot", "iterated", "label-free")
_VARIANTS = ("uniform", "simple, parsimonious", "simple", "unweighted", "parsimonious", "one-shot", "iterated")
_EQUAL = ("one-shot", "anytime", "iterated")
_BARS = ("uniform", "myopic", "simple", "one-shot", "iterated")
_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


def draw_all(folder: Path, tables: Tables, walks: Sequence[Walk], letters: NDArray[Any]) -> list[Path]:
    """Draw every picture into the folder, as PNG and SVG."""
    pictures: dict[str, Callable[[], Figure]] = {
        "accuracy-against-features": lambda: draw_curves(tables),
        "accuracy-against-time": lambda: draw_times(tables),
        "one-shot-variants": lambda: draw_variants(tables),
        "equal-share": lambda: draw_equal_shares(tables),
        "where-time-goes": lambda: draw_bars(tables),
        "depth": lambda: draw_depths(tables["depths"]),
        "likely-arcs": lambda: draw_arcs(tables),
    }
    for walk in walks:
        if walk.data == "OCR":
            pictures["word-step-by-step"] = partial(draw_word, walk, letters)
        else:
            pictures["sentence-step-by-step"] = partial(draw_sentence, walk)
    return [path for name, draw in pictures.items() for path in write_picture(folder, name, draw)]


def _panels(data: Sequence[str], height: float = 2.5) -> tuple[Figure, list[Any]]:
    rows = -(-len(data) // 2)
    figure = Figure(figsize=(PAGE_WIDTH, height * rows), layout="constrained")
    panels = list(figure.subplots(rows, min(2, len(data)), squeeze=False).ravel())
    for axes, name in zip(panels, data, strict=False):
        axes.set_title(name, loc="left", fontsize=8)
    for axes in panels[len(data) :]:
        axes.set_visible(False)
    return figure, panels


def _handles(panels: Iterable[Any]) -> tuple[list[Any], list[str]]:
    """Legend handles and labels of all panels, without repetition."""
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def _explain(figure: Figure, panels: Iterable[Any], lines: int = 2) -> None:
    handles, labels = _handles(panels)
    columns = -(-len(labels) // lines)
    figure.legend(handles, labels, loc="outside lower center", ncols=columns, handlelength=2.8, columnspacing=1.2)


def _line(axes: Any, tables: Tables, data: str, contender: Contender) -> None:
    """A contender's curve; the band is the interval of what is lost against all features."""
    curve, shares = pooled(tables, data, *contender), budgets(tables, data)
    losses = [lost(tables, data, contender.policy, share, contender.spend) for share in shares]
    estimates = [
        Estimate(100 * a, 100 * (a + e.mean - e.high), 100 * (a + e.mean - e.low), e.n)
        for a, e in zip(curve.accuracy[1:-1], losses, strict=True)
    ]
    colour, line, marker = STYLES[contender.policy]
    draw_line(axes, list(curve.shares[1:-1]), estimates, colour, line, marker, contender.name)
    for ends in (slice(0, 2), slice(-2, None)):
        axes.plot(curve.shares[ends], 100 * curve.accuracy[ends], line, color=colour, linewidth=0.8)


def draw_curves(tables: Tables) -> Figure:
    """Accuracy against the share of costly features, on every task."""
    data = [name for name in data_sets(tables) if ran(name, "myopic")]
    figure, panels = _panels(data)
    for axes, name in zip(panels, data, strict=False):
        full = pooled(tables, name, "uniform").full
        axes.axhline(100 * full, color=BLACK, linewidth=0.8, linestyle=(0, (4, 2)), label="all features")
        for policy in _CURVES:
            if ran(name, policy):
                _line(axes, tables, name, Contender(policy))
        axes.set_ylabel(f"{SOURCES[name].answer}s right, per cent")
        axes.set_xlabel(f"{SOURCES[name].parts} with costly features")
        per_cent_axis(axes.xaxis, _TICKS)
    _explain(figure, panels[: len(data)])
    return figure


def draw_times(tables: Tables) -> Figure:
    """Accuracy against total time, on every task."""
    data = [name for name in data_sets(tables) if ran(name, "myopic")]
    figure, panels = _panels(data)
    for axes, name in zip(panels, data, strict=False):
        full, nothing = pooled(tables, name, "uniform"), time_of(tables, name, NOTHING, 0.0)
        ends = [
            (nothing, full.accuracy[0], "<", "nothing costly"),
            (full_time(tables, name), full.full, "*", "all features"),
        ]
        for record, accuracy, marker, label in ends:
            axes.plot(
                float(record["total_us"]), 100 * accuracy, marker, color=BLACK, markersize=6, label=label, zorder=4
            )
        for policy in _CURVES:
            if not ran(name, policy):
                continue
            own = select(tables["times"], data=name, policy=policy, spend="mean")
            curve = pooled(tables, name, policy)
            colour, line, marker = STYLES[policy]
            axes.plot(
                [float(r["total_us"]) for r in own],
                [100 * curve.at(float(r["share"])) for r in own],
                line,
                color=colour,
                marker=marker,
                label=NAMES[policy],
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(FixedLocator([round(m * 10.0**e, 3) for e in range(-2, 4) for m in (1, 2, 5)]))
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.xaxis.set_minor_locator(NullLocator())
        axes.tick_params(axis="x", labelsize=7)
        axes.set_xlabel(f"µs a {SOURCES[name].part}, all in all (log scale)")
        axes.set_ylabel(f"{SOURCES[name].answer}s right, per cent")
    _explain(figure, panels[: len(data)])
    return figure


def draw_variants(tables: Tables) -> Figure:
    """Losses of the paper's one-shot policies against all features."""
    data = [name for name in data_sets(tables) if ran(name, "simple, parsimonious")]
    figure = Figure(figsize=(PAGE_WIDTH, 2.8), layout="constrained")
    panels = figure.subplots(1, len(data), squeeze=False)[0]
    for axes, name in zip(panels, data, strict=True):
        axes.set_title(name, loc="left", fontsize=8)
        for policy in _VARIANTS:
            _losses(axes, tables, name, Contender(policy))
        axes.axhline(0, color=BLACK, linewidth=0.8)
        axes.set_xlabel(f"{SOURCES[name].parts} with costly features")
        per_cent_axis(axes.xaxis, _TICKS)
    panels[0].set_ylabel("above all features, points")
    legend_below(figure, panels[0], lines=3)
    return figure


def draw_equal_shares(tables: Tables) -> Figure:
    """Losses of policies when the budget cannot move between examples."""
    data = [name for name in data_sets(tables) if ran(name, "anytime", "each")]
    figure = Figure(figsize=(PAGE_WIDTH, 2.6), layout="constrained")
    panels = figure.subplots(1, len(data), squeeze=False)[0]
    for axes, name in zip(panels, data, strict=True):
        axes.set_title(name, loc="left", fontsize=8)
        _losses(axes, tables, name, Contender("uniform"))
        for policy in _EQUAL:
            _losses(axes, tables, name, Contender(policy, "each"))
        axes.axhline(0, color=BLACK, linewidth=0.8)
        per_cent_axis(axes.xaxis, (0.0, 0.5, 1.0))
    panels[len(panels) // 2].set_xlabel("parts with costly features")
    panels[0].set_ylabel("above all features, points")
    legend_below(figure, panels[0], lines=1)
    return figure


def _losses(axes: Any, tables: Tables, data: str, contender: Contender) -> None:
    curve = pooled(tables, data, *contender)
    below = [lost(tables, data, contender.policy, share, contender.spend) for share in budgets(tables, data)]
    estimates = [Estimate(-100 * e.mean, -100 * e.high, -100 * e.low, e.n) for e in below]
    colour, line, marker = STYLES[contender.policy]
    _band(axes, list(curve.shares[1:-1]), estimates, colour, line, marker, contender.name)


def _band(
    axes: Any, x: list[float], estimates: list[Estimate], colour: str, line: str, marker: str, label: str
) -> None:
    """Draw means with their intervals; unlike `draw_line`, without a lower limit, as values may be negative."""
    axes.plot(x, [e.mean for e in estimates], line, color=colour, marker=marker, label=label)
    axes.fill_between(x, [e.low for e in estimates], [e.high for e in estimates], color=colour, alpha=0.15, linewidth=0)


def draw_bars(tables: Tables, share: float = 0.3) -> Figure:
    """Features, policy and inferences of some policies at a budget, and of everything."""
    data = [name for name in data_sets(tables) if ran(name, "myopic")]
    figure, panels = _panels(data, 1.9)
    for axes, name in zip(panels, data, strict=False):
        shown = [("all features", full_time(tables, name))]
        shown += [(NAMES[p], time_of(tables, name, p, share)) for p in _BARS if ran(name, p)]
        left = np.zeros(len(shown))
        for what, colour in (("features", ORANGE), ("policy", BLUE), ("inference", GREY)):
            width = np.array([float(record[f"{what}_us"]) for _, record in shown])
            axes.barh(range(len(shown)), width, left=left, color=colour, label=what)
            left += width
        for i, (_, record) in enumerate(shown):
            axes.text(left[i], i, f" {float(record['inferences']):.1f}", va="center", fontsize=6)
        axes.set_yticks(range(len(shown)), [label for label, _ in shown], fontsize=7)
        axes.set_xlim(0, 1.12 * left.max())
        axes.grid(axis="y", visible=False)
        axes.invert_yaxis()
        axes.set_xlabel(f"µs a {SOURCES[name].part}; the number: inferences", fontsize=7)
    _explain(figure, panels[: len(data)], lines=1)
    return figure


def draw_depths(records: Sequence[Record]) -> Figure:
    """Share of the words at every depth that got costly features."""
    data = list(dict.fromkeys(str(r["data"]) for r in records))
    figure, panels = panels_in_a_row(len(data), 2.4)
    for axes, name in zip(panels, data, strict=True):
        axes.set_title(name, loc="left", fontsize=8)
        for shift, policy in ((-0.2, "one-shot"), (0.2, "iterated")):
            own = select(records, data=name, policy=policy)
            shares = []
            for depth in range(DEEPEST + 1):
                here = select(own, depth=depth)
                words = sum(float(r["words"]) for r in here)
                shares.append(sum(float(r["bought"]) for r in here) / max(words, 1))
            axes.bar(np.arange(DEEPEST + 1) + shift, shares, 0.4, color=STYLES[policy][0], label=NAMES[policy])
        axes.set_xticks(range(DEEPEST + 1), [*map(str, range(DEEPEST)), f"{DEEPEST}+"])
        axes.grid(axis="x", visible=False)
        axes.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
    panels[len(panels) // 2].set_xlabel("depth in the true tree; 0 is the root word")
    panels[0].set_ylabel("words with costly features")
    legend_below(figure, panels[0])
    return figure


def draw_arcs(tables: Tables) -> Figure:
    """UAS and words per second of the parser that scores likely arcs."""
    data = list(dict.fromkeys(str(r["data"]) for r in tables["speeds"]))
    figure, panels = _panels(data)
    for axes, name in zip(panels, data, strict=False):
        ways = [Way("slack", margin) for margin in MARGINS]
        ends = (
            (UNFILTERED, "s", "all arcs"),
            (FILTERED, "o", "length filter alone"),
            (Way("exact"), "v", "exact filter"),
        )
        for way, marker, label in ends:
            axes.plot(*_point(tables, name, way), marker, color=BLACK, label=label, markersize=5, linestyle="none")
        points = np.array([_point(tables, name, way) for way in ways])
        axes.plot(points[:, 0], points[:, 1], "-D", color=BLUE, label="likely arcs, by margin")
        for way, at in zip(ways, points, strict=True):
            axes.annotate(f"{way.margin:g}", at, xytext=(3, 3), textcoords="offset points", fontsize=6)
        axes.set_xlabel("words per second, thousands")
        axes.set_ylabel("UAS, per cent")
        axes.set_xlim(left=0)
    _explain(figure, panels[: len(data)], lines=1)
    return figure


def _point(tables: Tables, data: str, way: Way) -> tuple[float, float]:
    return float(speed(tables, data, way)["words_per_second"]) / 1000, 100 * pooled_uas(tables, data, way)
