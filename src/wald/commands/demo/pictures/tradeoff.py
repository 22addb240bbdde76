"""Cost against disagreement, for all values of the certified number and for the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.figure import Figure

from ....displays import TradeoffDisplay
from ..material import Material
from ..measure import Exhibit
from .style import PAGE_WIDTH, grouped


def draw_tradeoff(exhibits: Sequence[Exhibit], material: Material) -> Figure:
    """One panel for every binary model."""
    figure = Figure(figsize=(PAGE_WIDTH, 3.2), layout="constrained")
    panels = figure.subplots(1, len(exhibits), squeeze=False, sharey=True)[0]
    for panel, exhibit in zip(panels, exhibits, strict=True):
        draw_panel(panel, exhibit, material)
    for panel in panels[1:]:
        panel.set_ylabel("")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), handlelength=1.8)
    return figure


def draw_panel(axes: Any, exhibit: Exhibit, material: Material) -> tuple[TradeoffDisplay, TradeoffDisplay]:
    """Draw the curves of rows that leave as soon as they are clear, and of rows that all leave at the same stage."""
    plan, task = exhibit.fast.plan_, exhibit.task
    clear, same = (
        TradeoffDisplay.from_estimator(
            exhibit.fast, material.X_count, budgeted=budgeted, unit=task.unit, name=name, ax=axes
        )
        for budgeted, name in ((False, "rows leave when clear"), (True, "same number for every row"))
    )
    axes.get_legend().remove()
    axes.set_ylabel(f"disagreement with full model,\nshare of {grouped(exhibit.n_rows)} rows")
    axes.grid(color="#dddddd", linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_title(f"{task.name}, {task.question}\n", loc="left")
    found = f"mean {grouped(exhibit.units.wald)} of {grouped(plan.full_cost)}, "
    found += f"{100 * exhibit.n_different / exhibit.n_rows:.2g} % differ"
    if plan.evaluate_all:
        found = "evaluates everything"
    axes.text(0, 1.03, found, transform=axes.transAxes, in_layout=False)
    return clear, same
