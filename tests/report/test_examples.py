"""Examples of a page: what was read of some rows, what it said, and the words of texts that decided."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

import numpy as np
import pytest
from report.conftest import reviews
from report.fitting import Case, fitted
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline

import wald

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from markupsafe import escape

from wald.reporting.examples import LONGEST_TEXT, MOST_BEHIND, MOST_CHARACTERS, MOST_PARTS
from wald.reporting.gather import gather


def facts_of(case: Case) -> Any:
    return gather(case.fast, case.X, source=None, timed=False, caller="test")


def row_of(X: Any, row: int) -> Any:
    return X.iloc[[row]] if hasattr(X, "iloc") else X[row]


def shown_texts(page: str) -> list[str]:
    found = re.findall("<blockquote[^>]*>(.*?)</blockquote>", page, flags=re.S)
    return [unescape(re.sub("<[^>]+>", "", re.sub("<b>Not read:</b> ", "", each))) for each in found]


@pytest.mark.parametrize("name", ["texts", "columns", "linear", "pipeline"])
def test_examples_are_explanations(cases: dict[str, Case], name: str) -> None:
    fast, X = cases[name]
    examples = facts_of(cases[name]).examples
    kind = "text" if name == "texts" else "row"
    assert [each.title for each in examples] == [f"A {kind} that is {how}" for how in ("easy", "typical", "hard")]
    for each in examples:
        found = fast.explain(row_of(X, each.row))
        towards = 1.0 if found.label == fast.classes_[1] else -1.0
        assert each.headline == found.headline
        names = [line.name for line in each.lines]
        read = [line for line in each.lines if line.name in {part.title for part in found.read}]
        assert 0 < len(read) == min(MOST_PARTS, len(found.read))
        said = {part.title: part for part in found.parts}
        for line in read:
            assert line.adds[0] == pytest.approx(towards * said[line.name].adds[0])
            assert line.stage == str(said[line.name].stage + 1) or said[line.name].stage == fast.plan_.n_stages
            assert abs(line.share) <= 1
            assert line.share * line.adds[0] >= 0
        centre = fast.compiled_plan_.model.decision.centre
        assert sum(line.adds[0] for line in each.lines[:-1]) == pytest.approx(each.lines[-1].adds[0])
        assert each.lines[-1].adds[0] == pytest.approx(towards * (found.scores[0] - centre))
        assert any(words.startswith("not read:") for words in names) == bool(found.unread)
        assert each.same == (str(found.label) == each.full_label)


def test_words_are_marked_by_what_they_say_for_the_answer(cases: dict[str, Case]) -> None:
    fast, X = cases["texts"]
    telling = {0: {"refund", "broken", "late"}, 1: {"thanks", "great", "love"}}
    n_marked = 0
    for each in facts_of(cases["texts"]).examples:
        found = fast.explain(X[each.row])
        for piece in each.pieces:
            strong = piece.text in telling[0] | telling[1]
            assert not piece.strength or piece.is_read
            if strong and piece.strength:
                assert piece.is_for == (piece.text in telling[int(found.label)])
                n_marked += piece.strength == 3
        read = "".join(piece.text for piece in each.pieces if piece.is_read)
        of_all = "".join(piece.text for piece in found.passages if piece.stage <= found.trace.stage)
        assert of_all.startswith(read.removesuffix("\N{HORIZONTAL ELLIPSIS}"))
    assert n_marked > 2


def test_a_page_shows_the_text_as_it_is(cases: dict[str, Case]) -> None:
    fast, X = cases["texts"]
    page = wald.report(fast, X, timed=False)
    texts = shown_texts(page)
    examples = facts_of(cases["texts"]).examples
    assert len(texts) == 3
    for text, each in zip(texts, examples, strict=True):
        whole = X[each.row]
        assert text == whole or whole.startswith(text.removesuffix("\N{HORIZONTAL ELLIPSIS}"))
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert 'class="for s3"' in page
    assert "<b>Not read:</b>" in page


def test_long_texts_are_cut_with_a_note(cases: dict[str, Case]) -> None:
    fast = cases["texts"].fast
    long = [f"{'word1 ' * 3}{'love ' * 10}{'word2 ' * 900}", "word3 " * 900, "x" * (LONGEST_TEXT + 1)]
    examples = {each.row: each for each in facts_of(Case(fast, long)).examples}
    assert 2 not in examples  # the page stays small
    early = examples[0]
    assert fast.explain(long[0]).trace.stage < fast.plan_.n_stages
    unread = "".join(piece.text for piece in early.pieces if not piece.is_read)
    assert len(unread.replace("\N{HORIZONTAL ELLIPSIS}", "")) == MOST_BEHIND
    assert "\N{HORIZONTAL ELLIPSIS}" in unread
    shown = sum(len(piece.text.replace("\N{HORIZONTAL ELLIPSIS}", "")) for piece in early.pieces)
    assert early.note == f"{len(long[0]) - shown:,}".replace(",", " ") + (
        " more characters, which were not read, are not shown."
    )
    assert "more characters" in wald.report(fast, long, timed=False)
    assert all(sum(len(piece.text) for piece in each.pieces) <= MOST_CHARACTERS + 1 for each in examples.values())


def test_exact_models_have_an_example_of_each_answer() -> None:
    texts, kinds = reviews(1200)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 3))
    names = np.array(["bad", "fair", "good"])[kinds + (np.arange(1200) % 5 == 0)]
    model = make_pipeline(FeatureUnion([("words", TfidfVectorizer()), ("chars", characters)]), LogisticRegression(C=10))
    fast = wald.EarlyExitClassifier(model.fit(texts[:1000], names[:1000]), risk=0).fit()
    examples = facts_of(Case(fast, texts[1000:])).examples
    labels = fast.predict(texts[1000:])
    assert {each.title for each in examples} == {f"A text with the answer {label}" for label in np.unique(labels)}
    for each in examples:
        assert labels[each.row] in each.title
        assert each.directions[0] == f"to {labels[each.row]}"
        assert len(each.lines[0].adds) == 2
        assert {"words", "chars"} >= {line.name.partition(":")[0] for line in each.lines if ": " in line.name}
        assert all(piece.is_read for piece in each.pieces)
        assert not each.unread


def test_the_page_lists_raw_columns_in_the_order_of_reading(cases: dict[str, Case]) -> None:
    fast, X = cases["columns"]
    facts = facts_of(cases["columns"])
    order = [part.name for part in fast.explain(X[:1]).parts]
    assert [name for names in facts.reads for name in names] == order
    page = wald.report(fast, X, timed=False)
    found = re.search("Columns in the order of reading.*?<tbody>(.*?)</tbody>", page, flags=re.S)
    assert found
    named = [unescape(name) for name in re.findall("<th[^>]*>(.*?)</th>", found[1])]
    assert named == order
    for each in facts.examples:  # whose names and values are escaped
        assert all(str(escape(line.name)) in page for line in each.lines)
    assert "&lt;b&gt;" in page
    assert "<b>&#34;" not in page


@pytest.mark.parametrize("name", ["kernel", "trees"])
def test_parts_without_names_have_no_examples(cases: dict[str, Case], name: str) -> None:
    assert facts_of(cases[name]).examples == []
    page = wald.report(*cases[name], timed=False)
    assert "What was read, and what it said" not in page
    assert "Columns in the order of reading" not in page


def test_a_threshold_counts_in_what_lines_sum_up_to() -> None:
    from sklearn.model_selection import FixedThresholdClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(3200, 5))
    y = X @ [3.0, 2, 1, 0.5, 0] > 1
    case = fitted(FixedThresholdClassifier(LogisticRegression(), threshold=0.9), X, y)
    for each in facts_of(case).examples:
        assert each.same == (each.lines[-1].adds[0] > 0)
