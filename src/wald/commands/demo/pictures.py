"""The pictures of the demo, in the style of the displays, at the width of a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from numpy.typing import NDArray

from ...displays import AttentionMapDisplay, TradeoffDisplay
from ...displays._pixels import easy_and_hard, places
from ...displays._style import BLUE, GREY, ORANGE, PAGE_WIDTH, boxed, grouped, page_style
from ...models import decompose
from ..answers import as_user_error
from .material import DIGIT, Material
from .measure import Exhibit

#: Number of vectors that are shown.
N_SHOWN = 16
#: Landmarks are optimized without constraints: their negative pixels are orange.
_INK = LinearSegmentedColormap.from_list("ink", [ORANGE, "white", "black"])


def draw(exhibits: Sequence[Exhibit], material: Material, output: Path) -> list[Path]:
    """Draw everything into the folder ``output`` and return the paths."""
    binary = [e for e in exhibits if e.task.binary]
    kernel, linear = (next(e for e in binary if e.task.unit == unit) for unit in ("support vectors", "pixels"))
    with page_style():
        figures = {
            "cost-against-disagreement.png": draw_tradeoff(binary, material),
            "pixels-read.png": draw_pixels(linear, material),
            "first-support-vectors.png": draw_vectors(kernel, material),
        }
        for name, figure in figures.items():
            with as_user_error(f"cannot write {output / name}", OSError):
                figure.savefig(output / name)
    return [output / name for name in figures]


# ---- cost against disagreement ---------------------------------------------------------------------------------------


def draw_tradeoff(exhibits: Sequence[Exhibit], material: Material) -> Figure:
    """One panel for every binary model, for all values of the certified number and for the chosen one."""
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
    differ = f"{100 * exhibit.n_different / exhibit.n_rows:.2g} % differ"
    found = f"mean {grouped(exhibit.mean_cost)} of {grouped(plan.full_cost)}, {differ}"
    found = "evaluates everything" if plan.evaluate_all else found
    axes.text(0, 1.03, found, transform=axes.transAxes, in_layout=False)
    return clear, same


# ---- pixels ----------------------------------------------------------------------------------------------------------


def draw_pixels(exhibit: Exhibit, material: Material) -> Figure:
    """The pixels that a linear model reads: their order, an easy row, a hard row, and how often each is read."""
    X, side, plan = material.X_count, material.side, exhibit.fast.plan_
    n_pixels = side * side
    _, stages = exhibit.fast.stage_scores(X)
    costs = plan.stage_costs[stages]
    easy, hard = pick_rows(exhibit, material, stages)

    def read(cost: float) -> str:
        return f"{grouped(cost)} of {n_pixels} pixels"

    figure = Figure(figsize=(PAGE_WIDTH, 2.55), layout="constrained")
    panels = figure.subplots(1, 4)
    AttentionMapDisplay(
        images=[material.X_train[material.y_train == DIGIT].mean(axis=0), X[easy], X[hard]],
        # the last stage first; pixels that no stage reads stay blank
        seen=[places(plan, n_pixels, stage) for stage in (plan.n_stages - 1, int(stages[easy]), int(stages[hard]))],
        image_shape=(side, side),
        titles=[
            f"Order of looking,\nover the mean {DIGIT}",
            f"An easy {DIGIT}:\n{read(costs[easy])}",
            f"A hard {DIGIT}:\n{read(costs[hard])}",
        ],
    ).plot(panels[:3])
    last = panels[3]
    last.set_title(f"All {grouped(len(X))} rows: mean\n{read(costs.mean())}", loc="left", fontsize=8)
    boxed(last)
    shares = last.imshow(share_map(exhibit, stages).reshape(side, side), cmap="Blues", norm=PowerNorm(0.5, 0, 1))
    bar = figure.colorbar(shares, ax=last, location="bottom", aspect=13, pad=0.03)
    bar.set_ticks([0, 0.1, 0.5, 1], labels=["0 %", "10 %", "50 %", "100 %"])
    bar.set_label("rows that look at the pixel")
    return figure


def pick_rows(exhibit: Exhibit, material: Material, stages: NDArray[np.int32]) -> tuple[int, int]:
    """Row numbers of an easy and of a hard image of the digit, both recognized by the full model."""
    known = exhibit.full.astype(bool) & (material.y_count == DIGIT)
    return easy_and_hard(stages, known, exhibit.fast.plan_.n_stages)


def share_map(exhibit: Exhibit, stages: NDArray[np.int32]) -> NDArray[np.float64]:
    """Share of rows that read each pixel, given the stages at which the rows leave."""
    n_pixels = exhibit.fast.n_features_in_
    shares = np.zeros(n_pixels)
    for stage, count in zip(*np.unique(stages, return_counts=True), strict=True):
        shares[~np.isnan(places(exhibit.fast.plan_, n_pixels, int(stage)))] += count / len(stages)
    return shares


# ---- vectors ---------------------------------------------------------------------------------------------------------


def draw_vectors(exhibit: Exhibit, material: Material) -> Figure:
    """The vectors with which a kernel machine compares a row first, in the plan's order."""
    plan, shape = exhibit.fast.plan_, (material.side, material.side)
    terms = decompose(exhibit.model).terms
    figure = Figure(figsize=(PAGE_WIDTH, 2.75), layout="constrained")
    panels = figure.subplots(2, N_SHOWN // 2).flat
    own = plan.terms < terms.n_terms
    # the first terms; if landmarks come first, one row of them and one row of support vectors
    order = np.arange(N_SHOWN) if own[0] else np.r_[: N_SHOWN // 2, np.flatnonzero(own)[: N_SHOWN // 2]]
    order = order[order < len(plan.terms)]
    for place, axes, term in zip(order + 1, panels, plan.terms[order], strict=False):
        if term < terms.n_terms:
            axes.imshow(exhibit.model.support_vectors_[term].reshape(shape), cmap="Greys", vmin=0, vmax=1)
            boxed(axes, BLUE if terms.coef[0, term] > 0 else ORANGE, 1.5)
        else:
            vector = plan.surrogates.vectors[term - terms.n_terms]
            largest = np.abs(vector).max()
            axes.imshow(vector.reshape(shape), cmap=_INK, vmin=-largest, vmax=largest)
            boxed(axes, GREY, 0.6)
        axes.set_title(str(place), loc="left", pad=3)
    for axes in panels:  # the rest
        axes.set_axis_off()
    figure.suptitle(
        f"{exhibit.task.name}, {exhibit.task.question}: "
        f"what a row is compared with first, of {grouped(plan.full_cost)} in the plan's order",
        x=0.005,
        ha="left",
    )
    handles = [
        Patch(facecolor="white", edgecolor=BLUE, linewidth=1.5, label=f"support vector for {DIGIT}"),
        Patch(facecolor="white", edgecolor=ORANGE, linewidth=1.5, label="support vector against"),
    ]
    if not own[0]:
        handles.append(Patch(facecolor="black", label="landmark: ink"))
        handles.append(Patch(facecolor=ORANGE, label="landmark: less than no ink"))
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=1.2, handleheight=1.0)
    return figure
