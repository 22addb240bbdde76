"""The core in Python, made of scikit-learn's own parts: the reference of the extension, with the same methods."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

PATTERNS = {"space": r"\S+"}


class Text:
    """Scores of texts; see `wald._core.Text`."""

    def __init__(self, described: dict[str, Any]) -> None:
        self._of = described
        kind, least = described["token"]
        self._analyze = CountVectorizer(
            analyzer=described["analyzer"],
            token_pattern=PATTERNS.get(kind, rf"(?u)\b\w{{{least},}}\b"),
            lowercase=described["lowercase"],
            strip_accents=described["strip_accents"],
            stop_words=described["stop_words"] or None,
            ngram_range=described["ngram_range"],
        ).build_analyzer()
        self._ids = dict(zip(described["vocabulary"], described["ids"].tolist(), strict=True))
        self._coef, self._intercept = described["coef"], described["intercept"]
        bound = described["coef_bound"]
        self._bound = np.abs(self._coef) if bound is None else bound
        self._dtype = np.float32 if described["single"] else np.float64

    def tokens(self, text: str) -> list[str]:
        return list(self._analyze(text))

    def rows(self, texts: list[str]) -> sparse.csr_matrix:
        of, n = self._of, self._coef.shape[1]
        if of["hashing"] is not None:
            hasher = FeatureHasher(input_type="string", dtype=self._dtype, **of["hashing"])
            X = sparse.csr_matrix(hasher.transform(self.tokens(text) for text in texts))
        else:
            ids = [[self._ids[token] for token in self.tokens(text) if token in self._ids] for text in texts]
            ends = np.cumsum([0, *map(len, ids)])
            flat = np.array([i for some in ids for i in some], dtype=np.int64)
            X = sparse.csr_matrix((np.ones(len(flat), dtype=self._dtype), flat, ends), shape=(len(texts), n))
            X.sum_duplicates()
        if of["binary"]:
            X.data.fill(1)
        if of["sublinear_tf"]:
            X.data = np.log(X.data) + 1
        if of["idf"] is not None:
            X.data = X.data * of["idf"].astype(self._dtype)[X.indices]
        return X if of["norm"] is None else normalize(X, norm=of["norm"])

    def scores(self, texts: list[Any], n_threads: int) -> tuple[np.ndarray, np.ndarray]:
        return self._scored(texts)

    @property
    def same_bits(self) -> bool:
        return self._of["coef_bound"] is None

    def _scored(self, texts: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        scores = np.full((len(texts), len(self._coef)), np.nan)
        errors = np.full(len(texts), np.nan)
        good = [i for i, text in enumerate(texts) if isinstance(text, str)]
        if not good:
            return scores, errors
        X = self.rows([texts[i] for i in good])
        scores[good] = X @ self._coef.T + self._intercept
        size = abs(X) @ self._bound.max(axis=0) + np.abs(self._intercept).max()
        roundoff = 2.0**-24 if self._of["single"] else 2.0**-53
        errors[good] = 4 * roundoff * (np.diff(X.indptr) + 16) * size
        return scores, errors
