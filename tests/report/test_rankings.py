"""The report of a ranker on groups."""

from __future__ import annotations

import re

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
lightgbm = pytest.importorskip("lightgbm")

from ranking.lists import K, fast, lists, ranker  # noqa: E402  # after the checks above

from wald import EarlyExitClassifier, EarlyExitRanker, report  # noqa: E402  # after the checks above
from wald.inspection.promises import broken_ranking  # noqa: E402  # after the checks above
from wald.ranking import RankingCertificate  # noqa: E402  # after the checks above


def text_of(page):
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page.replace("\N{NO-BREAK SPACE}", " ")))


def test_a_page_of_groups(tmp_path):
    X, _, groups = lists(100, seed=2)
    names = np.array([f"<query {g}>" for g in groups])
    page = report(fast(), X, tmp_path / "page.html", groups=names, source="new queries", timed=False)
    assert (tmp_path / "page.html").read_text("utf-8") == page
    assert "<query" not in page
    text = text_of(page)
    assert str(fast().certificate_) in text
    assert "These groups agree with the promise." in text
    assert "What it does on 4 000 rows in 100 groups of new queries." in text
    assert "left at stage 1 of" in text
    assert page.count('<svg class="chart"') == 2
    trees = fast().predict(X, groups=groups, details=True).costs.mean()
    assert re.search(rf"The chosen point costs {trees:.3g}\d* trees per row", text)
    assert "Times were not asked for." in text


@pytest.mark.slow
def test_times_and_watched_rankers():
    X, _, groups = lists(40, seed=3)
    watched = fast().watched(1.0)
    text = text_of(report(watched, X, groups=groups))
    assert "several groups, 1 600 rows" in text
    assert "one group, 40 rows" in text
    assert watched.monitor_.n_rows == 0


def test_groups_that_contradict_the_promise():
    certificate = RankingCertificate(5, 0.05, 0.95, 100, 0.02, 0.04, 20.0, 60)
    rng = np.random.default_rng(0)
    assert broken_ranking(certificate, rng.choice([0, 0.2], 500, p=[0.8, 0.2])) is None
    told = broken_ranking(certificate, rng.choice([0, 0.2, 0.4], 500, p=[0.5, 0.3, 0.2]))
    assert told is not None
    assert told.startswith("Of the first 5 rows of 500 groups, 1")
    assert told.endswith("Are these groups like those given to fit?")


def test_where_no_row_leaves():
    X, _, groups = lists(200, 4, seed=4)
    short = EarlyExitRanker(ranker(), k=K, risk=0.05, random_state=0).fit(X, groups=groups)
    text = text_of(report(short, X, groups=groups, timed=False))
    assert "No row leaves early." in text
    assert "no group has more than 5 rows" in text


def test_groups_of_short_lists_have_no_ways():
    X, _, groups = lists(20, 3, seed=5)
    assert "No rows race: there are no ways to show." in text_of(report(fast(), X, groups=groups, timed=False))


def test_bad_input():
    X, y, groups = lists(5)
    with pytest.raises(ValueError, match=r"wald\.report needs groups, the key of each row's group"):
        report(fast(), X, timed=False)
    with pytest.raises(ValueError, match="With a risk, rows leave early"):
        report(EarlyExitRanker(ranker()).fit(), X, groups=groups, timed=False)
    other = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y > 0)
    with pytest.raises(ValueError, match=r"groups are for rankers\. EarlyExitClassifier answers each row by itself"):
        report(EarlyExitClassifier(other, risk=0).fit(), X, groups=groups, timed=False)
