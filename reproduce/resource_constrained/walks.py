"""Pictures of one word and one sentence, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .._style import BLACK, BLUE, GREY, ORANGE, PAGE_WIDTH
from .steps import Walk

_SHAPE = 16, 8


def draw_word(walk: Walk, letters: NDArray[Any]) -> Figure:
    """Letters, framed where their costly features were bought, above the answer of every step."""
    n = len(walk.truth)
    figure = Figure(figsize=(min(PAGE_WIDTH, 0.6 * n + 1.2), 1.05 * len(walk.steps)), layout="constrained")
    panels = figure.subplots(len(walk.steps), n, squeeze=False)
    for i, (row, step) in enumerate(zip(panels, walk.steps, strict=True)):
        for j, axes in enumerate(row):
            axes.imshow(walk.example[j].reshape(_SHAPE), cmap="gray_r", aspect="equal", interpolation="nearest")
            axes.set_xticks([])
            axes.set_yticks([])
            axes.grid(visible=False)
            for spine in axes.spines.values():
                spine.set(visible=bool(step.bought[j]), color=BLUE, linewidth=1.8)
            right = step.codes[j] == walk.truth[j]
            doubt = "" if np.isnan(step.doubt[j]) else f" {100 * step.doubt[j]:.0f} %"
            axes.set_xlabel(
                f"{letters[step.codes[j]]}{doubt}", fontsize=8, color=BLACK if right else ORANGE, labelpad=2
            )
        row[0].set_ylabel("pixels" if i == 0 else f"round {i}", fontsize=8)
    figure.suptitle(
        f"“{''.join(letters[walk.truth])}”: answers, wrong ones orange, and how likely they are wrong", fontsize=8
    )
    return figure


def draw_sentence(walk: Walk) -> Figure:
    """Arcs from heads to words, wrong ones orange; words with costly features bold."""
    n = len(walk.truth)
    figure = Figure(figsize=(PAGE_WIDTH, 1.75 * len(walk.steps)), layout="constrained")
    for i, step in enumerate(walk.steps):
        axes = figure.add_subplot(len(walk.steps), 1, i + 1)
        highest = 1.0
        for word, head in enumerate(step.codes, 1):
            right = head == walk.truth[word - 1]
            height = 0.5 * abs(int(head) - word) ** 0.7 + 0.3
            highest = max(highest, height)
            t = np.linspace(0, np.pi, 40)
            middle, radius = (word + head) / 2, abs(word - head) / 2
            axes.plot(
                middle - radius * np.cos(t),
                height * np.sin(t),
                color=GREY if right else ORANGE,
                linewidth=1 if right else 1.6,
                zorder=2 if right else 3,
            )
            axes.plot(word, 0.06, "v", color=GREY if right else ORANGE, markersize=3)
        for word, form in enumerate(("root", *walk.example.forms)):
            bought = word > 0 and bool(step.bought[word - 1])
            axes.text(
                word,
                -0.12,
                form,
                ha="right" if n > 9 else "center",
                va="top",
                rotation=35 if n > 9 else 0,
                rotation_mode="anchor",
                fontsize=7,
                fontweight="bold" if bought else "normal",
                color=BLUE if bought else BLACK,
            )
        wrong = int(np.count_nonzero(step.codes != walk.truth))
        share = f"{np.count_nonzero(step.bought)} of {n} words with costly features, {wrong} wrong"
        axes.set_title(("tags alone" if i == 0 else f"round {i}") + f": {share}", loc="left", fontsize=8)
        axes.set_xlim(-0.7, n + 0.7)
        axes.set_ylim(-0.9, highest + 0.1)
        axes.axis("off")
    return figure
