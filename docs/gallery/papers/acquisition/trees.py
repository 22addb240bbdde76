"""Words of a sentence from top to bottom, arcs before on the left, arcs after on the right, in points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle
from matplotlib.path import Path
from numpy.typing import NDArray
from wald.displays._style import ORANGE

from .flow import Example, Ink, short, width

#: Points from a word to the square that is the root.
_STUB = 14.0


@dataclass
class Trees:
    """Positions of the words and arcs of a sentence."""

    example: Example
    ink: Ink
    room: float  # points from left to right

    def __post_init__(self) -> None:
        size = self.ink.size
        self.row = 1.75 * size
        self.words = [short(word) for word in self.example.words or ()]
        mark = width("0", 0.65 * size) + 2.0 if self.ink.numbers else 0.0
        self.box = max(width(word, size) for word in self.words) + 6.0 + 2 * mark
        self.reach = max((self.room - self.box) / 2 - 4.0, 20.0)

    @property
    def title_height(self) -> float:
        """Points of the title and the names of the two sides."""
        return self.ink.title_height(self.example.title, self.room) + 1.7 * self.ink.size

    @property
    def height(self) -> float:
        """Points from top to bottom."""
        return self.title_height + self.row * len(self.example) + 2.0

    def draw(self, ax: Any, **kwargs: Any) -> tuple[list[Any], list[Any]]:
        """Draw onto axes in points, from 0 downwards; outlines of the words, and arcs."""
        example, ink = self.example, self.ink
        assert example.heads is not None
        centre, top = self.room / 2, -self.title_height
        ink.write_title(ax, example.title, self.room)
        for side, name in ((-1, "before"), (1, "after")):
            x = centre + side * (self.box / 2 + 4.0)
            ha = "right" if side < 0 else "left"
            ax.text(x, top + 2.0, name, ha=ha, va="bottom", fontsize=0.85 * ink.size, color="#555555")
        rows: NDArray[np.float64] = top - self.row * (np.arange(len(example), dtype=np.float64) + 0.5)
        boxes = []
        for i, (word, y) in enumerate(zip(self.words, rows, strict=True)):
            done = int(example.round_of[i])
            corner = (centre - self.box / 2, y - 0.42 * self.row)
            box_style = {**ink.patch(done), **({} if done else {"edgecolor": "none"}), **kwargs}
            boxes.append(ax.add_patch(Rectangle(corner, self.box, 0.84 * self.row, zorder=2, **box_style)))
            ax.text(centre, y, word.replace("$", r"\$"), ha="center", va="center_baseline", fontsize=ink.size, zorder=4)
            if done and ink.numbers:
                right = centre + self.box / 2 - 1.5
                ax.text(right, y + 0.36 * self.row, str(done), ha="right", va="top", fontsize=0.65 * ink.size, zorder=4)
        arcs: list[Any] = []
        for side, heads in zip((-1, 1), example.heads, strict=True):
            arcs += self._arcs(ax, side, heads, rows, self._arc_styles(heads))
        return boxes, arcs

    def _arc_styles(self, heads: NDArray[np.int64]) -> list[dict[str, Any]]:
        """Wrong arcs stand out; where the truth is not known, those that changed."""
        example = self.example
        assert example.heads is not None
        rivals = example.heads[0] != example.heads[1] if example.truth is None else heads != example.truth
        wrong = {"color": ORANGE, "linewidth": 1.5, "zorder": 3}
        plain = {"color": "#555555", "linewidth": 0.7, "zorder": 2}
        return [wrong if out else plain for out in rivals]

    def _arcs(
        self, ax: Any, side: int, heads: NDArray[np.int64], rows: NDArray[np.float64], styles: list[dict[str, Any]]
    ) -> list[Any]:
        """Half ellipses from heads to words; a short bar for the word that hangs on the root."""
        start = self.room / 2 + side * (self.box / 2 + 2.0)
        longest = max([abs(head - 1 - i) for i, head in enumerate(heads) if head > 0], default=1)
        drawn = []
        for i, head in enumerate(heads.tolist()):
            head_y = rows[head - 1] if head > 0 else rows[i]
            if head > 0:
                depth = side * self.reach * 0.88 * (0.08 + 0.92 * (abs(head - 1 - i) / longest) ** 0.6)
                shift = 0.16 * self.row * np.sign(head - 1 - i)  # arrows come in on the side of their heads
                end = rows[i] - shift
                bend = start + depth * 4 / 3
                path = Path(
                    [(start, head_y + shift), (bend, head_y + shift), (bend, end), (start, end)],
                    [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4],
                )
            else:
                path = Path([(start + side * _STUB, rows[i]), (start, rows[i])])
            arrow = FancyArrowPatch(path=path, arrowstyle="-|>", mutation_scale=5, shrinkA=0, shrinkB=0, **styles[i])
            drawn.append(ax.add_patch(arrow))
            if head <= 0:
                ax.plot([start + side * _STUB], [rows[i]], "s", color=styles[i]["color"], markersize=3, zorder=3)
        return drawn
