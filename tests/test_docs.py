"""Every ```python block of the documentation runs, after those before it; the list of public names is complete."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SKETCHES = {"architecture.md"}  # signatures, not programs
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    found = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [page for page in found if page.name not in SKETCHES and BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes does not stay
    text = page.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), names)


def test_every_public_name_is_listed_as_it_is():
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert reference["missing"]() == []
    assert reference["PAGE"].read_text("utf-8") == reference["page"](), "run: make reference"
