"""Where the linear model looks: in which order, on an easy row and on a hard one, and how often."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import PatchCollection
from matplotlib.colors import LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import NDArray

from ..material import DIGIT, Material
from ..measure import Exhibit
from .style import GREY, PAGE_WIDTH, boxed, grouped

#: Both colour maps run evenly between dark and light, for every kind of eye.
ORDER_COLOURS, SHARE_COLOURS = "viridis", "Blues"


def order_map(exhibit: Exhibit, stage: int | None = None) -> NDArray[np.float64]:
    """Place of every pixel in the order of reading, from 1; NaN for those not read up to a look.

    Parameters
    ----------
    exhibit : Exhibit
        A linear model.
    stage : int or None, default=None
        Early looks after that many, all of them by default. Beyond them, what was not ordered is read last.
    """
    plan = exhibit.fast.plan_
    place = np.full(exhibit.fast.n_features_in_, np.nan)
    stage = plan.n_stages - 1 if stage is None else stage
    n_terms = int(plan.stage_terms[min(stage, plan.n_stages - 1)])
    place[plan.terms[:n_terms]] = np.arange(1, n_terms + 1)
    if stage == plan.n_stages:
        place[np.isnan(place)] = n_terms + 1
    return place


def share_map(exhibit: Exhibit, stages: NDArray[np.int32]) -> NDArray[np.float64]:
    """Share of rows that read every pixel, given the looks at which they leave."""
    shares = np.zeros(exhibit.fast.n_features_in_)
    for stage, count in zip(*np.unique(stages, return_counts=True), strict=True):
        shares[~np.isnan(order_map(exhibit, int(stage)))] += count / len(stages)
    return shares


def pick_rows(exhibit: Exhibit, material: Material, stages: NDArray[np.int32]) -> tuple[int, int]:
    """Row numbers of an easy and of a hard image of the digit, which the full model knows for what they are.

    The easy one left first; the hard one last among those that left early at all.
    """
    known = np.flatnonzero(exhibit.full.astype(bool) & (material.y_count == DIGIT))
    early = known[stages[known] < exhibit.fast.plan_.n_stages]
    pool = early if len(early) > 1 else known
    return int(pool[np.argmin(stages[pool])]), int(pool[np.argmax(stages[pool])])


def draw_pixels(exhibit: Exhibit, material: Material) -> Figure:
    """Four images: order, easy row, hard row, share of rows."""
    X, side = material.X_count, material.side
    _, stages = exhibit.fast.stage_scores(X)
    costs = exhibit.fast.plan_.stage_costs[stages]
    easy, hard = pick_rows(exhibit, material, stages)
    mean = material.X_train[material.y_train == DIGIT].mean(axis=0)
    last = float(np.nanmax(order_map(exhibit)))
    norm = LogNorm(1, last + 1)
    figure = Figure(figsize=(PAGE_WIDTH, 2.55), layout="constrained")
    panels = figure.subplots(1, 4)
    for axes, title, image, stage in (
        (panels[0], f"Order of reading,\nover the mean {DIGIT}", mean, None),
        (panels[1], f"An easy {DIGIT}:\n{_read(costs[easy], side)}", X[easy], int(stages[easy])),
        (panels[2], f"A hard {DIGIT}:\n{_read(costs[hard], side)}", X[hard], int(stages[hard])),
    ):
        _boxed(axes, title)
        axes.imshow(image.reshape(side, side), cmap="Greys", vmin=0, vmax=1.5)
        squares = axes.add_collection(_squares(order_map(exhibit, stage), side, norm))
    _boxed(panels[3], f"All {grouped(len(X))} rows: mean\n{_read(costs.mean(), side)}")
    shares = panels[3].imshow(
        share_map(exhibit, stages).reshape(side, side), cmap=SHARE_COLOURS, norm=PowerNorm(0.5, 0, 1)
    )
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500) if t < 0.75 * last]
    bar = figure.colorbar(squares, ax=panels[:3].tolist(), location="bottom", aspect=50)
    bar.set_ticks([*ticks, last], labels=[grouped(t) for t in (*ticks, last)])
    bar.minorticks_off()
    bar.set_label("place in the order of reading (no square: not read)")
    bar = figure.colorbar(shares, ax=panels[3], location="bottom", aspect=15)
    bar.set_ticks([0, 0.1, 0.5, 1], labels=["0 %", "10 %", "50 %", "100 %"])
    bar.set_label("rows that read the pixel")
    return figure


def _squares(order: NDArray[np.float64], side: int, norm: Normalize) -> PatchCollection:
    """Squares within the pixels that are read, so that their own grey is still seen."""
    which = np.flatnonzero(~np.isnan(order))
    corners = [(i % side - 0.35, i // side - 0.35) for i in which]
    squares = PatchCollection([Rectangle(corner, 0.7, 0.7) for corner in corners], cmap=ORDER_COLOURS, norm=norm)
    squares.set_array(order[which])
    return squares


def _boxed(axes: Any, title: str) -> None:
    axes.set_title(title, loc="left")
    boxed(axes, GREY, 0.6)


def _read(cost: float, side: int) -> str:
    return f"{cost:.3g} of {side * side} pixels"
