"""Budgets and deadlines of groups: the compiled race beside one in NumPy, and what `EarlyExitRanker` makes of it."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pytest

from wald import EarlyExitRanker, _core
from wald.early_exit import Status

from .lists import K, fast, first, lists, ranker
from .races import STAGES, race_of

N_TREES = 60


def in_numpy(estimates, errors, full, k, q, budget):
    """Scores, stages and undecided rows of one group within a budget."""
    n, n_stages = estimates.shape
    money, costs = budget * n, [*STAGES, N_TREES]
    racing, places, stages = np.arange(n), k, np.full(n, n_stages)
    scores, undecided, left = np.full(n, np.nan), np.zeros(n, bool), np.zeros(n, bool)
    for t in range(n_stages):
        if t > 0 and len(racing):
            now, then = N_TREES - costs[t - 1], N_TREES - costs[t]
            after = money - len(racing) * (now - then)
            if n <= k and len(racing) * now <= money:
                break
            if after < 0 or (after < min(n, k) * then and money >= min(n, k) * now):
                break
        if not len(racing):
            break
        money -= len(racing) * (costs[t] - (costs[t - 1] if t else 0))
        z, reach = estimates[racing, t], np.float32(q) * errors[racing, t]
        scores[racing], stages[racing], undecided[racing] = z, t, True
        if n <= k:
            continue
        ordered = np.sort(z)[::-1]
        leaves, certain = z + reach < ordered[places - 1], z - reach > ordered[places]
        left[racing[leaves]], undecided[racing[leaves]] = True, False
        places -= int(np.count_nonzero(certain & ~leaves))
        racing = racing[~leaves & ~certain]
        if len(racing) <= places or places == 0:
            racing = racing[:0]
    for row in sorted(np.flatnonzero(undecided), key=lambda i: (-scores[i], i)):
        price = N_TREES - costs[stages[row]]
        if money < price:
            break
        money -= price
        scores[row], stages[row], undecided[row] = full[row], n_stages, False
    least = scores[stages == n_stages].min(initial=np.inf)
    top = np.nextafter(least, -np.inf)
    if undecided.any():
        best = scores[undecided].max()
        if best > top:
            scores[undecided] = np.minimum(scores[undecided] - (best - top), top)
        least = min(least, scores[undecided].min())
    scores[left] = np.minimum(scores[left], np.nextafter(least, -np.inf))
    return scores, stages, undecided


@pytest.mark.parametrize("k", [1, 5, 40])
def test_budgets_are_those_of_numpy(k):
    rng = np.random.default_rng(k)
    sizes = np.concatenate([rng.integers(1, 90, 60), [1200]])
    X, ends = lists(1, int(sizes.sum()), seed=3)[0], np.cumsum(sizes)
    X[1 : sizes[0]] = X[0]  # ties
    core, race = race_of()
    rows = _core.Rows.dense(X)
    full = core.scores(rows, 0.0, 1, False)[0][:, 0]
    estimates, errors = race.trace(rows, 1)
    seen = set()
    for budget in (0.0, 3.0, 7.5, 15.0, 30.0, 55.0, 59.9):
        parts = [
            in_numpy(estimates[b:e], errors[b:e], full[b:e], k, 0.7, budget)
            for b, e in zip(ends - sizes, ends, strict=True)
        ]
        expected = [np.concatenate(part) for part in zip(*parts, strict=True)]
        for threads in (1, 2):
            found = race.rank_within(rows, ends, k, 0.7, budget, np.inf, threads)
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one, other)
        paid = np.array([*STAGES, N_TREES])[found[1]]
        spent = np.add.reduceat(paid, ends - sizes) / sizes
        assert (spent <= max(budget, STAGES[0])).all()
        seen |= {(int(s), int(u)) for s, u in zip(found[1], found[2], strict=True)}
    assert {(0, 1), (1, 1), (2, 1), (4, 0)} <= seen


def test_without_limits_the_race_is_the_same():
    X = lists(1, 3000, seed=4)[0]
    _, race = race_of()
    ends, rows = np.array([700, 701, 3000]), _core.Rows.dense(X)
    plain = race.rank(rows, ends, 5, 1.0, 1)
    for seconds in (np.inf, 60.0):
        *found, undecided = race.rank_within(rows, ends, 5, 1.0, np.inf, seconds, 2)
        assert not undecided.any()
        for one, other in zip(found, plain, strict=True):
            np.testing.assert_array_equal(one, other)


def test_bad_limits_of_the_engine():
    X, (_, race) = lists(1, 10)[0], race_of()
    for trees, seconds in ((-1.0, 1.0), (np.nan, 1.0), (1.0, -1.0), (1.0, np.nan)):
        with pytest.raises(ValueError, match="trees and seconds must not be negative, nor NaN"):
            race.rank_within(_core.Rows.dense(X), np.array([10]), 5, 1.0, trees, seconds, 1)
    with pytest.raises(ValueError, match="the last group must end with the last row"):
        race.rank_within(_core.Rows.dense(X), np.array([9]), 5, 1.0, 1.0, 1.0, 1)


# ---- the estimator ---------------------------------------------------------------------------------------------------


def test_a_budget_is_kept_group_by_group_and_marks_what_is_undecided():
    X, _, groups = lists(60, seed=2)
    own, costs = ranker().predict(X), fast().ranking_plan_.stage_costs
    marked = []
    for budget in (costs[0], 8, 12, 16, 25, 59):
        answers = fast().predict(X, groups=groups, budget=budget, details=True)
        assert answers.costs.reshape(60, -1).mean(axis=1).max() <= budget
        full, undecided = (answers.status == status for status in (Status.FULL, Status.OUT_OF_BUDGET))
        np.testing.assert_array_equal(answers.labels[full], own[full])
        np.testing.assert_array_equal(answers.costs, costs[answers.stages])
        left = answers.status == Status.EARLY
        assert (answers.stages[full] == len(costs) - 1).all()
        for g in range(60):
            here = groups == g
            tiers = [answers.labels[here & some] for some in (full, undecided, left)]
            tiers = [tier for tier in tiers if len(tier)]
            assert all(a.min() > b.max() for a, b in pairwise(tiers))
        marked.append(int(undecided.sum()))
    assert marked[0] > marked[2] > marked[-1] == 0
    plain = fast().predict(X, groups=groups)
    np.testing.assert_array_equal(answers.labels, plain)
    for enough in (60, 1000.0, np.inf):
        np.testing.assert_array_equal(fast().predict(X, groups=groups, budget=enough), plain)


def test_more_budget_misses_less():
    X, _, groups = lists(200, seed=3)
    best = np.argsort(-ranker().predict(X).reshape(200, -1), axis=1, kind="stable")[:, :K]
    missing = []
    for budget in (5, 10, 14, 60):
        found = fast().predict(X, groups=groups, budget=budget).reshape(200, -1)
        early = np.argsort(-found, axis=1, kind="stable")[:, :K]
        missing.append(np.mean([1 - len(np.intersect1d(a, b)) / K for a, b in zip(best, early, strict=True)]))
    assert missing[0] > 2 * missing[-1]
    assert missing[0] >= missing[1] >= missing[2] >= missing[3]


def test_a_budgets_answers_depend_on_the_group_alone():
    X, _, groups = lists(30, seed=6)
    order = np.arange(len(X)).reshape(30, -1).T.ravel()  # rows of equal estimates stay in their order
    whole = fast().predict(X, groups=groups, budget=12)
    np.testing.assert_array_equal(fast().predict(X[order], groups=groups[order], budget=12), whole[order])
    for g in (0, 29):
        here = groups == g
        np.testing.assert_array_equal(fast().predict(X[here], groups=groups[here], budget=12), whole[here])
        np.testing.assert_array_equal(fast().rank(X[here], budget=12), first(whole[here], None))
        np.testing.assert_array_equal(fast().rank(X[here], 3, budget=12), first(whole[here], 3))


def test_a_deadline_ends_a_race():
    X, _, groups = lists(20, 500, seed=5)
    own = ranker().predict(X)
    hurried = fast().predict(X, groups=groups, deadline=1e-9, details=True)
    assert set(np.unique(hurried.status)) == {Status.EARLY, Status.OUT_OF_BUDGET}
    assert (hurried.costs == fast().ranking_plan_.stage_costs[0]).all()
    calm = fast().predict(X, groups=groups, deadline=60, details=True)
    plain = fast().predict(X, groups=groups, details=True)
    for name in ("labels", "stages", "costs", "status"):
        np.testing.assert_array_equal(getattr(calm, name), getattr(plain, name))
    full = calm.status == Status.FULL
    np.testing.assert_array_equal(calm.labels[full], own[full])
    small = fast().predict(X[:3], groups=groups[:3], deadline=60)  # fewer rows than places
    np.testing.assert_array_equal(small, own[:3])


@pytest.mark.slow
def test_a_deadline_is_kept_roughly():
    model = ranker(400, 31)
    X, _, groups = lists(200, seed=1)
    early = EarlyExitRanker(model, k=K, risk=0.05, random_state=0, n_jobs=1).fit(X, groups=groups)
    big = lists(1, 60_000, seed=2)[0]
    together = np.zeros(len(big), dtype=int)
    early.predict(big, groups=together)

    def least(**limits):
        taken = []
        for _ in range(5):
            start = time.perf_counter()
            early.predict(big, groups=together, **limits)
            taken.append(time.perf_counter() - start)
        return min(taken)

    whole, hurried = least(), least(deadline=1e-9)
    assert least(deadline=hurried / 2) < hurried + 0.8 * (whole - hurried) + 0.002


@pytest.mark.parametrize(
    ("limits", "error", "message"),
    [
        ({"budget": 4}, ValueError, r"budget must be at least 5, the cost of the first stage. Got 4"),
        ({"budget": float("nan")}, ValueError, "budget must be at least 5"),
        ({"budget": "10"}, TypeError, "budget must be a number. Got '10'"),
        ({"budget": True}, TypeError, "budget must be a number. Got True"),
        ({"deadline": 0}, ValueError, "deadline must be a positive number of seconds. Got 0"),
        ({"deadline": float("nan")}, ValueError, "deadline must be a positive number of seconds. Got nan"),
        ({"deadline": "soon"}, TypeError, "deadline must be a number. Got 'soon'"),
    ],
)
def test_bad_limits(limits, error, message):
    X, _, groups = lists(2)
    with pytest.raises(error, match=message):
        fast().predict(X, groups=groups, **limits)
    with pytest.raises(error, match=message):
        fast().rank(X[:40], **limits)


def test_limits_without_groups_or_without_a_race():
    X, _, groups = lists(2)
    for limits in ({"budget": 10}, {"deadline": 1.0}):
        with pytest.raises(ValueError, match="budget and deadline are about groups of rows: pass groups"):
            fast().predict(X, **limits)
        with pytest.raises(ValueError, match="k=6 is more than the 5 rows of the promise"):
            fast().rank(X[:40], 6, **limits)
    exact = EarlyExitRanker(ranker()).fit()
    with pytest.raises(ValueError, match=r"budget must be at least 60, since every row is evaluated in full. Got 59"):
        exact.predict(X, groups=groups, budget=59)
    np.testing.assert_array_equal(exact.predict(X, groups=groups, budget=60), ranker().predict(X))


def test_no_rows_within_limits():
    X, _, groups = lists(1)
    assert fast().predict(X[:0], groups=groups[:0], budget=10).shape == (0,)
    assert fast().rank(X[:0], deadline=1.0).shape == (0,)
