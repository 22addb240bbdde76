"""Every ```python block of the documentation runs, links lead somewhere, and the list of public names is complete."""

from __future__ import annotations

import importlib
import re
import runpy
from copy import copy
from pathlib import Path

import pytest

families, terms = (importlib.import_module(f"wald.models.{name}") for name in ("families", "terms"))

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
    monkeypatch.chdir(tmp_path)  # what an example writes or registers does not stay
    for module in (families, terms):
        monkeypatch.setattr(module, "_FAMILIES", copy(module._FAMILIES))
    text = page.read_text("utf-8")
    names: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        exec(compile("\n" * line + block[1], str(page), "exec", dont_inherit=True), names)


def test_the_family_that_is_shown_is_the_one_that_is_tested():
    shown = BLOCK.search((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert shown[1] == (ROOT / "tests" / "models" / "quadratic.py").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    found = LINK.findall(page.read_text("utf-8"))
    lost = [link or path for link, path in found if not ((page.parent / link) if link else (ROOT / path)).exists()]
    assert not lost


def test_every_public_name_is_listed_as_it_is():
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert reference["missing"]() == []
    assert reference["PAGE"].read_text("utf-8") == reference["page"](), "run: make reference"
