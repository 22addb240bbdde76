"""Texts as lists of str: 20 newsgroups behind vectorizers of scikit-learn, whole pipelines at risk 0 and at 1 %."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from wald import EarlyExitClassifier

from .peers import ours
from .report import Figure
from .settings import Run
from .timing import Task, each_call, measure

TITLE = "20 newsgroups by date, TF-IDF and a linear model, lists of str; 1 thread"
TEST, TEST_CHARACTERS = 4000, 500
#: Characters of the single posts that are answered, about.
LENGTHS = (100, 1900)
#: Characters of long posts.
LONG = 4000


def run(how: Run) -> list[Figure]:
    """Measure this setting."""
    home = os.environ.get("WALD_DATA")
    train, test = (
        fetch_20newsgroups(data_home=None if home is None else os.path.join(home, "sklearn"), subset=subset)
        for subset in ("train", "test")
    )
    group = np.array([name.startswith(("rec.", "sci.")) for name in train.target_names])
    figures = []
    for name, vectorizer, model, y, n_rows in (
        ("words, 2 classes", TfidfVectorizer(), LogisticRegression(C=10), group[train.target], TEST),
        ("words, 20 classes", TfidfVectorizer(), LinearSVC(), train.target, TEST),
        ("words and pairs, 20 classes", TfidfVectorizer(ngram_range=(1, 2)), _sgd(), train.target, TEST),
        ("char_wb 3-5, 20 classes", _characters(), _sgd(), train.target, TEST_CHARACTERS),
    ):
        pipeline = make_pipeline(vectorizer, model).fit(train.data, y)
        figures += _figures(name, pipeline, test.data[: how.rows(n_rows, n_rows // 4)], how)
        if name == "words, 2 classes":
            figures += _in_parts(name, pipeline, test.data, how)
    return figures


def _in_parts(name: str, pipeline: Any, posts: list[str], how: Run) -> list[Figure]:
    """Early exits at 1 %, planned and certified on two thirds of the test posts, for the others and their long ones."""
    mixed = [posts[i] for i in np.random.default_rng(0).permutation(len(posts))]
    n = 2 * len(mixed) // 3
    fast = EarlyExitClassifier(pipeline, risk=0.01, n_jobs=1, random_state=0).fit(mixed[:n])
    whole, figures = EarlyExitClassifier(pipeline, risk=0, n_jobs=1).fit(), []
    every = mixed[n:]
    long = [post for post in every if len(post) > LONG]
    for which, some in (("all posts", every), (f"posts over {LONG} characters", long)):
        labels, cost = fast.predict(some, return_cost=True)
        own = pipeline.predict(some)
        t = measure(
            {
                "ours": ours(fast, some, 1),
                "whole": ours(whole, some, 1),
                "peer": Task(lambda rows=some: pipeline.predict(rows), 1),
            },
            how.repeats,
        )
        read = cost.sum() / sum(map(len, some))
        terms: Any = fast.compiled_plan_.model.terms
        order = "spread" if terms.blocks[fast.plan_.terms[0]] else "in order"
        note = f"{100 * read:.3g} % of the characters read, {order}; {100 * np.mean(labels != own):.2g} % differ"
        for peer, who in (("pipeline.predict", "peer"), ("risk=0", "whole")):
            ratio = t[who].median / t["ours"].median
            figures.append(Figure(f"{name}: speed at 1 %, {which}, over {peer}", ratio, "x", peer, note))
    return figures


def _one_post(fast: EarlyExitClassifier, post: str, how: Run) -> Any:
    """Seconds of single calls."""
    return each_call(lambda _: fast.predict_one(post), 200, how.repeats)


def _sgd() -> SGDClassifier:
    return SGDClassifier(random_state=0)


def _characters() -> TfidfVectorizer:
    return TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), max_features=100_000)


def _figures(name: str, pipeline: Any, posts: list[str], how: Run) -> list[Figure]:
    fast = EarlyExitClassifier(pipeline, risk=0, n_jobs=1).fit()
    if not np.array_equal(fast.predict(posts), pipeline.predict(posts)):
        raise RuntimeError(f"{name}: labels differ from the pipeline's")
    t = measure({"ours": ours(fast, posts, 1), "peer": Task(lambda: pipeline.predict(posts), 1)}, how.repeats)
    each = {who: 1e6 * t[who].median / len(posts) for who in t}
    note = f"{each['ours']:.3g} us a post; peer {each['peer']:.4g} us; {len(posts)} posts"
    figures = [Figure(f"{name}: speed", each["peer"] / each["ours"], "x", "pipeline.predict", note)]
    for length in LENGTHS:
        post = min(posts, key=lambda text: abs(len(text) - length))
        times = _one_post(fast, post, how)
        figures.append(
            Figure(f"{name}: predict_one, median", 1e6 * float(np.median(times)), "us", note=f"{len(post)} characters")
        )
    return figures
