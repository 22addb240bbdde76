"""Code blocks of the documentation run, links and named files exist, and the list of public names is complete."""

from __future__ import annotations

import importlib
import re
import runpy
import sys
import tomllib
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
#: Pages whose code takes seconds: make check runs it, and make test does not.
SLOW = {
    f"docs/{name}.md"
    for name in (
        *("budget", "guides/any-model", "guides/extractors", "guides/file-types", "guides/neighbours-and-nets"),
        *("guides/pipelines", "guides/ranking", "guides/served-model", "guides/text", "guides/text-to-tree"),
        *("guides/thresholds", "guides/values", "guides/when-not", "structured", "trees", "watching"),
    )
}
#: A block of code; the line before it may name the packages that it needs. The site shows what it prints and draws.
BLOCK: re.Pattern[str] = runpy.run_path(str(ROOT / "docs" / "_ext" / "blocks.py"))["BLOCK"]
#: Any block between fences, and the language that it names; braces are directives of the site.
FENCED = re.compile(r"^```(?P<language>[\w-]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
CODE = {"python", "py", "sh", "json", "toml", "yaml"}
#: What a page shows at a width of 1 200 pixels.
WIDTH = 88
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "bench" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
TOPS = ("src", "cpp", "tests", "docs", "bench", "reproduce", "tools", "*.md", "*.toml")
TREE = [path for top in TOPS for path in ROOT.glob(top)]
TREE += [path for folder in TREE for path in folder.rglob("*")]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def programs() -> list[Path]:
    """Pages with code; the blocks of a page share their names."""
    return [page for page in PAGES if BLOCK.search(page.read_text("utf-8"))]


def test_slow_pages_are_pages_with_code():
    assert set(map(name_of, programs())) > SLOW


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.slow] * (name_of(page) in SLOW)) for page in programs()],
    ids=name_of,
)
def test_code_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # what an example writes or registers does not stay
    monkeypatch.setattr(families, "_REGISTERED", copy(families._REGISTERED))
    monkeypatch.setattr(terms, "_BY_NAME", copy(terms._BY_NAME))
    text = page.read_text("utf-8")
    script = ModuleType("__main__")  # so that what it defines can be pickled
    monkeypatch.setitem(sys.modules, "__main__", script)
    for block in BLOCK.finditer(text):
        for package in (block[1] or "").split():
            pytest.importorskip(package)  # such blocks are the last of their page
        line = text.count("\n", 0, block.start(2))
        exec(compile("\n" * line + block[2], str(page), "exec", dont_inherit=True), script.__dict__)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_lines_of_code_are_as_wide_as_a_page(page):
    blocks = [block for block in FENCED.finditer(page.read_text("utf-8")) if block["language"] in CODE]
    assert [line for block in blocks for line in block["text"].splitlines() if len(line) > WIDTH] == []


def test_the_figures_of_the_readme_are_those_measured():
    readme = runpy.run_path(str(ROOT / "tools" / "readme.py"))
    assert readme["PAGE"].read_text("utf-8") == readme["page"](), "run: make readme"
    assert {found["name"] for found in readme["BLOCK"].finditer(readme["page"]())} == set(readme["BLOCKS"])


def test_every_speed_in_the_readme_is_rendered():
    readme = runpy.run_path(str(ROOT / "tools" / "readme.py"))
    by_hand = readme["BLOCK"].sub("", readme["PAGE"].read_text("utf-8"))
    assert not re.findall(r"\b\d[\d ]*x\b|\b\d+ (?:ms|us|times)\b", by_hand)


def texts_on_installing() -> list[Path]:
    """Everything that may tell how to install wald."""
    return [*PAGES, *(ROOT / "src" / "wald").rglob("*.py"), *(ROOT / "docs" / "gallery").rglob("*.py")]


def test_nothing_says_that_wald_is_installed_by_name():
    named = re.compile(r"pip install [^\n`]*\bwald\b(?!['\"]?\.)(?!['\"]? in a checkout)(?=[\['\"`\s]|$)")
    found = [
        (name_of(path), match[0]) for path in texts_on_installing() for match in named.finditer(path.read_text("utf-8"))
    ]
    assert not [entry for entry in found if "in a checkout of wald" not in entry[1]]


def test_messages_and_pages_name_the_same_command():
    from wald.utils.install import install

    assert install("plot", "cli") == "pip install '.[plot,cli]' in a checkout of wald"
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    assert 'pip install ".[plot,cli]"' in page
    assert "from a checkout" in page


def test_the_page_on_installing_has_every_extra_for_users():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    for_developers = {"test", "dev", "docs", "bench"}
    page = (ROOT / "docs" / "install.md").read_text("utf-8")
    listed = {
        name for line in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`(\w+)`", line)
    }
    assert listed == set(project["optional-dependencies"]) - for_developers


def test_the_citation_has_the_version_and_the_papers():
    yaml = pytest.importorskip("yaml")
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert cited["version"] == project["version"]
    assert cited["license"] == project["license"]
    papers = {paper["title"]: paper for paper in cited["references"]}
    pages = [page for page in (ROOT / "docs" / "papers").glob("*.md") if page.stem not in ("index", "ladder")]
    assert len(papers) == len(pages) == 3
    for page in pages:
        text = page.read_text("utf-8")
        paper = papers[re.match("# (.*)", text)[1]]
        number = re.search(r"arXiv (\d+\.\d+)", text)
        assert [entry["value"] for entry in paper.get("identifiers", [])] == ([f"arXiv:{number[1]}"] if number else [])


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
