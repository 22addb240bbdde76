"""The pixels that the linear model reads: their order, an easy row, a hard row, and how often each is read."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ....displays import AttentionMapDisplay
from ....displays._pixels import easy_and_hard, places
from ..material import DIGIT, Material
from ..measure import Exhibit
from .style import PAGE_WIDTH, boxed, grouped

#: A colour map from light to dark, for colour-blind readers, too.
SHARE_COLOURS = "Blues"


def share_map(exhibit: Exhibit, stages: NDArray[np.int32]) -> NDArray[np.float64]:
    """Share of rows that read each pixel, given the stages at which the rows leave."""
    n_pixels = exhibit.fast.n_features_in_
    shares = np.zeros(n_pixels)
    for stage, count in zip(*np.unique(stages, return_counts=True), strict=True):
        shares[~np.isnan(places(exhibit.fast.plan_, n_pixels, int(stage)))] += count / len(stages)
    return shares


def pick_rows(exhibit: Exhibit, material: Material, stages: NDArray[np.int32]) -> tuple[int, int]:
    """Row numbers of an easy and of a hard image of the digit, both recognized by the full model."""
    known = exhibit.full.astype(bool) & (material.y_count == DIGIT)
    return easy_and_hard(stages, known, exhibit.fast.plan_.n_stages)


def draw_pixels(exhibit: Exhibit, material: Material) -> Figure:
    """Four images: order, easy row, hard row, share of rows."""
    X, side, plan = material.X_count, material.side, exhibit.fast.plan_
    n_pixels = side * side
    _, stages = exhibit.fast.stage_scores(X)
    costs = plan.stage_costs[stages]
    easy, hard = pick_rows(exhibit, material, stages)
    mean = material.X_train[material.y_train == DIGIT].mean(axis=0)
    figure = Figure(figsize=(PAGE_WIDTH, 2.55), layout="constrained")
    panels = figure.subplots(1, 4)
    AttentionMapDisplay(
        images=[mean, X[easy], X[hard]],
        # the last stage first; pixels that no stage reads stay blank
        seen=[places(plan, n_pixels, stage) for stage in (plan.n_stages - 1, int(stages[easy]), int(stages[hard]))],
        image_shape=(side, side),
        titles=[
            f"Order of looking,\nover the mean {DIGIT}",
            f"An easy {DIGIT}:\n{_read(costs[easy], n_pixels)}",
            f"A hard {DIGIT}:\n{_read(costs[hard], n_pixels)}",
        ],
    ).plot(panels[:3])
    panels[3].set_title(f"All {grouped(len(X))} rows: mean\n{_read(costs.mean(), n_pixels)}", loc="left", fontsize=8)
    boxed(panels[3])
    shares = panels[3].imshow(
        share_map(exhibit, stages).reshape(side, side), cmap=SHARE_COLOURS, norm=PowerNorm(0.5, 0, 1)
    )
    bar = figure.colorbar(shares, ax=panels[3], location="bottom", aspect=13, pad=0.03)
    bar.set_ticks([0, 0.1, 0.5, 1], labels=["0 %", "10 %", "50 %", "100 %"])
    bar.set_label("rows that look at the pixel")
    return figure


def _read(cost: float, n_pixels: int) -> str:
    return f"{grouped(cost)} of {n_pixels} pixels"
