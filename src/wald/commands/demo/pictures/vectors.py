"""Picture of the vectors with which the kernel machine compares a row first."""

from __future__ import annotations

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ....models import decompose
from ..material import DIGIT, Material
from ..measure import Exhibit
from .style import BLUE, GREY, ORANGE, PAGE_WIDTH, boxed, grouped

#: Number of terms that are shown.
N_SHOWN = 16

#: Landmarks are optimized without constraints: their negative pixels are orange.
_INK = LinearSegmentedColormap.from_list("ink", [ORANGE, "white", "black"])


def draw_vectors(exhibit: Exhibit, material: Material) -> Figure:
    """Draw the first terms of the plan, in its order."""
    plan, side = exhibit.fast.plan_, material.side
    terms = decompose(exhibit.model).terms
    vectors = exhibit.model.support_vectors_
    figure = Figure(figsize=(PAGE_WIDTH, 2.75), layout="constrained")
    panels = figure.subplots(2, N_SHOWN // 2)
    own = plan.terms < terms.n_terms
    # the first terms; if landmarks come first, one row of them and one row of support vectors
    places = np.arange(N_SHOWN) if own[0] else np.r_[: N_SHOWN // 2, np.flatnonzero(own)[: N_SHOWN // 2]]
    shown = plan.terms[places[places < len(plan.terms)]]
    for place, axes, term in zip(places + 1, panels.flat, shown, strict=False):
        if term < terms.n_terms:
            colour = BLUE if terms.coef[0, term] > 0 else ORANGE
            axes.imshow(vectors[term].reshape(side, side), cmap="Greys", vmin=0, vmax=1)
            boxed(axes, colour, 1.5)
        else:
            vector = plan.surrogates.vectors[term - terms.n_terms].reshape(side, side)
            largest = np.abs(vector).max()
            axes.imshow(vector, cmap=_INK, vmin=-largest, vmax=largest)
            boxed(axes, GREY, 0.6)
        axes.set_title(str(place), loc="left", pad=3)
    for axes in panels.flat[len(shown) :]:
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
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=4,
        handlelength=1.2,
        handleheight=1.0,
    )
    return figure
