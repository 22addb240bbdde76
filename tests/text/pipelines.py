"""Texts of several scripts, and pipelines that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold, f_classif
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

SOME = """
alpha Beta gamma DELTA the of a I x9 foo_bar naïve Café café ÉTÉ straße İstanbul ΟΔΟΣ привет Мир 你好 世界 हिन्दी
ﬁn ™mark ½ e\u0301 o'clock well-known e.g. 3.14 42 007
"""
WORDS = [*SOME.split(), *(f"word{i}" for i in range(60))]
GAPS = [" ", "  ", "\t", "\n", ", ", ". ", "\u00a0", "\u2003", "-", "\x1c"]

CLASSIFIERS = {
    "logistic": lambda: LogisticRegression(C=10),
    "svc": LinearSVC,
    "sgd": lambda: SGDClassifier(loss="log_loss", random_state=0),
    "ridge": RidgeClassifier,
    "perceptron": lambda: Perceptron(random_state=0),
    "bayes": MultinomialNB,
}


def texts(n: int, seed: int = 0, n_classes: int = 2) -> tuple[list[str], np.ndarray]:
    """Texts, of which some are empty, and labels that some of their words tell."""
    rng = np.random.default_rng(seed)
    made, labels = [], rng.integers(n_classes, size=n)
    for label in labels:
        words = rng.choice(WORDS, size=rng.integers(0, 25))
        told = [f"word{label}"] * int(rng.integers(0, 3))
        gaps = rng.choice(GAPS, size=len(words) + len(told), p=[0.7, *([0.3 / 9] * 9)])
        made.append("".join(word + gap for word, gap in zip([*words, *told], gaps, strict=True)))
    return made, labels


def steps(seed: int) -> list[Any]:
    """Random transformers that wald reads."""
    rng = np.random.default_rng(seed)

    def one_of(*options: Any) -> Any:
        return options[rng.integers(len(options))]

    analyzer = one_of("word", "word", "word", "char", "char_wb")
    words = analyzer == "word"
    common = {
        "analyzer": analyzer,
        "lowercase": one_of(True, True, False),
        "strip_accents": one_of(None, None, "ascii", "unicode"),
        "ngram_range": one_of((1, 1), (1, 1), (1, 2), (2, 3)) if words else one_of((1, 3), (2, 2), (3, 5)),
    }
    if words:
        common["token_pattern"] = one_of(r"(?u)\b\w\w+\b", r"(?u)\b\w\w+\b", r"\w+", r"\b\w+\b", r"\w{3,}", r"\S+")
        common["stop_words"] = one_of(None, None, "english", ["alpha", "café"])
    weights = {"norm": one_of("l2", "l2", "l1", None), "use_idf": one_of(True, True, False)}
    weights["sublinear_tf"] = one_of(False, True)
    kind = one_of("tfidf", "tfidf", "count", "count and weights", "hash", "hash and weights")
    binary, single = one_of(False, False, True), one_of(False, False, False, True)
    counting = common | {"binary": binary, "min_df": one_of(1, 2)}
    if kind == "tfidf":
        return [TfidfVectorizer(**counting, **weights, dtype=np.float32 if single else np.float64)]
    if kind == "count":
        return [CountVectorizer(**counting)]
    if kind == "count and weights":
        return [CountVectorizer(**counting), TfidfTransformer(**weights)]
    hashing = common | {"n_features": one_of(7, 64, 4096), "binary": binary}
    if kind == "hash":
        return [HashingVectorizer(**hashing, norm=weights["norm"], alternate_sign=one_of(True, False))]
    return [HashingVectorizer(**hashing, norm=None, alternate_sign=False), TfidfTransformer(**weights)]


BETWEEN: dict[str, Any] = {
    "nothing": list,
    "selector": lambda: [SelectKBest(f_classif, k=20)],
    "selectors and scaler": lambda: [VarianceThreshold(), SelectPercentile(f_classif, percentile=50), MaxAbsScaler()],
    "scaler and selector": lambda: [StandardScaler(with_mean=False), SelectKBest(f_classif, k=20)],
    "components": lambda: [TruncatedSVD(6, random_state=0)],
    "scaled components": lambda: [TruncatedSVD(6, random_state=0), StandardScaler()],
}


def pipeline(seed: int = 0, classifier: str = "logistic", between: str = "nothing") -> Pipeline:
    """A pipeline of random transformers, not fitted."""
    return make_pipeline(*steps(seed), *BETWEEN[between](), CLASSIFIERS[classifier]())
