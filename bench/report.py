"""Figures and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    name : str
        Name of the measured quantity.
    value : float
    unit : str
        "x" for a ratio of speeds.
    peer : str
        Name of the peer that the number is compared with, or empty.
    note : str
        Conditions of the measurement.
    """

    name: str
    value: float
    unit: str = ""
    peer: str = ""
    note: str = ""

    def cells(self) -> tuple[str, str, str, str]:
        """Format the figure as a row of the table."""
        gap = "" if self.unit in ("", "x") else " "
        return self.name, f"{_number(self.value)}{gap}{self.unit}", self.peer, self.note


HEAD = ("figure", "value", "peer", "how")


def text_table(figures: Sequence[Figure]) -> str:
    """Format a table for the terminal."""
    rows = [HEAD, *(figure.cells() for figure in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(figures: Sequence[Figure]) -> str:
    """Format a table for ``README.md``."""
    rows = [HEAD, ("---",) * len(HEAD), *(figure.cells() for figure in figures)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def rounded(value: float) -> float:
    """Round to the digits that tables show: four, or all before the decimal point."""
    return float(f"{value:.0f}") if abs(value) >= 1000 else float(f"{value:.4g}")


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.4g}"
