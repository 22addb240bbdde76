"""Run an experiment on little data, and return its files and its output."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from wald import papers
from wald.papers import _style


def run_quick(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run an experiment with two seeds into a new folder; return the folder and the output."""
    rich_console = pytest.importorskip("rich.console")
    screen = io.StringIO()
    folder = tmp_path_factory.mktemp("findings") / "new"
    console = rich_console.Console(file=screen, force_terminal=True, width=100)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(_style._SETTINGS, "savefig.dpi", 40)
        page = papers.run(name, folder, quick=True, seeds=2, console=console)
    assert page == folder / "findings.md"
    return folder, screen.getvalue()


def records_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def assert_drawn_twice(folder: Path, picture: str) -> None:
    assert (folder / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / f"{picture}.svg").read_text("utf-8")
