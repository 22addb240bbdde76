"""Pages are well-formed, escaped, self-contained and small."""

from __future__ import annotations

import re
import time
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report.fitting import HOSTILE, Case, fitted
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import wald

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from wald.reporting.page import breakable, clean

NAMES = (
    *("kernel", "linear", "trees", "votes", "pipeline", "multiclass"),
    *("lossless", "measured", "positive", "classes", "texts", "columns"),
)
VOID = {"meta", "link"}


class Outline(HTMLParser):
    """Elements of a page in order, and its text; checks that each element is closed where it should be."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID and tag != "wbr":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.texts.append(data)

    def names(self) -> list[str]:
        return [name for name, _ in self.elements]


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_and_needs_nothing_else(cases: dict[str, Case], name: str) -> None:
    page = wald.report(*cases[name], timed=False)
    outline = Outline(page)
    assert page.startswith("<!doctype html>")
    assert outline.elements[0] == ("html", {"lang": "en"})
    names = outline.names()
    assert not {"script", "img", "iframe", "object", "embed", "base", "form"} & set(names)
    for one in ("title", "h1", "main", "nav", "header", "footer"):
        assert names.count(one) == 1
    for _, attributes in outline.elements:
        assert not [key for key in attributes if key.startswith("on") or key == "src"]
        assert re.match("#|data:", attributes.get("href") or "#")
    assert not re.search(r"https?:|//|url\((?!#)|@import", page.replace("</", "<"))
    assert len(page.encode()) < 2_000_000
    headings = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert all(after <= before + 1 for before, after in pairwise(headings))
    ids = [attributes["id"] for _, attributes in outline.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for name, attributes in outline.elements if name == "a"}
    assert links <= {f"#{each}" for each in ids}
    for name, attributes in outline.elements:
        assert name != "th" or attributes["scope"] in ("row", "col")
        assert name != "svg" or attributes.get("aria-hidden") == "true" or attributes["aria-label"]
    assert not re.search(r"\b(nan|inf|None)\b", " ".join(outline.texts))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [name for name in NAMES if name != "lossless"])
def test_a_page_says_the_certificate(cases: dict[str, Case], name: str) -> None:
    words = " ".join(Outline(wald.report(*cases[name], timed=False)).texts)
    assert str(cases[name].fast.certificate_) in words


def test_labels_and_names_are_escaped(cases: dict[str, Case]) -> None:
    page = wald.report(*cases["trees"], timed=False, title="<i>title</i>", source="<u>rows</u>.csv")
    outline = Outline(page)
    assert not {"script", "img", "i", "u"} & (set(outline.names()) - {"i"})
    words = "".join(outline.texts)
    for label in HOSTILE:
        assert str(label) in words
    assert '<b>"0"</b> & more' in words
    assert "<i>title</i>" in words
    assert "<u>rows</u>.csv" in words


def test_characters_that_no_page_may_hold_are_replaced(rows: tuple[Any, Any]) -> None:
    X, y = rows
    case = fitted(LogisticRegression(), X, np.array(["$\\frac{ \x01\u202e\ud800", '<"'])[y])
    page = wald.report(*case, timed=False, title="\ud800\x00\u202eTwoWords & <b>", source='"><script>')
    assert "<h1>\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}Two<wbr>Words &amp; &lt;b&gt;</h1>" in page
    assert "rows of &#34;&gt;&lt;script&gt;." in page
    assert not set("\x01\u202e\ud800") & set(page)
    assert "with the label" in page


def test_no_line_ends_within_a_number(cases: dict[str, Case]) -> None:
    page = wald.report(*cases["linear"], timed=False)
    assert "as in 12\N{NO-BREAK SPACE}345." in page
    prose = re.findall("<p>(?!<strong>).*?</p>", page, flags=re.S)
    assert prose
    assert [words for words in prose if re.search(r"\d [\d%×]", words)] == []


def test_markup_that_was_made_here_is_kept() -> None:
    assert clean(breakable("<SomeName>")) == "&lt;Some<wbr>Name&gt;"


@pytest.mark.one_in(3)
@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 10])
@pytest.mark.parametrize("name", NAMES)
def test_few_rows(cases: dict[str, Case], name: str, n: int) -> None:
    fast, X = cases[name]
    words = " ".join(Outline(wald.report(fast, X[:n], timed=False)).texts)
    assert ("on 1 row." if n == 1 else f"on {n} rows.") in words


@pytest.mark.filterwarnings("ignore:no early exit")
def test_a_model_without_a_certificate_says_what_is_missing(rows: tuple[Any, Any]) -> None:
    X, y = rows
    fast, unseen = fitted(LogisticRegression(), X, y, risk=1e-6)
    words = " ".join(Outline(wald.report(fast, unseen, timed=False)).texts)
    assert "No row leaves early." in words
    assert "There were too few rows for a promise" in words
    assert fast.certificate_.status == "too few rows"


def test_other_rows_contradict_the_promise(cases: dict[str, Case]) -> None:
    fast, X = cases["kernel"]
    differs = fast.predict(X) != fast.estimator_.predict(X)
    wrong = np.repeat(X[differs], 50, axis=0)
    assert "These rows contradict the promise." in wald.report(fast, wrong, timed=False)
    assert "These rows agree with the promise." in wald.report(fast, X, timed=False)


def test_a_void_certificate_is_said_first(cases: dict[str, Case]) -> None:
    import copy

    fast = copy.copy(cases["linear"].fast)
    fast.compiled_plan_ = fast.compiled_plan_.voided("made on training rows")
    page = wald.report(fast, cases["linear"].X, timed=False)
    assert "Do not rely on the promise.</b> void: made on training rows." in page


def test_a_file_holds_the_page(cases: dict[str, Case], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("older")
    page = wald.report(*cases["linear"], tmp_path / "page.html", timed=False)
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert page == wald.report(*cases["linear"], timed=False)


@pytest.mark.filterwarnings("ignore:The certificate's risk")
def test_many_classes_and_long_labels(rows: tuple[Any, Any]) -> None:
    X, _ = rows
    y = np.array([f"class {i} " + "x" * 500 for i in range(60)])[np.random.default_rng(0).integers(0, 60, len(X))]
    y[:60] = np.unique(y)[:60]
    fast, unseen = fitted(LogisticRegression(), X, y, risk=0.3)
    page = wald.report(fast, unseen, timed=False)
    assert "20 more classes have fewer rows." in page
    assert "x" * 300 not in page


@pytest.mark.long
def test_a_hundred_thousand_rows_take_five_seconds() -> None:
    X, y = make_classification(110_000, 20, n_informative=10, random_state=0)
    fast, _ = fitted(LogisticRegression(), X, y)
    start = time.perf_counter()
    page = wald.report(fast, X[10_000:])
    assert time.perf_counter() - start < 5
    assert len(page) < 2_000_000
