"""The pictures of the demo, with one file per picture; ``style`` holds their common style."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..material import Material
from ..measure import Exhibit
from .pixels import draw_pixels
from .style import written
from .tradeoff import draw_tradeoff
from .vectors import draw_vectors


def draw(exhibits: Sequence[Exhibit], material: Material, output: Path) -> list[Path]:
    """Draw everything into the folder ``output`` and return the paths."""
    binary = [e for e in exhibits if e.task.binary]
    kernel = next(e for e in binary if e.task.unit == "support vectors")
    linear = next(e for e in binary if e.task.unit == "pixels")
    return [
        written(output / "cost-against-disagreement.png", lambda: draw_tradeoff(binary, material)),
        written(output / "pixels-read.png", lambda: draw_pixels(linear, material)),
        written(output / "first-support-vectors.png", lambda: draw_vectors(kernel, material)),
    ]
