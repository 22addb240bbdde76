"""Rankers that audit groups: what their monitor counts, and when it raises an alarm."""

from __future__ import annotations

import copy
import pickle
import warnings

import numpy as np
import pytest

import wald
from wald import EarlyExitRanker
from wald.monitoring import DriftWarning, Monitor
from wald.ranking import RowGroups
from wald.ranking.measures import missing_shares

from .lists import K, fast, lists, ranker


def test_every_group_is_counted_and_audits_lose_what_is_missing():
    X, _, groups = lists(300, seed=30)
    watched = fast().watched(1.0)
    np.testing.assert_array_equal(watched.predict(X, groups=groups), fast().predict(X, groups=groups))
    monitor = watched.monitor_
    missing = missing_shares(ranker().predict(X), fast().predict(X, groups=groups), RowGroups.of(groups, len(X)), K)
    assert (monitor.n_rows, monitor.n_audits) == (300, 300)
    assert monitor.n_disagreements == pytest.approx(missing.sum())
    assert 0 < monitor.n_disagreements < 0.05 * 300
    assert monitor.stage_counts.sum() == 300
    assert monitor.state == "holding"
    assert monitor.as_dict()["trials"] == "groups"
    assert not hasattr(fast(), "monitor_")


def test_groups_that_lie_apart_count_alike():
    X, _, groups = lists(40, seed=31)
    order, totals = np.random.default_rng(0).permutation(len(X)), []
    for some in (slice(None), order):
        watched = fast().watched(1.0)
        watched.predict(X[some], groups=groups[some])
        totals.append(watched.monitor_.n_disagreements)
    assert totals[0] == pytest.approx(totals[1])


def test_what_is_counted():
    X, _, groups = lists(10, seed=32)
    watched = fast().watched(0.5)
    for call in (
        lambda: watched.predict(X),  # in full
        lambda: watched.predict_one(X[0]),
        lambda: watched.predict_records([dict(zip(map(str, range(8)), x, strict=True)) for x in X[:0]]),
        lambda: watched.predict(X, groups=groups, budget=8),  # outside of the promise
        lambda: watched.predict(X, groups=groups, budget=1000),
        lambda: watched.predict(X, groups=groups, deadline=60.0),
        lambda: watched.rank(X[:40], 3, budget=8),
        lambda: watched.rank(X[:40], K + 1),  # in full
        lambda: watched.predict(X[:0], groups=groups[:0]),
        lambda: watched.explain(X[:40], 3),
        lambda: watched.unwatched().predict(X, groups=groups),
    ):
        call()
        assert watched.monitor_.n_rows == 0
    watched.rank(X[:40], 3)
    watched.rank(X[:40])
    assert watched.monitor_.n_rows == 2
    watched.predict(X, groups=groups)
    watched.predict(X, groups=groups)  # the same names, other groups
    assert watched.monitor_.n_rows == 22


def test_without_audits_only_stages_are_watched():
    X, _, groups = lists(20, seed=33)
    watched = fast().watched(0.0)
    watched.predict(X, groups=groups)
    assert (watched.monitor_.n_rows, watched.monitor_.n_audits) == (20, 0)
    assert watched.watched(None).compiled_plan_.monitor is None
    assert fast().unwatched() is fast()


def test_a_broken_promise_is_told_and_answered_in_full():
    bold = copy.copy(fast())
    bold._race = fast()._race.at(0.1)
    watched = bold.watched(1.0, on_broken="full")
    X, _, groups = lists(300, seed=34)
    with pytest.warns(DriftWarning, match=r"audited groups lost 0\.\d+ of their first 5 rows on average, and at most "):
        watched.predict(X, groups=groups)
    assert watched.monitor_.state == "broken"
    np.testing.assert_array_equal(watched.predict(X, groups=groups), ranker().predict(X))
    assert watched.monitor_.n_rows == 300
    assert watched.unwatched() is watched
    watched.monitor_.reset()
    assert (watched.predict(X[:400], groups=groups[:400]) != ranker().predict(X[:400])).any()


def test_other_groups_are_doubtful():
    X, _, _ = lists(1, 3000, seed=35)  # lists of K rows are evaluated in full
    watched = fast().watched(0.1)
    with pytest.warns(DriftWarning, match="Served groups are not like those of the certificate: after 600 groups"):
        watched.predict(X, groups=np.repeat(np.arange(600), K))
    assert watched.monitor_.state == "doubtful"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda early: pickle.loads(pickle.dumps(early))])
