"""`explain` of texts: tokens of unions by the names of their parts, and the text in pieces with what each said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import FeatureUnion, make_pipeline

from wald import EarlyExitClassifier, Planner, load, save
from wald.early_exit.compiled.parts import Order

POSTS = ["The café opened late.", "A great evening, thanks!", "Broken again, the thing"] * 20
KINDS = [0, 1, 2] * 20
TEXTS = [
    *("", " \t ", "Thanks for the great,  great evening; \t the great café"),
    *("\u0130stanbul \u039f\u0394\u039f\u03a3 \u00bd great\u2122 cafe\u0301 the", "a\n\nb  c great", " x "),
]


def words_and_characters() -> Any:
    characters = make_pipeline(CountVectorizer(analyzer="char_wb", ngram_range=(2, 3)), TfidfTransformer())
    parts = [("words", TfidfVectorizer()), ("none", "drop"), ("chars", characters)]
    return FeatureUnion(parts, transformer_weights={"words": 0.5, "chars": 2})


STEPS = {
    "pairs": lambda: TfidfVectorizer(ngram_range=(1, 2)),
    "stop words": lambda: TfidfVectorizer(strip_accents="ascii", stop_words=["the"]),
    "slices": lambda: CountVectorizer(analyzer="char", ngram_range=(2, 3)),
    "slices of words": lambda: CountVectorizer(analyzer="char_wb", ngram_range=(2, 5), strip_accents="unicode"),
    "hashed": lambda: HashingVectorizer(n_features=7),
    "union": words_and_characters,
    "union of components": lambda: FeatureUnion(
        [
            ("words", make_pipeline(TfidfVectorizer(), TruncatedSVD(3, random_state=0))),
            ("hashed", HashingVectorizer(n_features=9)),
        ],
        transformer_weights={"words": 0.5, "hashed": 2},
    ),
}


def exact(steps: Any) -> tuple[Any, EarlyExitClassifier]:
    model = make_pipeline(steps, LogisticRegression(C=10)).fit(POSTS, KINDS)
    return model, EarlyExitClassifier(model, risk=0).fit()


@pytest.mark.parametrize("name", STEPS)
def test_parts_and_pieces_of_a_text_add_up_to_the_score(name: str) -> None:
    model, fast = exact(STEPS[name]())
    for text in TEXTS:
        found = fast.explain(text)
        own = model.decision_function([text])[0]
        np.testing.assert_allclose(found.intercept + sum(part.adds for part in found.parts), own, atol=1e-9)
        assert "".join(piece.text for piece in found.passages) == text
        said = sum((piece.adds for piece in found.passages if piece.adds is not None), np.zeros(3))
        blank = sum((part.adds for part in found.parts if not part.name.strip()), np.zeros(3))
        np.testing.assert_allclose(found.intercept + said + blank, own, atol=1e-9)


def test_tokens_of_a_union_have_the_names_of_its_parts() -> None:
    model, fast = exact(words_and_characters())
    found = fast.explain("Great, great café")
    names = {f"{name.partition('__')[0]}: {name.partition('__')[2]}" for name in model[0].get_feature_names_out()}
    assert {part.name for part in found.parts} <= names
    assert found.parts[0].title == "words: 'great', 2 times"
    assert {"words: café", "chars: gr", "chars: fé "} <= {part.name for part in found.parts}
    row, columns = model[0].transform(["Great, great café"]), model[0].get_feature_names_out().tolist()
    for part in found.parts:
        column = columns.index(part.name.replace(": ", "__", 1))
        np.testing.assert_allclose(part.adds, row[0, column] * model[1].coef_[:, column])


def test_a_file_explains_the_tokens_of_a_union(tmp_path: Path) -> None:
    _, fast = exact(words_and_characters())
    save(fast, tmp_path / "union.wald")
    same = load(tmp_path / "union.wald").explain(TEXTS[2])
    assert [part.title for part in same.parts] == [part.title for part in fast.explain(TEXTS[2]).parts]


def test_a_word_says_its_share_of_what_its_tokens_say() -> None:
    _, fast = exact(TfidfVectorizer(ngram_range=(1, 2)))
    found = fast.explain("great thanks great")
    adds = {part.name: part.adds for part in found.parts}
    assert set(adds) == {"great", "thanks"}  # no pair is known
    first, thanks, second = (piece.adds for piece in found.passages if piece.text != " ")
    np.testing.assert_allclose(first, adds["great"] / 2)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_allclose(thanks, adds["thanks"])
    pair = fast.explain("great evening")
    adds = {part.name: part.adds for part in pair.parts}
    np.testing.assert_allclose(pair.passages[0].adds, adds["great"] + adds["great evening"] * 5 / 12)


def test_what_is_between_words_and_unknown_words_say_nothing() -> None:
    _, fast = exact(TfidfVectorizer(stop_words=["the"]))
    pieces = fast.explain("The GREAT, unheard-of evening!").passages
    assert [piece.text for piece in pieces if piece.adds is not None] == ["GREAT", "evening"]
    assert [piece.text for piece in pieces][:4] == ["The", " ", "GREAT", ", "]


def test_vectorizers_that_read_letters_differently_share_the_text() -> None:
    _, fast = exact(FeatureUnion([("a", TfidfVectorizer()), ("b", TfidfVectorizer(strip_accents="ascii"))]))
    assert "".join(piece.text for piece in fast.explain("café").passages) == "café"  # the same characters all the same


def reviews(n: int) -> tuple[list[str], Any]:
    rng = np.random.default_rng(0)
    telling = [["refund", "broken", "zürich", "angry"], ["thanks", "great", "love", "perfect"]]
    kinds = rng.integers(2, size=n)

    def review(kind: int) -> str:
        words = rng.choice([f"word{i}" for i in range(100)], rng.integers(5, 120))
        return " ".join(np.where(rng.random(len(words)) < 0.15, rng.choice(telling[kind], len(words)), words))

    return [review(kind) for kind in kinds], kinds


@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_pieces_are_read_to_where_the_text_was_read(ngram_range: tuple[int, int]) -> None:
    texts, kinds = reviews(2000)
    model = make_pipeline(TfidfVectorizer(ngram_range=ngram_range), LogisticRegression(C=10))
    model.fit(texts[:600], kinds[:600])
    fast = EarlyExitClassifier(model, risk=0.05, planner=Planner(cost="units"), random_state=0).fit(texts[600:1900])
    _, costs = fast.predict(texts[1900:], return_cost=True)
    assert fast.compiled_plan_.model.terms.unit_name == "characters"
    n_early, model = 0, fast.compiled_plan_.model
    spread = getattr(Order.of(fast.plan_, model.terms), "block", 0)
    for text, cost in zip(texts[1900:1950], costs, strict=False):
        found = fast.explain(text)
        read = "".join(piece.text for piece in found.passages if piece.stage <= found.trace.stage)
        n_early += len(read) < len(text)
        assert len(read) > 0
        assert found.trace.cost == cost
        if spread:
            continue
        assert text.startswith(read)
        assert len(read) <= cost
        following = text[len(read) :].split()
        assert not following or len(f"{read} {following[0]}".encode()) > cost or len(read) == len(text)
    assert n_early > 10
