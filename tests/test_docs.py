"""Every ```python block of the documentation runs, links lead somewhere, and the list of public names is complete."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SKETCHES = {"architecture.md"}  # signatures, not programs
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)|`((?:src|cpp|docs|bench|tests|tools)/[\w./-]*)`")
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "bench" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def programs() -> list[Path]:
    """Pages with code; the blocks of a page share their names."""
    return [page for page in PAGES if page.name not in SKETCHES and BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", programs(), ids=name_of)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes does not stay
    text = page.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    found = LINK.findall(page.read_text("utf-8"))
    lost = [link or path for link, path in found if not ((page.parent / link) if link else (ROOT / path)).exists()]
    assert not lost


def test_every_public_name_is_listed_as_it_is():
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert reference["missing"]() == []
    assert reference["PAGE"].read_text("utf-8") == reference["page"](), "run: make reference"
