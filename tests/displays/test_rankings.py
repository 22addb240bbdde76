"""Displays of rankings: groups in place of rows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("matplotlib")
lightgbm = pytest.importorskip("lightgbm")

from ranking.lists import K, fast, lists  # noqa: E402  # after the checks above

from wald import EarlyExitClassifier, EarlyExitRanker  # noqa: E402  # after the checks above
from wald.displays import CostHistogramDisplay, StoppingPathDisplay, TradeoffDisplay  # noqa: E402  # after the checks above

from .conftest import names  # noqa: E402  # after the checks above


def share_missing(own, early):
    best = [np.argsort(-s.reshape(-1, 40), axis=1, kind="stable")[:, :K] for s in (own, early)]
    return np.mean([1 - len(np.intersect1d(a, b)) / K for a, b in zip(*best, strict=True)])


def test_what_is_missing_against_trees():
    X, _, groups = lists(100, seed=2)
    order = np.random.default_rng(0).permutation(len(X))
    display = TradeoffDisplay.from_estimator(fast(), X[order], groups=groups[order])
    answers = fast().predict(X, groups=groups, details=True)
    own = fast().predict(X)
    assert display.cost_in_use == pytest.approx(answers.costs.mean())
    assert display.n_rows == 100
    assert (display.risk, display.full_cost) == (0.05, 60.0)
    assert display.ax_.get_ylabel() == "share of the first 5 rows missing"
    assert display.ax_.get_xlabel() == "trees per row, mean"
    low, high = display.interval_in_use
    assert low <= display.disagreement_in_use <= high
    cost, missing = np.asarray(display.cost), np.asarray(display.disagreement)
    assert (np.diff(cost) >= 0).all()
    assert (cost[-1], missing[-1]) == (60.0, 0.0)
    again = TradeoffDisplay.from_estimator(fast(), X, groups=groups)
    assert again.disagreement_in_use == pytest.approx(share_missing(own, answers.labels))
    assert display.disagreement_in_use == pytest.approx(again.disagreement_in_use)


def test_all_rows_at_one_stage():
    X, _, groups = lists(50, seed=3)
    display = TradeoffDisplay.from_estimator(fast(), X, groups=groups, budgeted=True)
    np.testing.assert_array_equal(display.cost, fast().ranking_plan_.stage_costs)
    assert display.disagreement[0] > display.disagreement[-1] == 0.0
    assert display.cost_in_use is None


def test_costs_of_first_rows_and_others():
    X, _, groups = lists(40, seed=4)
    display = CostHistogramDisplay.from_estimator(fast(), X, groups=groups)
    assert list(display.classes) == ["first 5", "others"]
    assert display.counts.sum(axis=1).tolist() == [200, 1400]
    costs = fast().predict(X, groups=groups, details=True).costs
    assert display.counts.sum(axis=0).tolist() == np.bincount(np.searchsorted(fast()._stage_costs(), costs)).tolist()
    assert display.mean[0] > display.mean[1]
    cheaper = CostHistogramDisplay.from_estimator(fast(), X, groups=groups, budget=10)
    assert cheaper.counts[:, -1].sum() < display.counts[:, -1].sum()
    of_size = CostHistogramDisplay.from_estimator(fast(), X, groups // 20, groups=groups)
    assert of_size.counts.sum(axis=1).tolist() == [800, 800]


def test_rows_of_a_group_on_their_way():
    X = lists(1, 60, seed=5)[0]
    display = StoppingPathDisplay.from_estimator(fast(), X)
    labels = list(display.labels)
    assert labels[:3] == ["first 5"] * 3
    assert labels[3:] == ["others"] * (len(labels) - 3)
    stages = fast().predict(X, groups=np.zeros(60), details=True).stages
    n = len(display.low)
    chosen = StoppingPathDisplay.from_estimator(fast(), X, rows=range(60))
    for walk, stage in zip(np.asarray(chosen.scores), stages.tolist(), strict=True):
        left = np.flatnonzero(walk[:n] < -1.0)
        assert (len(left) > 0 and left[0] == stage) if stage < n else len(left) == 0 or (walk[: left[0]] > 1.0).any()
    assert chosen.ax_.get_ylabel() == "lead over the border of the first 5"
    assert {*names(chosen)} >= {"first 5", "others"}


def test_bad_input():
    X, y, groups = lists(5)
    for display in (TradeoffDisplay, CostHistogramDisplay):
        with pytest.raises(ValueError, match=r"from_estimator needs groups, the key of each row's group"):
            display.from_estimator(fast(), X)
        with pytest.raises(ValueError, match="every row is evaluated in full"):
            display.from_estimator(EarlyExitRanker(fast().estimator).fit(), X, groups=groups)
        other = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1).fit(X, y > 0)
        with pytest.raises(ValueError, match="groups are for rankers"):
            display.from_estimator(EarlyExitClassifier(other, risk=0).fit(), X, groups=groups)
    with pytest.raises(ValueError, match="a group of 3 rows, of which the first 5 are wanted, does not race"):
        StoppingPathDisplay.from_estimator(fast(), X[:3])
    with pytest.raises(ValueError, match="needs at least one row"):
        StoppingPathDisplay.from_estimator(fast(), X[:0])
    with pytest.raises(ValueError, match="must hold numbers from 0 to 29"):
        StoppingPathDisplay.from_estimator(fast(), X[:30], rows=[30])
