"""The report of a ranker on groups."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
lightgbm = pytest.importorskip("lightgbm")

from wald import EarlyExitClassifier, EarlyExitRanker, report  # noqa: E402  # after the checks above
from wald.inspection.promises import broken_ranking  # noqa: E402
from wald.ranking import RankingCertificate  # noqa: E402

K = 5


def rows(n_groups, size=30, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_groups * size, 6)).astype(np.float32)
    worth = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.3 * rng.normal(size=len(X))
    return X, np.clip(np.round(worth), 0, 3).astype(int), np.repeat(np.arange(n_groups), size)


@pytest.fixture(scope="module")
def model():
    X, y, groups = rows(50)
    fresh = lightgbm.LGBMRanker(n_estimators=60, num_leaves=15, verbose=-1, n_jobs=1)
    return fresh.fit(X, y, group=np.bincount(groups))


@pytest.fixture(scope="module")
def fast(model):
    X, y, groups = rows(200, seed=1)
    return EarlyExitRanker(model, k=K, risk=0.05, random_state=0, n_jobs=1).fit(X, y, groups=groups)


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.replace("\N{NO-BREAK SPACE}", " ")))


def test_a_page_of_groups(fast, tmp_path):
    X, _, groups = rows(100, seed=2)
    names = np.array([f"<query {g}>" for g in groups])
    page = report(fast, X, tmp_path / "page.html", groups=names, source="new queries", timed=False)
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert "<query" not in page
    text = text_of(page)
    assert str(fast.certificate_) in text
    assert "These groups agree with the promise." in text
    assert "What it does on 3 000 rows in 100 groups of new queries." in text
    assert "left at stage 1 of" in text
    assert page.count('<svg class="chart"') == 2
    trees = fast.predict(X, groups=groups, details=True).costs.mean()
    assert re.search(rf"The chosen point costs {trees:.3g}\d* trees per row", text)
    assert "Times were not asked for." in text


@pytest.mark.slow
def test_times_and_watched_rankers(fast):
    X, _, groups = rows(40, seed=3)
    watched = fast.watched(1.0)
    text = text_of(report(watched, X, groups=groups))
    assert "several groups, 1 200 rows" in text
    assert "one group, 30 rows" in text
    assert watched.monitor_.n_rows == 0


def test_groups_that_contradict_the_promise():
    certificate = RankingCertificate(5, 0.05, 0.95, 100, 0.02, 0.04, 20.0, 60)
    rng = np.random.default_rng(0)
    assert broken_ranking(certificate, rng.choice([0, 0.2], 500, p=[0.8, 0.2])) is None
    told = broken_ranking(certificate, rng.choice([0, 0.2, 0.4], 500, p=[0.5, 0.3, 0.2]))
    assert told is not None
    assert told.startswith("Of the first 5 rows of 500 groups, 1")
    assert told.endswith("Are these groups like those given to fit?")


def test_where_no_row_leaves(model):
    X, _, groups = rows(200, 4, seed=4)
    short = EarlyExitRanker(model, k=K, risk=0.05, random_state=0).fit(X, groups=groups)
    text = text_of(report(short, X, groups=groups, timed=False))
    assert "No row leaves early." in text
    assert "no group has more than 5 rows" in text


def test_groups_of_short_lists_have_no_ways(fast):
    X, _, groups = rows(20, 3, seed=5)
    assert "No rows race: there are no ways to show." in text_of(report(fast, X, groups=groups, timed=False))


def test_bad_input(fast, model):
    X, y, groups = rows(5)
    with pytest.raises(ValueError, match=r"wald\.report needs groups, the key of each row's group"):
        report(fast, X, timed=False)
    with pytest.raises(ValueError, match="With a risk, rows leave early"):
        report(EarlyExitRanker(model).fit(), X, groups=groups, timed=False)
    other = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y > 0)
    with pytest.raises(ValueError, match=r"groups are for rankers\. EarlyExitClassifier answers each row by itself"):
        report(EarlyExitClassifier(other, risk=0).fit(), X, groups=groups, timed=False)
