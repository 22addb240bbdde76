"""A retrieval task made of 20 newsgroups: find the posts that belong to a subject line."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.utils import Bunch

_QUERIES, _POSTS, _LEAST_POSTS, _LEAST_WORDS = 2_600, 200, 50, 2
_WORDS, _CHARACTERS = 60_000, 80_000
#: Saturation of counts and normalization by length of the three BM25 scores; the first one chooses the posts.
_BM25 = ((1.2, 0.75), (0.6, 0.3), (2.0, 0.9))
_HEAD = 500  # characters in which capitals are counted
_SUBJECT, _REPLY = re.compile(r"^Subject:[ \t]*(.*)$", re.MULTILINE), re.compile(r"^(re|fwd?):\s*", re.IGNORECASE)

_DESCR = """\
Newsgroup ranking: subject lines of 20 newsgroups as queries, and for each up to 200 posts that share words with it; 33
features of query and post, as search engines have them. Relevance is 3 for posts of the same subject, 1 for others of
the same newsgroup, 0 else.

Made from the 18 846 posts of 20 newsgroups (K. Lang; sorted by date, as scikit-learn has them), whose bodies are
searched without their headers.
"""
_NAMES = (
    *("bm25", "bm25_flat", "bm25_steep", "tfidf_subject", "tfidf_body", "characters_subjects", "tfidf_subjects"),
    *("share_of_words", "n_words_found", "count_sum", "count_max", "count_min", "count_variance", "count_density"),
    *("length", "log_length", "idf_sum", "idf_max", "idf_min", "idf_variance"),
    *("query_words", "query_idf_sum", "query_idf_max", "query_idf_min", "query_characters"),
    *("subject_characters", "characters", "lines", "quotes", "at_signs", "capitals", "questions"),
    "bm25_body",
)


def fetch_newsgroup_ranking(
    *,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    return_X_y: bool = False,
) -> Bunch | tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Load posts of 20 newsgroups with features for queries that are subject lines: a task for learning to rank.

    The posts are read as `sklearn.datasets.fetch_20newsgroups` reads them: from ``$WALD_DATA/sklearn``, or from
    scikit-learn's data folder, into which it downloads them. The features are computed in about a minute.

    Parameters
    ----------
    data_home : path-like, optional
        Scikit-learn's data folder, in place of ``$WALD_DATA/sklearn`` and the default.
    download_if_missing : bool, default=True
        Raise ``OSError`` instead of downloading when False.
    return_X_y : bool, default=False
        Return ``(data, target, groups)`` instead of a Bunch.

    Returns
    -------
    Bunch or (data, target, groups)
        ``data``: float32 array (413182, 33), the posts of a query side by side; ``target``: int64, relevance: 0, 1 or
        3; ``groups``: int64, numbers of the 2 131 queries, which come in random order; ``feature_names``; ``DESCR``.

    Examples
    --------
    >>> from wald.datasets import fetch_newsgroup_ranking
    >>> X, y, groups = fetch_newsgroup_ranking(return_X_y=True)  # doctest: +SKIP
    >>> X.shape, int(groups.max()) + 1  # doctest: +SKIP
    ((413182, 33), 2131)
    """
    home = None if data_home is None else Path(data_home).expanduser()
    if home is None and (data := os.environ.get("WALD_DATA")):
        there = Path(data).expanduser() / "sklearn"
        home = there if there.is_dir() else None
    posts = fetch_20newsgroups(data_home=home, subset="all", download_if_missing=download_if_missing)
    bunch = ranking_of_posts(posts.data, posts.target)
    return (bunch.data, bunch.target, bunch.groups) if return_X_y else bunch


def ranking_of_posts(texts: Sequence[str], newsgroups: NDArray[Any], n_queries: int = _QUERIES) -> Bunch:
    """Make the task from posts with headers.

    Parameters
    ----------
    texts : sequence of str
    newsgroups : ndarray of int of shape (n_posts,)
    n_queries : int
        Posts whose subjects may become queries; those of fewer than two known words, or for which fewer than 50 posts
        are found, are left out.
    """
    posts = _Posts.of(texts)
    chosen = np.random.default_rng(0).permutation(len(texts))[:n_queries]
    features, relevance, sizes = [], [], []
    for query in chosen.tolist():
        found = posts.found_for(query)
        if len(found) < _LEAST_POSTS:
            continue
        features.append(posts.features(query, found))
        same_subject = posts.subjects[found] == posts.subjects[query]
        relevance.append(np.where(same_subject, 3, newsgroups[found] == newsgroups[query]).astype(np.int64))
        sizes.append(len(found))
    if not features:
        raise ValueError(f"None of {len(texts)} posts has a subject for which {_LEAST_POSTS} others are found.")
    return Bunch(
        data=np.concatenate(features),
        target=np.concatenate(relevance),
        groups=np.repeat(np.arange(len(sizes)), sizes),
        feature_names=list(_NAMES),
        DESCR=_DESCR,
    )


