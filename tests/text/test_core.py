"""The compiled core of texts against scikit-learn's vectorizers and linear models."""

from __future__ import annotations

import re
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from text.material import ANALYZERS, FORMS, WORDS, core, described, fitted, model, texts

from wald import _core


def same_scores(vectorizer: Any, documents: list[str], n_outputs: int, dtype: Any = np.float64) -> None:
    """Scores are scikit-learn's to the last bit where the core says so, and within the bounds elsewhere."""
    text, coef, intercept = core(vectorizer, n_outputs, dtype)
    scores, errors = text.scores(documents, 1)
    expected = vectorizer.transform(documents) @ coef.T + intercept
    assert not np.isnan(scores).any()
    if text.same_bits:
        assert_array_equal(scores, expected)
        assert_array_equal(errors, 0.0)
    else:
        assert (np.abs(scores - expected).max(axis=1) <= errors).all()
        assert errors.max() < 1e-3


@pytest.mark.parametrize("analyzer", ANALYZERS)
@pytest.mark.parametrize("form", ["counts", "hashing"])
def test_tokens_and_counts(analyzer: str, form: str) -> None:
    documents = texts(60)
    vectorizer = fitted(form, analyzer, documents[:40])
    text, *_ = core(vectorizer)
    analyze = vectorizer.build_analyzer()
    rows = vectorizer.set_params(**({"norm": None} if form == "hashing" else {})).transform(documents)
    for i, document in enumerate(documents):
        assert text.tokens(document) == analyze(document)
        columns, counts = text.counts(document)
        row = rows[[i]]
        assert_array_equal(columns, row.indices)
        assert_array_equal(counts, row.data)


@pytest.mark.parametrize("n_outputs", [1, 3, 20, 70])
@pytest.mark.parametrize("form", FORMS)
def test_scores(form: str, n_outputs: int) -> None:
    documents = texts(60)
    same_scores(fitted(form, "pairs", documents[:40]), documents, n_outputs)


@pytest.mark.parametrize("analyzer", ANALYZERS)
def test_scores_of_every_analyzer(analyzer: str) -> None:
    documents = texts(60)
    same_scores(fitted("tf-idf", analyzer, documents[:40]), documents, 2)


@pytest.mark.parametrize("n_outputs", [1, 5])
@pytest.mark.parametrize("coef_dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept_dtype", [np.float32, np.float64])
def test_float32_models(coef_dtype: Any, intercept_dtype: Any, n_outputs: int) -> None:
    documents = texts(60)
    vectorizer = fitted("float32", "words", documents[:40])
    coef, intercept = model(len(vectorizer.vocabulary_), n_outputs)
    coef, intercept = coef.astype(coef_dtype), intercept.astype(intercept_dtype)
    text = _core.Text(described(vectorizer, coef, intercept))
    expected = vectorizer.transform(documents) @ coef.T + intercept
    assert text.same_bits
    assert_array_equal(text.scores(documents)[0], expected)


def test_bounds_where_bits_are_not_known() -> None:
    documents = texts(60)
    for form in ("counts", "tf-idf", "sublinear, l1", "no norm", "float32"):
        vectorizer = fitted(form, "pairs", documents[:40])
        coef, intercept = model(len(vectorizer.vocabulary_), 3, np.float32)
        expected = vectorizer.transform(documents) @ coef.T + intercept
        given = coef.astype(np.float64), intercept.astype(np.float64)
        bound = np.abs(given[0]) * 3
        for more in {"coef_bound": bound}, {}:
            text = _core.Text(described(vectorizer, *given, **more))
            assert text.same_bits == (form != "float32" and not more)
            scores, errors = text.scores(documents)
            assert (np.abs(scores - expected).max(axis=1) <= errors).all()
            assert errors.max() < (1e-2 if form == "float32" else 1e-8)
        if form == "float32":
            assert np.abs(scores - expected).max() > 0  # so that the bound was needed


