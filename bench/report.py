"""Figures, the table that shows them, and the results in ``README.md``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

README = Path(__file__).with_name("README.md")


@dataclass(frozen=True)
class Figure:
    """One measured number, and what was asked of it."""

    what: str
    measured: float
    unit: str = ""
    at_least: float | None = None
    at_most: float | None = None
    note: str = ""

    @property
    def asked(self) -> str:
        """What was asked for, in words."""
        if self.at_least is not None:
            return f"at least {_number(self.at_least)}{self.unit}"
        if self.at_most is not None:
            return f"at most {_number(self.at_most)}{self.unit}"
        return ""

    @property
    def verdict(self) -> str:
        """Whether it was reached; empty where nothing was asked."""
        if self.at_least is not None:
            return "yes" if self.measured >= self.at_least else "NO"
        if self.at_most is not None:
            return "yes" if self.measured <= self.at_most else "NO"
        return ""

    def cells(self) -> tuple[str, str, str, str, str]:
        """The figure as a row of the table."""
        return self.what, self.asked, f"{_number(self.measured)}{self.unit}", self.verdict, self.note


HEAD = ("figure", "asked", "measured", "reached", "how")


def text_table(figures: Sequence[Figure]) -> str:
    """A table for the terminal."""
    rows = [HEAD, *(f.cells() for f in figures)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def markdown_table(figures: Sequence[Figure]) -> str:
    """A table for ``README.md``."""
    rows = [HEAD, ("---",) * len(HEAD), *(f.cells() for f in figures)]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def write(letter: str, content: str, readme: Path = README) -> None:
    """Replace the results of one setting in ``README.md``."""
    text = readme.read_text(encoding="utf-8")
    block = re.compile(rf"(<!-- results {letter} -->\n).*?(<!-- end -->)", re.DOTALL)
    if not block.search(text):
        raise ValueError(f"{readme} has no block <!-- results {letter} --> ... <!-- end -->.")
    readme.write_text(block.sub(lambda found: found[1] + content + "\n" + found[2], text), encoding="utf-8")


def _number(value: float) -> str:
    if value == 0:
        return "0"
    return f"{value:,.0f}".replace(",", " ") if abs(value) >= 1000 else f"{value:.3g}"