@dataclass(frozen=True, eq=False)
class _Posts:
    """Subjects and bodies of posts, and what is known about their words."""

    subjects: NDArray[Any]
    bodies: list[str]
    counts: Any  # words in bodies, CSR
    subject_counts: Any
    lengths: NDArray[np.float64]  # known words of each body
    idf: NDArray[np.float32]
    bm25: list[Any]
    by_word: Any  # the first of them, by words
    tfidf: tuple[Any, Any]  # of bodies and of subjects
    characters: Any  # TF-IDF of pieces of words of subjects
    surface: NDArray[np.float64]  # what needs no words: numbers of characters, lines and signs

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Posts:
        """Take posts apart, and count their words."""
        heads, _, bodies = zip(*(text.partition("\n\n") for text in texts), strict=True)
        subjects = [_subject(head) for head in heads]
        words = CountVectorizer(min_df=2, stop_words="english", max_features=_WORDS, dtype=np.float32)
        counts = words.fit_transform(bodies).tocsr()
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        n_with = np.asarray((counts > 0).sum(axis=0)).ravel()
        idf = np.log((len(texts) + 1) / (n_with + 1)).astype(np.float32)
        bm25 = [_bm25(counts, idf, lengths, *parameters) for parameters in _BM25]
        weighted = TfidfVectorizer(min_df=2, sublinear_tf=True, stop_words="english", max_features=_WORDS)
        pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), min_df=3, max_features=_CHARACTERS)
        return cls(
            subjects=np.array(subjects, dtype=object),
            bodies=list(bodies),
            counts=counts,
            subject_counts=words.transform(subjects).tocsr(),
            lengths=lengths,
            idf=idf,
            bm25=bm25,
            by_word=bm25[0].T.tocsr(),
            tfidf=(weighted.fit_transform(bodies).tocsr(), weighted.transform(subjects).tocsr()),
            characters=pieces.fit_transform(subjects).tocsr(),
            surface=np.array([_surface(s, b) for s, b in zip(subjects, bodies, strict=True)], dtype=np.float64),
        )

    def found_for(self, query: int) -> NDArray[np.intp]:
        """The posts that share most with the subject of a post, other than itself."""
        words = self.subject_counts[query].indices
        if len(words) < _LEAST_WORDS:
            return np.zeros(0, dtype=np.intp)
        scores = np.asarray(self.by_word[words].sum(axis=0)).ravel()
        scores[query] = -1.0
        best = np.argpartition(-scores, _POSTS)[:_POSTS] if len(scores) > _POSTS else np.arange(len(scores))
        return best[scores[best] > 0]

    def features(self, query: int, found: NDArray[np.intp]) -> NDArray[np.float32]:
        """Features of a query and some posts, (n_found, 33)."""
        words = np.sort(self.subject_counts[query].indices)
        bodies, subjects = self.tfidf
        counts, idf = self.counts[found][:, words].toarray(), self.idf[words]
        rare = counts * idf
        of_query = [len(words), idf.sum(), idf.max(), idf.min(), len(self.subjects[query])]
        body_words = self.counts[query].indices
        columns = [
            *(np.asarray(scores[found][:, words].sum(axis=1)).ravel() for scores in self.bm25),
            _products(bodies[found], subjects[query]),
            _products(bodies[found], bodies[query]),
            _products(self.characters[found], self.characters[query]),
            _products(subjects[found], subjects[query]),
            *((counts > 0).mean(axis=1), (counts > 0).sum(axis=1), counts.sum(axis=1)),
            *(counts.max(axis=1), counts.min(axis=1), counts.var(axis=1)),
            counts.sum(axis=1) / (self.lengths[found] + 1),
            *(self.lengths[found], np.log1p(self.lengths[found])),
            *(rare.sum(axis=1), rare.max(axis=1), rare.min(axis=1), rare.var(axis=1)),
            *(np.full(len(found), value) for value in of_query),
            *self.surface[found].T,
            np.asarray(self.bm25[0][found][:, body_words].sum(axis=1)).ravel(),
        ]
        return np.column_stack(columns).astype(np.float32)


def _subject(head: str) -> str:
    """The subject of a header in lower case, without the sign of a reply."""
    line = _SUBJECT.search(head)
    return "" if line is None else _REPLY.sub("", line[1].strip()).lower()


def _surface(subject: str, body: str) -> tuple[int, ...]:
    capitals = sum(character.isupper() for character in body[:_HEAD])
    return len(subject), len(body), body.count("\n"), body.count(">"), body.count("@"), capitals, body.count("?")


def _bm25(counts: Any, idf: NDArray[np.float32], lengths: NDArray[np.float64], k: float, b: float) -> Any:
    """Weights of words in bodies by BM25: rare words count more, repeated ones and those of long bodies less."""
    scores = counts.astype(np.float64)
    long = np.repeat(lengths / max(lengths.mean(), 1.0), np.diff(scores.indptr))
    scores.data = idf[scores.indices] * scores.data * (k + 1) / (scores.data + k * (1 - b + b * long))
    return sparse.csr_matrix(scores)


def _products(rows: Any, row: Any) -> NDArray[np.float64]:
    return np.asarray((rows @ row.T).toarray(), dtype=np.float64).ravel()
