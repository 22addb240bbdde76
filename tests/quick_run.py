"""Run a paper's experiment on little data, and return its files and its output."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest

import reproduce
from reproduce import _style


def run_quick(name: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run an experiment with two seeds into a new folder; return the folder and the output."""
    screen = io.StringIO()
    folder = tmp_path_factory.mktemp("findings") / "new"
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(screen):
        patch.setitem(_style._SETTINGS, "savefig.dpi", 40)
        page = reproduce.run(name, folder, quick=True, seeds=2)
    assert page == folder / "findings.md"
    return folder, screen.getvalue()


def records_of(folder: Path, table: str) -> list[dict[str, str]]:
    with (folder / f"{table}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def assert_numbers_are_finite(lines: list[dict[str, str]], *, words: set[str]) -> None:
    """Check that no line has surplus cells, and that every column outside ``words`` holds finite numbers."""
    for line in lines:
        assert None not in line
        assert all(np.isfinite(float(value)) for column, value in line.items() if column not in words)


def assert_page_is_complete(folder: Path, tables: Iterable[str], pictures: Iterable[str]) -> None:
    """Check that the page links to every table and picture, that the files exist, and that no figure is NaN."""
    page = (folder / "findings.md").read_text("utf-8")
    for name in (*(f"{table}.csv" for table in tables), *(f"{picture}.png" for picture in pictures)):
        assert f"({name})" in page
        assert (folder / name).is_file()
    assert "nan" not in page


def assert_drawn_twice(folder: Path, picture: str) -> None:
    assert (folder / f"{picture}.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / f"{picture}.svg").read_text("utf-8")
