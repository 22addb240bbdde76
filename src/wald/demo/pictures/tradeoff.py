"""Cost against disagreement: what the certified number could have been, and what it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator
from numpy.typing import NDArray

from ...stopping import Looks, q_grid
from ..material import Floats, Material
from ..measure import Exhibit
from .style import BLACK, BLUE, GREY, ORANGE, PAGE_WIDTH, grouped


class Tradeoff(NamedTuple):
    """Mean cost of a row, and share of rows whose label differs from the full model's."""

    cost: NDArray[np.float64]
    share: NDArray[np.float64]


def early(exhibit: Exhibit, looks: Looks, scales: Sequence[float] | NDArray[np.float64]) -> Tradeoff:
    """Let rows leave when they are clear enough: one point for every scale of the plan's thresholds."""
    plan = exhibit.fast.plan_
    points = []
    for q in scales:
        codes, stage = looks.answers(*plan.boundary.thresholds(float(q), plan.precision))
        points.append((plan.stage_costs[stage].mean(), (codes != looks.full).mean()))
    return Tradeoff(*np.array(points).T)


def fixed(exhibit: Exhibit, looks: Looks) -> Tradeoff:
    """Let every row leave at the same look; the last one is the full model."""
    assert looks.scores is not None
    wrong = (looks.scores > 0) != looks.full[:, None].astype(bool)
    return Tradeoff(exhibit.fast.plan_.stage_costs, np.append(wrong.mean(axis=0), 0.0))


def looks_of(exhibit: Exhibit, X: Floats) -> Looks:
    """What the plan of a binary model sees of the rows."""
    scores, _ = exhibit.fast.stage_scores(X)
    full = np.searchsorted(exhibit.fast.classes_, exhibit.full).astype(np.int32)
    return Looks(full=full, scores=scores[:, :-1].astype(exhibit.fast.plan_.precision))


def draw_tradeoff(exhibits: Sequence[Exhibit], material: Material) -> Figure:
    """One panel for every binary model."""
    figure = Figure(figsize=(PAGE_WIDTH, 3.2), layout="constrained")
    panels = figure.subplots(1, len(exhibits), squeeze=False, sharey=True)[0]
    highest = max(_draw(panel, exhibit, material) for panel, exhibit in zip(panels, exhibits, strict=True))
    n_rows = exhibits[0].n_rows
    panels[0].set_ylabel(f"labels that differ from the full model's,\nshare of {grouped(n_rows)} rows (log scale)")
    panels[0].set_yscale("symlog", linthresh=1 / n_rows, linscale=0.5)
    panels[0].set_ylim(-0.15 / n_rows, 2 * highest)
    panels[0].set_yticks([0, *(t for t in (1e-4, 1e-3, 1e-2, 1e-1) if 1 / n_rows <= t < 2 * highest)])
    panels[0].yaxis.set_minor_locator(NullLocator())
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:g} %"))
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=1.8)
    return figure


def _draw(axes: Any, exhibit: Exhibit, material: Material) -> float:
    """Draw a panel and return the highest share in it."""
    plan, task = exhibit.fast.plan_, exhibit.task
    looks = looks_of(exhibit, material.X_count)
    curve, same = early(exhibit, looks, [*q_grid(looks, plan.boundary), 0.0]), fixed(exhibit, looks)
    here = early(exhibit, looks, [plan.q])
    axes.axhline(material.risk, color=GREY, linestyle=(0, (1, 1.5)), linewidth=1.2, label="risk asked for")
    axes.plot(
        same.cost,
        same.share,
        "s--",
        color=ORANGE,
        markersize=3,
        linewidth=1,
        label="same number for every row",
    )
    axes.plot(curve.cost, curve.share, color=BLUE, label="rows leave when clear")
    axes.plot(here.cost, here.share, "o", color=BLACK, markersize=5.5, zorder=5, label="thresholds in use")
    first, last = plan.stage_costs[0], plan.full_cost
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if 0.85 * first <= t < 0.4 * last]
    axes.set_xscale("log")
    axes.set_xlim(0.85 * first, 1.15 * last)
    axes.set_xticks([*ticks, last], [grouped(t) for t in (*ticks, last)])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel(f"{task.unit} per row, mean (log scale)")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title(f"{task.name}, {task.question}\n", loc="left")
    found = f"certified: mean {_short(here.cost[0])} of {grouped(last)}, {100 * here.share[0]:.2g} % differ"
    if plan.evaluate_all:
        found = "evaluates everything"
    axes.text(0, 1.03, found, transform=axes.transAxes, in_layout=False)
    return float(max(curve.share.max(), same.share.max(), material.risk))


def _short(value: float) -> str:
    return f"{value:.3g}" if value < 1000 else grouped(value)
