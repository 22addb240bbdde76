"""Code blocks of the documentation run, links and named files exist, and the list of public names is complete."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
from copy import copy
from pathlib import Path
from types import ModuleType

import pytest

families, terms = (importlib.import_module(f"wald.models.{name}") for name in ("families", "terms"))

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)[^)]*\)")
#: A file or a folder in backticks; the folders above it may be left out.
PATH = re.compile(r"`([\w./-]+/[\w./-]*|[\w.-]+\.(?:py|pyi|hpp|cpp|inl|c|sh|md|toml|json))`")
ELSEWHERE = {"mnist/"}  # a folder of the user's data
#: A block of code; the line before it may name the packages that it needs.
BLOCK = re.compile(r"(?:^<!-- needs ([\w ]+) -->\n)?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "bench" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TREE = [path for top in ("src", "cpp", "tests", "docs", "bench", "tools", "*.md", "*.toml") for path in ROOT.glob(top)]
TREE += [path for folder in TREE for path in folder.rglob("*")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def programs() -> list[Path]:
    """Pages with code; the blocks of a page share their names."""
    return [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", programs(), ids=name_of)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes or registers does not stay
    for module in (families, terms):
        monkeypatch.setattr(module, "_FAMILIES", copy(module._FAMILIES))
    text = page.read_text("utf-8")
    script = ModuleType("__main__")  # so that what it defines can be pickled
    monkeypatch.setitem(sys.modules, "__main__", script)
    for block in BLOCK.finditer(text):
        for package in (block[1] or "").split():
            pytest.importorskip(package)  # such blocks are the last of their page
        line = text.count("\n", 0, block.start(2))
        exec(compile("\n" * line + block[2], str(page), "exec", dont_inherit=True), script.__dict__)


def test_the_family_that_is_shown_is_the_one_that_is_tested():
    shown = BLOCK.search((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert shown[2] == (ROOT / "tests" / "models" / "quadratic.py").read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page):
    lost = [link for link in LINK.findall(page.read_text("utf-8")) if not (page.parent / link).exists()]
    assert not lost


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_named_files_exist(page):
    tree = "".join(f"/{name_of(path)}/\n" for path in TREE)
    lost = {path for path in PATH.findall(page.read_text("utf-8")) if f"/{path.rstrip('/')}/\n" not in tree}
    assert lost <= ELSEWHERE


def test_every_public_name_is_listed_as_it_is():
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    assert reference["missing"]() == []
    assert reference["PAGE"].read_text("utf-8") == reference["page"](), "run: make reference"
