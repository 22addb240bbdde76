"""fetch_newsgroup_ranking: the task that it makes of posts, and where it looks for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wald.datasets import fetch_newsgroup_ranking
from wald.datasets.newsgroup_ranking import ranking_of_posts

WORDS = [f"word{letter}{other}" for letter in "abcdefgh" for other in "abcdefgh"]


def posts(n: int = 120) -> tuple[list[str], np.ndarray]:
    rng = np.random.default_rng(0)
    threads = [" ".join(rng.choice(WORDS[:8], 3, replace=False)) for _ in range(n // 4)]
    texts = []
    for i in range(n):
        subject = ("Re: " if i % 4 else "") + threads[i // 4].capitalize()
        body = " ".join(rng.choice(WORDS, 60))
        texts.append(f"From: somebody\nSubject: {subject}\nLines: 3\n\n{body}\n> Quoted? me@here\n")
    return texts, np.arange(n) // 4 % 3


def test_the_task_of_some_posts():
    texts, newsgroups = posts()
    task = ranking_of_posts(texts, newsgroups)
    sizes = np.bincount(task.groups)
    assert task.data.shape == (sizes.sum(), 33) == (len(task.target), len(task.feature_names))
    assert task.data.dtype == np.float32
    assert np.isfinite(task.data).all()
    assert sizes.min() >= 50
    assert sizes.max() < len(texts)  # a post does not find itself
    assert (np.diff(task.groups) >= 0).all()
    assert set(task.target.tolist()) == {0, 1, 3}
    column = dict(zip(task.feature_names, task.data.T, strict=True))
    assert (column["bm25"] > 0).all()
    same = task.target == 3
    assert column["tfidf_subjects"][same] == pytest.approx(np.ones(same.sum()), abs=1e-5)
    assert np.bincount(task.groups[same], minlength=len(sizes)).max() <= 3  # threads have four posts
    assert (column["quotes"] == 1).all()
    assert (column["at_signs"] == 1).all()
    assert (column["query_words"] == 3).all()
    assert column["share_of_words"] == pytest.approx(column["n_words_found"] / 3)
    np.testing.assert_array_equal(ranking_of_posts(texts, newsgroups).data, task.data)


def test_posts_without_queries_are_refused():
    texts, newsgroups = posts(40)
    with pytest.raises(ValueError, match="None of 40 posts has a subject for which 50 others are found"):
        ranking_of_posts(texts, newsgroups)


def test_nothing_is_downloaded_if_that_is_unwanted(tmp_path: Path):
    with pytest.raises(OSError, match="20Newsgroups dataset not found"):
        fetch_newsgroup_ranking(data_home=tmp_path, download_if_missing=False)


@pytest.mark.long
def test_the_published_posts(wald_data: Path):
    X, relevance, groups = fetch_newsgroup_ranking(return_X_y=True, download_if_missing=False)
    assert X.shape == (413_182, 33)
    assert np.bincount(relevance).tolist() == [276_688, 127_259, 0, 9_235]
    assert groups.max() == 2_130