def test_repeated_columns_and_gaps() -> None:
    documents = texts(60)
    vectorizer = fitted("counts", "pairs", documents)
    rng = np.random.default_rng(3)
    terms = list(vectorizer.vocabulary_)
    n = len(terms)
    ids = rng.integers(0, n // 2, n) * 2  # every other column is never met, and many words share one
    vectorizer.vocabulary_ = dict(zip(terms, ids.tolist(), strict=True))
    coef, intercept = model(n, 3)
    text = _core.Text(described(vectorizer, coef, intercept))
    assert_array_equal(text.scores(documents)[0], vectorizer.transform(documents) @ coef.T + intercept)


def test_many_columns_and_ngrams_longer_than_the_text() -> None:
    # Columns in many areas of the counts' bits, and words of just 16 and 17 bytes.
    terms = [f"w{i:015d}" if i % 2 else f"w{i:016d}" for i in range(3000)]
    columns = np.random.default_rng(5).permutation(2**20)[:3000]
    vectorizer = TfidfVectorizer(vocabulary=dict(zip(terms, columns.tolist(), strict=True)), use_idf=False)
    vectorizer.vocabulary_ = vectorizer.vocabulary
    coef, intercept = model(2**20, 2)
    document = " ".join(np.random.default_rng(6).choice(terms, 5000))
    text = _core.Text(described(vectorizer, coef, intercept))
    found, counts = text.counts(document)
    expected: dict[int, int] = {}
    for word in document.split():
        column = vectorizer.vocabulary[word]
        expected[column] = expected.get(column, 0) + 1
    assert dict(zip(found.tolist(), counts.tolist(), strict=True)) == expected
    assert (np.diff(found) > 0).all()
    short = fitted("counts", "one letter", ["a b c", "go"])
    text, coef, intercept = core(short)
    assert text.tokens("go") == ["go"]
    assert text.tokens("") == []


def test_a_vocabulary_may_hold_anything() -> None:
    terms = ["a b", "", " ", "a  b", " a", "a ", "go", "go home now", "b go home", "\ud800", "x\0", "x", "A", "!"]
    for options in {"ngram_range": (1, 2)}, {"ngram_range": (2, 3)}, {}, {"analyzer": "char", "ngram_range": (1, 3)}:
        vectorizer = CountVectorizer(vocabulary=terms, token_pattern=r"\b\w+\b", **options)
        vectorizer._validate_vocabulary()
        documents = ["a b go home now", "b go home", "x\0 x! A", "a  b", "go go go home"]
        coef, intercept = model(len(terms), 2)
        text = _core.Text(described(vectorizer, coef, intercept))
        assert_array_equal(text.scores(documents)[0], vectorizer.transform(documents) @ coef.T + intercept)


def test_what_is_left_to_scikit_learn() -> None:
    class Mine(str):
        __slots__ = ()

    documents = texts(10)
    text, *_ = core(fitted("tf-idf", "words", documents))
    odd = [None, 1.5, b"the go", "the \ud800 go", Mine("the go"), ["the"], np.nan]
    scores, errors = text.scores([*odd, *documents, np.str_("the go")], 2)
    assert np.isnan(scores[: len(odd)]).all()
    assert np.isinf(errors[: len(odd)]).all()
    assert not np.isnan(scores[len(odd) :]).any()
    assert_array_equal(scores[-1], text.scores(["the go"])[0][0])
    assert np.isnan(text.prefixes(odd, np.array([3]))[0]).all()
    with pytest.raises(UnicodeEncodeError):
        text.tokens("\ud800")
    with pytest.raises(TypeError, match="subclass"):
        text.counts(Mine("the"))
    with pytest.raises(TypeError):
        text.scores(("a tuple",), 1)  # type: ignore[arg-type]
    assert text.scores([])[0].shape == (0, 1)


def test_logarithms_of_large_counts() -> None:
    vectorizer = TfidfVectorizer(sublinear_tf=True).fit(["go home"])
    text, coef, intercept = core(vectorizer)
    documents = ["go " * n + "home" for n in (1, 2, 3, 1000, 65535)]
    assert_array_equal(text.scores(documents)[0], vectorizer.transform(documents) @ coef.T + intercept)
    scores, errors = text.scores(["go " * 65536])
    assert np.isnan(scores[0, 0])
    assert np.isinf(errors[0])


def test_threads_give_the_same_scores() -> None:
    documents = texts(300)
    vectorizer = fitted("tf-idf", "pairs", documents[:40])
    text, coef, intercept = core(vectorizer, 3)
    expected = vectorizer.transform(documents) @ coef.T + intercept
    wrong: list[bool] = []

    def ask() -> None:
        wrong.extend(not np.array_equal(text.scores(documents, 2)[0], expected) for _ in range(5))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == [False] * 20


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals that are sent to a thread")
def test_a_long_text_is_interrupted() -> None:
    vectorizer = HashingVectorizer(n_features=64, ngram_range=(1, 3))
    text, coef, intercept = core(vectorizer)
    document = "the go home " * 2_000_000
    sent: list[float] = []

    def send() -> None:
        sent.append(time.perf_counter())
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def ask() -> None:
        while True:
            text.scores([document])

    timer = threading.Timer(0.1, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ask()
    assert time.perf_counter() - sent[0] < 0.5
    assert_array_equal(text.scores(["go home"])[0], vectorizer.transform(["go home"]) @ coef.T + intercept)


@pytest.mark.parametrize("form", ["tf-idf", "sublinear, l1", "no norm", "hashing", "binary hashes", "float32"])
@pytest.mark.parametrize("analyzer", ["words", "one letter", "stop words", "char", "char_wb"])
def test_prefixes(form: str, analyzer: str) -> None:
    # Of ASCII words between single blanks, so that a place in the text is one in what is read of it.
    rng = np.random.default_rng(8)
    words = np.array([w.lower() for w in WORDS if w.isascii() and w.isalnum()])
    documents = [" ".join(rng.choice(words, rng.integers(0, 60))) for _ in range(12)]
    vectorizer = fitted(form, analyzer, documents[:8])
    text, coef, intercept = core(vectorizer, 2)
    looks = np.array([7, 40, 111, 200])
    prefixes, errors, characters = text.prefixes(documents, looks, n_threads=1)
    assert_array_equal(prefixes[:, -1], text.scores(documents)[0])
    assert_array_equal(errors, text.scores(documents)[1])
    for document, row, read in zip(documents, prefixes, characters, strict=True):
        n = len(document) + (2 if document else 1) * (vectorizer.analyzer == "char_wb")
        assert read.tolist() == [*np.where(looks < n, looks, 0), n]
        for end, found in zip(looks[looks < n], row, strict=False):
            assert_allclose(found, scores_of_prefix(vectorizer, document, int(end), coef, intercept), atol=1e-5)


def scores_of_prefix(vectorizer: Any, document: str, end: int, coef: Any, intercept: Any) -> Any:
    """Scores of the tokens that end in the first bytes of a text, from scikit-learn's own rows."""
    if vectorizer.analyzer == "char_wb":
        document = f" {document} " if document else ""
    part = document[:end]
    if vectorizer.analyzer == "char_wb":  # slices that end before the end of the last word
        n_least, n_most = vectorizer.ngram_range
        tokens = []
        for match in re.finditer(r"(?= (\S+) )", document):
            begin, word = match.start(), f" {match[1]} "
            spans = [
                (i, i + n) for n in range(n_least, min(n_most, len(word) - 1) + 1) for i in range(len(word) - n + 1)
            ]
            if len(word) <= n_most:
                spans.append((0, len(word)))
            tokens += [word[i:j] for i, j in spans if begin + j <= end]
    elif vectorizer.analyzer == "char":
        tokens = vectorizer.build_analyzer()(part)
    else:  # whole words alone
        part = part if end == len(document) or document[end] == " " else part[: part.rfind(" ") + 1]
        tokens = vectorizer.build_analyzer()(part)
    if not tokens:
        return intercept
    same = vectorizer.__class__(**{**vectorizer.get_params(), "analyzer": _Given(tokens)})
    if not isinstance(vectorizer, HashingVectorizer):
        same.vocabulary_ = vectorizer.vocabulary_
        if hasattr(vectorizer, "_tfidf"):
            same._tfidf = vectorizer._tfidf
    return (same.transform([""]) @ coef.T + intercept)[0]


class _Given:
    """An analyzer that gives these tokens."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens

    def __call__(self, _: str) -> list[str]:
        return self.tokens


# ---- what is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"ids": np.array([0, 9], dtype=np.int64)}, "columns of coef"),
        ({"ids": np.array([0, -1], dtype=np.int64)}, "columns of coef"),
        ({"ids": np.array([0], dtype=np.int64)}, "ids must have a value"),
        ({"vocabulary": ["go", "go"]}, "repeated"),
        ({"vocabulary": None}, "vocabulary and ids"),
        ({"idf": np.ones(3)}, "idf"),
        ({"intercept": np.ones(2)}, "intercept"),
        ({"coef": np.ones((1, 0))}, "coef must have"),
        ({"coef": np.ones(2)}, "2-D"),
        ({"coef_bound": np.ones((2, 2))}, "coef_bound"),
        ({"norm": "max"}, "norm"),
        ({"strip_accents": "x"}, "strip_accents"),
        ({"token": ("word", 0)}, "token"),
        ({"token": ("space", 2)}, "token"),
        ({"ngram_range": (2, 1)}, "ngram_range"),
        ({"ngram_range": (0, 1)}, "ngram_range"),
        ({"analyzer": "x"}, "analyzer"),
        ({"hashing": {"n_features": 3, "alternate_sign": True}}, "n_features"),
    ],
    ids=str,
)
def test_wrong_descriptions(wrong: dict[str, Any], message: str) -> None:
    vectorizer = CountVectorizer().fit(["go home"])
    right = described(vectorizer, np.ones((1, 2)), np.zeros(1))
    _core.Text(right)
    with pytest.raises(ValueError, match=message):
        _core.Text({**right, **wrong})


def test_wrong_types() -> None:
    right = described(CountVectorizer().fit(["go home"]), np.ones((1, 2)), np.zeros(1))
    for wrong in ({"vocabulary": [1, 2]}, {"coef": np.ones((1, 2), dtype=int)}, {"more": 1}, {"binary": "no"}):
        with pytest.raises(TypeError):
            _core.Text({**right, **wrong})
    with pytest.raises(ValueError, match="looks must be ascending"):
        _core.Text(right).prefixes(["go"], np.array([0]))


def test_real_posts(wald_data: Path) -> None:
    posts = fetch_20newsgroups(data_home=wald_data / "sklearn", subset="test", download_if_missing=False).data[:150]
    for analyzer in ("pairs", "char_wb"):
        same_scores(fitted("tf-idf", analyzer, posts[:80]), posts, 20)