def test_copies_keep_their_counts(copied):
    X, _, groups = lists(30, seed=36)
    watched = fast().watched(0.5)
    watched.predict(X, groups=groups)
    assert copied(watched).monitor_.as_dict() == watched.monitor_.as_dict()


def test_files_keep_the_counts_and_what_they_are_compared_with(tmp_path):
    X, _, groups = lists(30, seed=37)
    watched = fast().watched(0.5)
    watched.predict(X, groups=groups)
    wald.save(watched, tmp_path / "ranker.wald")
    loaded = wald.load(tmp_path / "ranker.wald")
    assert loaded.certificate_ == fast().certificate_
    assert loaded.monitor_.as_dict() == watched.monitor_.as_dict()
    assert loaded.monitor_.reference == watched.monitor_.reference == list(fast().certificate_.left)
    loaded.predict(X, groups=groups)
    assert loaded.monitor_.n_rows == 60
    both = fast().watched(0.5).monitor_.merge(loaded.monitor_)
    assert both.n_rows == 60


def test_where_nothing_is_promised_there_is_nothing_to_watch():
    exact = EarlyExitRanker(ranker()).fit()
    with pytest.raises(ValueError, match="evaluates every row in full, so that there is nothing to audit"):
        exact.watched(0.1)
    assert exact.watched(None).compiled_plan_.monitor is None
    with pytest.raises(AttributeError, match="There is no monitor_"):
        _ = exact.monitor_
    with pytest.raises(ValueError, match="audit_rate must be from 0 to 1"):
        fast().watched(2.0)


def test_a_ranker_that_evaluates_everything_may_be_watched():
    X, _, groups = lists(400, 4, seed=14)
    short = EarlyExitRanker(ranker(), k=K, risk=0.05, random_state=0).fit(X, groups=groups).watched(0.5)
    short.predict(X, groups=groups)
    assert (short.monitor_.n_rows, short.monitor_.n_disagreements, short.monitor_.state) == (400, 0, "holding")


def test_monitors_of_groups_speak_of_groups():
    monitor = Monitor(0.05, [5, 60], [80, 20], audit_rate=1.0, trials="groups", other="of their first 5 rows")
    monitor.record([80, 20], audits=10, disagreements=1.0)
    assert repr(monitor).startswith("<Monitor: holding; 100 groups, 10 audited, a loss of 1 (rate")
    assert monitor.lines[0].name == "groups"
    with pytest.raises(ValueError, match="trials must be 'rows' or 'groups'"):
        Monitor(0.05, [5, 60], [80, 20], audit_rate=1.0, trials="lists")
    with pytest.raises(ValueError, match="different models or plans"):
        monitor.merge(Monitor(0.05, [5, 60], [80, 20], audit_rate=1.0))


def test_a_random_row_of_each_group():
    monitor, sizes = Monitor(0.05, [1, 2], [0, 0], audit_rate=0.0, seed=0), np.array([1, 3, 2])
    rows = np.array([monitor.one_of_each(sizes) for _ in range(600)])
    assert [np.unique(column).tolist() for column in rows.T] == [[0], [1, 2, 3], [4, 5]]
    assert np.bincount(rows[:, 1])[1:].min() > 150


@pytest.mark.long
def test_false_alarms_are_rare():
    """Monitors of a promise that holds exactly at its limit, on groups like those of the certificate."""
    rng, alarms, doubts, risk = np.random.default_rng(0), 0, 0, 0.05
    shares = np.array([0.6, 0.3, 0.1])
    for _ in range(400):
        reference = rng.multinomial(300, shares)
        monitor = Monitor(risk, [5, 20, 60], reference, audit_rate=1.0, trials="groups", seed=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DriftWarning)
            for _ in range(40):  # few distinct losses, many of them 0; the mean is the risk
                lost = rng.choice([0.0, 0.2, 0.4], 50, p=[0.8, 0.15, 0.05]).sum()
                monitor.record(rng.multinomial(50, shares), audits=50, disagreements=lost)
        alarms += monitor.lines[0].state == "broken"
        doubts += monitor._beside == "doubtful"
    assert alarms <= 16  # 8 expected at most; 17 or more have a chance of 0.4 %
    assert doubts <= 16
