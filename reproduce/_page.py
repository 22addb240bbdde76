"""The parts that all pages of findings share: a note on quick runs, the claims, the files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ._common import Claim, table

_QUICK = """
**This was a quick run: {less} and {seeds} seeds. It shows that everything runs; its figures are not to be quoted.**
"""


def quick_note(quick: bool, less: str, n_seeds: int) -> str:
    """The note that a quick run's figures are not to be quoted: what was reduced, and the number of seeds."""
    return _QUICK.format(less=less, seeds=n_seeds) if quick else ""


def claims_section(claims: Iterable[Claim]) -> str:
    """The paper's claims beside our figures, numbered."""
    lines = [(number, *claim) for number, claim in enumerate(claims, start=1)]
    return "## The paper's claims\n\n" + table(("", "the paper", "here", "verdict"), lines)


def files_section(files: Sequence[Path]) -> str:
    """Links to what the run wrote."""
    links = "\n".join(f"- [{path.name}]({path.name})" for path in files if path.suffix != ".svg")
    return f"## Files\n\n{links}\n\nEvery picture is there as SVG too.\n"


def write_page(folder: Path, parts: Sequence[str]) -> Path:
    """Write the page ``findings.md``, and return its path."""
    path = folder / "findings.md"
    path.write_text("\n".join(parts), encoding="utf-8")
    return path
