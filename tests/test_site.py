"""The built documentation site: links inside lead somewhere, and a new user's questions are answered.

`make docs` builds the site and runs these tests on it; elsewhere they are skipped.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import re
import runpy
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

ROOT = Path(__file__).parents[1]
SITE = Path(os.environ.get("WALD_SITE", "")).resolve()
QUESTION = re.compile(r"^\| (?P<question>.*\?) \| (?P<words>.*?) \| \[.*?\]\((?P<answer>\S+)\.md\) \|$", re.MULTILINE)
QUESTIONS = [match.groupdict() for match in QUESTION.finditer((ROOT / "docs" / "questions.md").read_text("utf-8"))]
#: Words that users of such libraries search for.
WORDS = ("FastAPI", "latency", "imbalance", "ColumnTransformer", "GridSearchCV", "drift", "ensembles", "ONNX")
#: The list of questions links to every answer, and the gallery's pages are generated; they are no way to an answer.
NO_WAY = {"questions.html", "genindex.html", "search.html"}

pytestmark = pytest.mark.skipif("WALD_SITE" not in os.environ, reason="needs the built site: make docs")


class Page(HTMLParser):
    """Links and anchors of a page, and the links in its text alone."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.in_text: list[str] = []
        self.anchors: set[str] = set()
        self.depth = 0  # of <article>
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.depth += tag == "article"
        self.anchors |= {value for name in ("id", "name") if (value := given.get(name))}
        for name in ("href", "src"):
            if (link := given.get(name)) and tag != "base":
                self.links.append(link)
                if self.depth and tag == "a":
                    self.in_text.append(link)

    def handle_endtag(self, tag):
        self.depth -= tag == "article"


def pages() -> list[Path]:
    """The pages of the site, without the templates that the theme keeps in its folder."""
    return [path for path in SITE.rglob("*.html") if path.relative_to(SITE).parts[0] != "_static"]


@functools.cache
def page(path: Path) -> Page:
    return Page(path)


def inside(link: str) -> bool:
    return not re.match(r"[a-z]+:|//", link)


def target(path: Path, link: str) -> tuple[Path, str]:
    """The file that a link leads to, and the anchor in it."""
    file, anchor = urldefrag(link)
    file = unquote(file.partition("?")[0])
    return (path.parent / file).resolve() if file else path, unquote(anchor)


def test_links_lead_somewhere():
    dead = []
    for path in pages():
        for link in filter(inside, page(path).links):
            file, anchor = target(path, link)
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or (anchor and file.suffix == ".html" and anchor not in page(file).anchors):
                dead.append(f"{path.relative_to(SITE)}: {link}")
    assert not dead


def test_nothing_is_loaded_from_elsewhere():
    loaded = re.compile(r'<(?:script|img|iframe)[^>]* src="(?:https?:)?//|<link[^>]* rel="stylesheet"[^>]* href="http')
    assert [path.name for path in pages() if loaded.search(path.read_text("utf-8"))] == []


def listed_classes() -> dict[str, type]:
    """The classes among the public names, by the name of their page."""
    reference = runpy.run_path(str(ROOT / "tools" / "reference.py"))
    found: dict[type, str] = {}
    for _, module, names in reference["SECTIONS"]:
        for name in names.split() or reference["_public"](module):
            thing = getattr(importlib.import_module(module), name)
            if inspect.isclass(thing):
                found[thing] = f"{module}.{name}"  # the page of a class that is listed twice has its last name
    return {name: thing for thing, name in found.items()}


def own_methods(thing: type) -> set[str]:
    """The public methods and properties that a class has from wald."""
    own = (part for part in thing.__mro__ if part.__module__.startswith("wald"))
    return {
        name
        for part in own
        for name, member in vars(part).items()
        if not name.startswith("_")
        and not re.fullmatch(r"set_\w+_request", name)
        and isinstance(member, (property, functools.cached_property, classmethod, staticmethod, type(own_methods)))
    }


def methods() -> list[str]:
    return [f"{name}.{method}" for name, thing in listed_classes().items() for method in sorted(own_methods(thing))]


def test_every_method_has_an_anchor():
    names = methods()
    assert "wald.EarlyExitClassifier.predict_one" in names
    pages = {name: SITE / "api" / "generated" / f"{name.rpartition('.')[0]}.html" for name in names}
    assert [name for name, path in pages.items() if not path.exists() or name not in page(path).anchors] == []


def test_a_search_finds_every_method():
    found = {
        f"{prefix}.{entry[-1]}" if prefix else entry[-1]
        for prefix, entries in index()["objects"].items()
        for entry in entries
    }
    assert [name for name in methods() if name not in found] == []


def article(path: Path) -> str:
    """The text of a page without what surrounds it."""
    text = path.read_text("utf-8")
    return text[text.find("<article") : text.find("</article")]


#: Pages of code whose subject has a picture, and those of the papers.
GUIDES = (
    *("quickstart", "early-exit", "promises", "trees", "watching", "attentive-learning", "structured", "budget"),
    *(f"guides/{name}" for name in ("costly-features", "one-row", "own", "pipelines", "rare-classes", "risk", "text")),
    *(f"papers/{name}" for name in ("attentive-perceptron", "focus-of-attention", "ladder", "resource-constrained")),
)


