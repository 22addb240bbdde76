"""Figures, and the tables that show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
    unit : str
        "x" for a speed that is a multiple of the peer's.
    peer : str
        What the number is compared with; empty if with nothing.
    note : str
        How it was measured.
    """

    name: str
    value: float
    unit: str = ""
    peer: str = ""
    note: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """The figure as a row of the table."""
        gap = "" if self.unit in ("", "x") else " "
        return self.name, f"{_number(self.value)}{gap}{self.unit}", self.peer, self.note


HEAD = ("figure", "value", "peer", "how")


def text_table(figures: Sequence[Figure]) -> str:
    """A table for the terminal."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(figures: Sequence[Figure]) -> str:
    """A table for ``README.md``."""
    rows = [HEAD, ("---",) * len(HEAD), *(figure.cells() for figure in figures)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def rounded(value: float) -> float:
    """The value with the digits that tables show: four, or all before the decimal point."""
    return float(f"{value:.0f}") if abs(value) >= 1000 else float(f"{value:.4g}")


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.4g}"
