"""The built documentation site: links inside lead somewhere, and a new user's questions are answered.

`make docs` builds the site and runs these tests on it; elsewhere they are skipped.
"""

from __future__ import annotations

import functools
import json
import os
import re
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


def test_there_are_twenty_questions():
    assert len(QUESTIONS) == 20


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
