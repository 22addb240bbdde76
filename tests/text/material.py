"""Texts, vectorizers and linear models for the tests of texts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from wald import _core

TOKENS = {r"(?u)\b\w\w+\b": ("word", 2), r"\b\w+\b": ("word", 1), r"\w+": ("word", 1), r"\w{3,}": ("word", 3)}
TOKENS |= {r"(?u)\b\w{3,}\b": ("word", 3), r"\S+": ("space", 1)}

WORDS = """the of and a in to it is was be go b home café CAFÉ naïve Straße ÎLE İstanbul ΟΔΟΣ Σ σας ﬁne ™ ½ ℌello _x x_1
3.14 don't e-mail Привет мир 你好 世界 हिन्दी ünïcödé ǅ ß ŉ extraordinarily_long_word_of_many_characters
anotherextraordinarilylongword ٣٤ x² ª""".split()  # noqa: SIM905
SPACES = [" ", " ", " ", "  ", "\t", "\n\n", "\x1c", "\u3000", "\u00a0\u00a0", ", ", ". ", "-", "\0"]


def described(vectorizer: Any, coef: NDArray[Any], intercept: NDArray[Any], **more: Any) -> dict[str, Any]:
    """What `_core.Text` must know of a fitted vectorizer and a linear model."""
    hashing = isinstance(vectorizer, HashingVectorizer)
    vocabulary = None if hashing else vectorizer.vocabulary_
    idf = getattr(vectorizer, "idf_", None) if getattr(vectorizer, "use_idf", False) else None
    return {
        "analyzer": vectorizer.analyzer,
        "lowercase": vectorizer.lowercase,
        "strip_accents": vectorizer.strip_accents,
        "token": TOKENS[vectorizer.token_pattern],
        "stop_words": sorted(vectorizer.get_stop_words() or []) if vectorizer.analyzer == "word" else [],
        "ngram_range": vectorizer.ngram_range,
        "vocabulary": None if vocabulary is None else list(vocabulary),
        "ids": None if vocabulary is None else np.array(list(vocabulary.values()), dtype=np.int64),
        "hashing": {"n_features": vectorizer.n_features, "alternate_sign": vectorizer.alternate_sign}
        if hashing
        else None,
        "binary": vectorizer.binary,
        "sublinear_tf": getattr(vectorizer, "sublinear_tf", False),
        "idf": None if idf is None else np.asarray(idf, dtype=np.float64),
        "norm": getattr(vectorizer, "norm", None),
        "weight": 1.0,
        "single": np.dtype(vectorizer.dtype) == np.float32,
        "coef": np.ascontiguousarray(coef),
        "intercept": np.ascontiguousarray(intercept),
        "coef_bound": None,
        **more,
    }


def texts(n: int, seed: int = 0, longest: int = 40) -> list[str]:
    """Random texts of all kinds of words and white space; the first one is empty."""
    rng = np.random.default_rng(seed)
    made = [""]
    for _ in range(n - 1):
        words = rng.choice(WORDS, rng.integers(1, longest))
        made.append("".join(w + SPACES[rng.integers(len(SPACES))] for w in words))
    return made


def model(n_features: int, n_outputs: int, dtype: Any = np.float64, seed: int = 1) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_outputs, n_features)).astype(dtype), rng.normal(size=n_outputs).astype(dtype)


def core(vectorizer: Any, n_outputs: int = 1, dtype: Any = np.float64, **more: Any) -> tuple[_core.Text, Any, Any]:
    if isinstance(vectorizer, HashingVectorizer):
        n_features = vectorizer.n_features
    else:
        n_features = max(vectorizer.vocabulary_.values()) + 1
    coef, intercept = model(n_features, n_outputs, dtype)
    return _core.Text(described(vectorizer, coef, intercept, **more)), coef, intercept


ANALYZERS: dict[str, dict[str, Any]] = {
    "words": {},
    "pairs": {"ngram_range": (1, 2)},
    "triples alone": {"ngram_range": (2, 4), "min_df": 2},
    "one letter": {"token_pattern": r"\b\w+\b", "ngram_range": (1, 3)},
    "three letters": {"token_pattern": r"\w{3,}"},
    "not space": {"token_pattern": r"\S+", "lowercase": False, "ngram_range": (1, 2)},
    "stop words": {"stop_words": ["the", "go", "мир"], "ngram_range": (1, 2)},
    "unicode": {"strip_accents": "unicode", "ngram_range": (1, 2)},
    "ascii": {"strip_accents": "ascii", "lowercase": False},
    "char": {"analyzer": "char", "ngram_range": (1, 4)},
    "char_wb": {"analyzer": "char_wb", "ngram_range": (2, 5)},
    "long char_wb": {"analyzer": "char_wb", "ngram_range": (15, 19), "strip_accents": "unicode"},
}
FORMS: dict[str, tuple[type, dict[str, Any]]] = {
    "counts": (CountVectorizer, {}),
    "binary counts": (CountVectorizer, {"binary": True}),
    "tf-idf": (TfidfVectorizer, {}),
    "sublinear, l1": (TfidfVectorizer, {"sublinear_tf": True, "norm": "l1"}),
    "no idf": (TfidfVectorizer, {"use_idf": False}),
    "no norm": (TfidfVectorizer, {"norm": None, "binary": True}),
    "float32": (TfidfVectorizer, {"dtype": np.float32, "sublinear_tf": True}),
    "float32, l1": (TfidfVectorizer, {"dtype": np.float32, "norm": "l1"}),
    "hashing": (HashingVectorizer, {"n_features": 500}),
    "many hashes": (HashingVectorizer, {"n_features": 2**15, "alternate_sign": False, "norm": "l1"}),
    "binary hashes": (HashingVectorizer, {"n_features": 10, "binary": True, "norm": None}),
}


def fitted(form: str, analyzer: str, documents: list[str]) -> Any:
    make, options = FORMS[form]
    given = dict(ANALYZERS[analyzer])
    if make is HashingVectorizer:
        given.pop("min_df", None)
    return make(**options, **given).fit(documents)