@pytest.mark.parametrize("name", GUIDES)
def test_a_guide_has_a_picture(name):
    assert "<img" in article(SITE / f"{name}.html")


@pytest.mark.parametrize("name", ["quickstart", "guides/risk", "guides/rare-classes", "trees", "watching"])
def test_what_code_prints_is_below_it(name):
    assert re.search(r'class="[^"]*\boutput\b[^"]*".*?<pre>', article(SITE / f"{name}.html"), re.DOTALL)


def test_certificates_are_shown():
    text = re.sub(r"<[^>]*>", "", article(SITE / "quickstart.html"))
    assert re.search(r"disagreement &lt;= 1 % with 95 % confidence: \d+ of 5 000 rows", text)


def test_no_page_warns_or_names_a_folder_of_its_builder():
    pages_with_code = [path for path in pages() if path.relative_to(SITE).parts[0] != "_modules"]
    texts = {path.relative_to(SITE).as_posix(): article(path) for path in pages_with_code}
    assert [name for name, text in texts.items() if str(ROOT) in text] == []
    assert [name for name, text in texts.items() if re.search(r"\.py:\d+: \w*Warning", text)] == []


def test_every_page_has_version_favicon_and_source():
    version = re.search(r'^version = "(.*?)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)[1]
    for path in [SITE / "index.html", SITE / "quickstart.html", SITE / "api" / "generated" / "wald.save.html"]:
        text = path.read_text("utf-8")
        assert f"wald {version}" in text
        assert re.search(r'<link rel="icon" href="[^"]*logo\.svg', text)
        source = re.search(r'href="([^"#]*_sources/[^"]*)"[^>]*>Source of this page', text)
        assert source
        assert target(path, source[1])[0].exists()


def test_papers_and_software_can_be_cited():
    text = re.sub(r"<[^>]*>", "", article(SITE / "citing.html"))
    assert re.findall(r"@(\w+)\{(\w+),", text) == [
        ("software", "wald"),
        ("article", "pelossof2012"),
        ("article", "pelossof2010"),
        ("article", "bolukbasi2016"),
    ]


def test_the_glossary_has_anchors():
    assert {"term-certificate", "term-risk", "term-stage"} <= page(SITE / "glossary.html").anchors


def test_pages_can_be_edited_where_the_repository_is_known(monkeypatch):
    pytest.importorskip("sphinx")
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "_ext"))
    citing = importlib.import_module("citing")
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)
    monkeypatch.delenv("WALD_REPOSITORY", raising=False)
    addresses = {}
    for address in ("", "https://forge.example/wald"):
        if address:
            monkeypatch.setenv("WALD_REPOSITORY", address)
        for name in ("trees", "contributing", "api/generated/wald.save"):
            context: dict[str, str] = {}
            citing.link(None, name, "page.html", context, None)
            addresses[bool(address), name] = context.get("edit_address")
    assert addresses == {
        (False, "trees"): None,
        (False, "contributing"): None,
        (False, "api/generated/wald.save"): None,
        (True, "trees"): "https://forge.example/wald/edit/main/docs/trees.md",
        (True, "contributing"): "https://forge.example/wald/edit/main/CONTRIBUTING.md",
        (True, "api/generated/wald.save"): None,
    }


def test_there_are_twenty_questions_and_more():
    assert len(QUESTIONS) >= 20


def followed(path: Path) -> set[Path]:
    """The pages that the text of a page links to."""
    found = {target(path, link)[0] for link in page(path).in_text if inside(link)}
    return {file for file in found if file.suffix == ".html" and file.name not in NO_WAY}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["words"])
def test_answers_are_within_two_clicks(question):
    once = followed(SITE / "index.html")
    twice = once.union(*map(followed, once))
    assert SITE / f"{question['answer']}.html" in twice


@functools.cache
def index() -> dict[str, object]:
    text = (SITE / "searchindex.js").read_text("utf-8")
    return json.loads(text.removeprefix("Search.setIndex(").rstrip().removesuffix(")"))


def found_by(words: str) -> set[str]:
    """The pages that the site's search finds for words."""
    from sphinx.search.en import SearchEnglish

    language = SearchEnglish({})
    pages: list[set[str]] = []
    for word in language.split(words):
        stem = language.stem(word.lower())
        if word.lower() in language.stopwords or len(word) < 3:
            continue
        listed = [index()[table].get(stem, []) for table in ("terms", "titleterms")]
        numbers = {n for entry in listed for n in ([entry] if isinstance(entry, int) else entry)}
        pages.append({index()["docnames"][n] for n in numbers})
    return set.intersection(*pages) if pages else set()


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question["words"])
def test_a_search_finds_the_answer(question):
    pytest.importorskip("sphinx")
    assert question["answer"] in found_by(question["words"])


@pytest.mark.parametrize("word", WORDS)
def test_words_lead_to_a_guide(word):
    pytest.importorskip("sphinx")
    assert found_by(word) - {"questions", "changes", "benchmarks"}
