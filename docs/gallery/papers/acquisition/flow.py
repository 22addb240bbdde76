"""Parts of an example drawn one behind the other, as letters of a word or words of a sentence, in points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import TextPath
from numpy.typing import NDArray
from wald.displays._style import BLACK, ORANGE

#: Points between parts, and between lines of parts.
_GAP, _LINE_GAP = 4.0, 7.0
#: Least and largest height of an image, in points.
_SMALLEST, _LARGEST = 22.0, 44.0
#: Words longer than this are cut.
_LONGEST = 18


@dataclass
class Example:
    """The drawn content of one example: words or images of its parts, rounds, and rows of answers.

    ``marked`` says, for each row of answers, which answers stand out.
    """

    words: Sequence[str] | None
    images: NDArray[np.float64] | None
    round_of: NDArray[np.int64]
    rows: list[tuple[str, list[str]]] = field(default_factory=list)
    marked: list[NDArray[np.bool_]] = field(default_factory=list)
    title: str | None = None
    heads: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    truth: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.round_of)


@dataclass(frozen=True)
class Ink:
    """Colours of rounds, and whether their numbers are written."""

    size: float
    n_rounds: int
    numbers: bool

    def of(self, done: int) -> Any:
        """Colour of a round."""
        return colormaps["viridis"](0.15 + 0.7 * (done - 1) / max(self.n_rounds - 1, 1))

    def patch(self, done: int) -> dict[str, Any]:
        """Style of a part that was bought in a round; of one that was not bought, for 0."""
        if not done:
            return {"facecolor": "none", "edgecolor": "#bbbbbb", "linewidth": 0.5}
        return {"facecolor": (*self.of(done)[:3], 0.3), "edgecolor": self.of(done), "linewidth": 1.3}

    def title_height(self, title: str | None, room: float) -> float:
        """Points that a title takes."""
        return 0.0 if title is None else (0.5 + 1.2 * len(_lines(title, self.size, room))) * self.size

    def write_title(self, ax: Any, title: str | None, room: float) -> None:
        """Write a title above everything else."""
        for i, line in enumerate([] if title is None else _lines(title, self.size, room)):
            ax.text(0.0, -(0.1 + 1.2 * i) * self.size, line, va="top", fontsize=self.size)


def _lines(text: str, size: float, room: float) -> list[str]:
    """Break a text between words where it would be too long."""
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and width(longer, size) > room:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines


@cache
def width(text: str, size: float, weight: str = "normal") -> float:
    """Points that a text takes."""
    if not text.strip():
        return 0.0
    return float(
        TextPath((0, 0), text.replace("$", r"\$"), size=size, prop=FontProperties(weight=weight)).get_extents().width
    )


def short(word: str) -> str:
    """Cut a word that is too long to be drawn."""
    return word if len(word) <= _LONGEST else word[: _LONGEST - 1] + "…"


@dataclass
class Flow:
    """Positions of the parts of an example, in lines, each with its rows of answers below."""

    example: Example
    ink: Ink
    image_shape: tuple[int, int] | None
    room: float  # points from left to right

    def __post_init__(self) -> None:
        size, example = self.ink.size, self.example
        self.small = 0.85 * size
        self.row = 1.3 * self.small
        self.left = max((width(name, self.small) for name, _ in example.rows), default=0.0) + 6.0
        n, free = len(example), self.room - self.left - 2.0
        answers = np.zeros(n)
        for _, texts in example.rows:
            answers = np.maximum(answers, [width(text, self.small, "bold") for text in texts])
        if self.image_shape is not None:
            self.numbers_above = 1.1 * self.small if self.ink.numbers else 0.0
            ratio = self.image_shape[1] / self.image_shape[0]
            self.head = float(np.clip((free / n - _GAP) / ratio, _SMALLEST, _LARGEST))
            widths = np.maximum(self.head * ratio, answers)
        else:
            self.numbers_above, self.head = 0.0, 1.6 * size
            self.words = [short(word) for word in example.words or ()]
            mark = width("0", 0.65 * size) + 2.0 if self.ink.numbers else 0.0
            widths = np.maximum([width(word, size) + 6.0 + mark for word in self.words], answers)
        self.widths = np.minimum(widths, free)
        self.lines: list[list[int]] = [[]]
        used = 0.0
        for i, wide in enumerate(self.widths):
            if self.lines[-1] and used + wide > free:
                self.lines.append([])
                used = 0.0
            self.lines[-1].append(i)
            used += wide + _GAP

    @property
    def title_height(self) -> float:
        """Points of the title."""
        return self.ink.title_height(self.example.title, self.room)

    @property
    def line_height(self) -> float:
        """Points from one line of parts to the next."""
        return self.numbers_above + self.head + 1.5 + self.row * len(self.example.rows) + _LINE_GAP

    @property
    def height(self) -> float:
        """Points from top to bottom."""
        return self.title_height + self.line_height * len(self.lines) - _LINE_GAP

    def draw(self, ax: Any, shades: tuple[float, float], **kwargs: Any) -> tuple[list[Any], list[Any]]:
        """Draw onto axes in points, from 0 downwards; outlines of the parts, and images."""
        example, ink = self.example, self.ink
        boxes: list[Any] = []
        images: list[Any] = []
        ink.write_title(ax, example.title, self.room)
        top = -self.title_height
        for line in self.lines:
            x, head = self.left, top - self.numbers_above
            below = head - self.head - 1.5
            for i in line:
                wide, done = self.widths[i], int(example.round_of[i])
                middle = x + wide / 2
                if self.image_shape is not None:
                    half = self.head * self.image_shape[1] / self.image_shape[0] / 2
                    corner, size = (middle - half, head - self.head), (2 * half, self.head)
                    images.append(self._image(ax, i, corner, size, done, shades))
                    box_style = {**ink.patch(done), "facecolor": "none", "linewidth": 1.6 if done else 0.5}
                else:
                    corner, size = (x, head - self.head), (wide, self.head)
                    box_style = ink.patch(done)
                boxes.append(ax.add_patch(Rectangle(corner, *size, zorder=3 if done else 2, **{**box_style, **kwargs})))
                self._words(ax, i, x, wide, head)
                for r, (_, texts) in enumerate(example.rows):
                    stands_out = bool(example.marked[r][i])
                    ax.text(
                        middle,
                        below - r * self.row,
                        texts[i].replace("$", r"\$"),
                        ha="center",
                        va="top",
                        fontsize=self.small,
                        color=ORANGE if stands_out else BLACK,
                        fontweight="bold" if stands_out else "normal",
                    )
                x += wide + _GAP
            for r, (name, _) in enumerate(example.rows):
                ax.text(0.0, below - r * self.row, name, va="top", fontsize=self.small, color="#555555")
            top -= self.line_height
        return boxes, images

    def _words(self, ax: Any, i: int, x: float, wide: float, head: float) -> None:
        """Write the word of a part, or the number of its round above its image."""
        ink, done = self.ink, int(self.example.round_of[i])
        if self.image_shape is not None:
            if done and ink.numbers:
                ax.text(x + wide / 2, head + 0.8, str(done), ha="center", va="bottom", fontsize=0.8 * self.small)
            return
        numbered = done and ink.numbers
        reserved = width("0", 0.65 * ink.size) + 2.0 if ink.numbers else 0.0
        word = self.words[i].replace("$", r"\$")
        middle = x + (wide - (reserved if numbered else 0.0)) / 2
        ax.text(middle, head - 0.5 * self.head, word, ha="center", va="center_baseline", fontsize=ink.size)
        if numbered:
            ax.text(x + wide - 1.5, head - 1.0, str(done), ha="right", va="top", fontsize=0.65 * ink.size)

    def _image(self, ax: Any, i: int, corner: Any, size: Any, done: int, shades: tuple[float, float]) -> Any:
        assert self.example.images is not None
        assert self.image_shape is not None
        light = "#ffffff" if not done else tuple(1 - 0.25 * (1 - v) for v in self.ink.of(done)[:3])
        dark = BLACK if done else "#8a8a8a"
        return ax.imshow(
            np.asarray(self.example.images[i]).reshape(self.image_shape),
            cmap=LinearSegmentedColormap.from_list("part", [light, dark]),
            vmin=shades[0],
            vmax=shades[1],
            extent=(corner[0], corner[0] + size[0], corner[1], corner[1] + size[1]),
            aspect="auto",
            zorder=1,
        )
