"""The greedy order, compared with a plain search and by the rows that it decides."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from wald.plan.qwyc import MAX_SEARCHED, qwyc_order


def decided_per_step(values, full, order, costs):
    """Mean cost until each row is decided without a mistake, by thresholds at the extremes of the other class."""
    undecided = np.ones(len(full), dtype=bool)
    cost, sums = 0.0, np.zeros(len(full))
    for unit in order:
        cost += costs[unit] * undecided.sum()
        sums = sums + values[:, unit]
        positive, negative = sums[undecided & full], sums[undecided & ~full]
        low, high = positive.min(initial=np.inf), negative.max(initial=-np.inf)
        undecided &= ~((sums < low) | (sums > high))
    return cost / len(full)


def plain(values, full, costs):
    """The greedy search of the paper without mistakes, as a loop."""
    undecided, sums, order = np.ones(len(full), dtype=bool), np.zeros(len(full)), []
    while undecided.any() and len(order) < len(costs):
        worth = {}
        for unit in set(range(len(costs))) - set(order):
            s = sums + values[:, unit]
            low = s[undecided & full].min(initial=np.inf)
            high = s[undecided & ~full].max(initial=-np.inf)
            new = undecided & ((s < low) | (s > high))
            worth[unit] = (costs[unit] * undecided.sum() / new.sum() if new.any() else np.inf), s, new
        best = min(worth, key=lambda u: worth[u][0])
        if worth[best][0] == np.inf:
            return order
        order.append(best)
        sums = worth[best][1]
        undecided &= ~worth[best][2]
    return order


def problem(n=400, n_units=12, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, n_units)) * np.geomspace(3.0, 0.1, n_units)[rng.permutation(n_units)]
    return values, values.sum(axis=1), rng.uniform(0.5, 2.0, size=n_units)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_greedy_search(seed):
    values, scores, costs = problem(seed=seed)
    order = qwyc_order(values, scores, 0.3, costs, alpha=0.0)
    assert sorted(order) == list(range(12))
    expected = plain(values, scores > 0.3, costs)
    assert len(expected) >= 3
    assert order[: len(expected)].tolist() == expected


def test_it_is_near_the_best_of_all_orders():
    for seed in range(5):
        values, scores, costs = problem(n_units=5, seed=seed)
        full = scores > 0
        every = [decided_per_step(values, full, o, costs) for o in itertools.permutations(range(5))]
        found = decided_per_step(values, full, qwyc_order(values, scores, 0.0, costs, alpha=0.0), costs)
        assert found <= 1.1 * min(every)
        assert found < np.mean(every)


def test_mistakes_that_are_allowed_are_used():
    """A unit that decides all rows but two is worth buying only if two mistakes are allowed."""
    rng = np.random.default_rng(0)
    full = np.repeat([1.0, -1.0], 100)
    blunt = full * rng.uniform(1.0, 2.0, size=200)
    blunt[[0, 100]] *= -5.0
    other = full * rng.uniform(0.0, 1.0, size=200)
    other[[0, 100]] = full[[0, 100]] * 20.0
    weak = 0.5 * full * (np.arange(200) % 3 > 0) + 0.9 * rng.uniform(-1, 1, size=200)
    values = np.column_stack([weak, blunt, other])
    scores = 100.0 * full
    assert qwyc_order(values, scores, 0.0, [1.0, 1.0, 100.0], alpha=0.01)[0] == 1
    assert qwyc_order(values, scores, 0.0, [1.0, 1.0, 100.0], alpha=0.0)[0] != 1


def test_cost_counts():
    values, scores, _ = problem()
    favourite = qwyc_order(values, scores, 0.0, np.ones(12), alpha=0.0)[0]
    costly = np.ones(12)
    costly[favourite] = 1e6
    assert qwyc_order(values, scores, 0.0, costly, alpha=0.0)[0] != favourite


def test_units_beyond_the_search_follow_by_their_spread():
    rng = np.random.default_rng(0)
    spread = np.geomspace(1.0, 1e-3, MAX_SEARCHED + 20)
    values = rng.normal(size=(50, spread.size)) * spread
    order = qwyc_order(values, values.sum(axis=1), 0.0, np.ones(spread.size), alpha=0.0)
    assert sorted(order) == list(range(spread.size))
    tail = order[MAX_SEARCHED:]
    assert (np.diff(values.std(axis=0)[tail]) <= 0).all()


@pytest.mark.parametrize("scores", [np.ones(30), -np.ones(30)])
def test_one_class_and_no_rows(scores):
    values = np.random.default_rng(0).normal(size=(30, 4))
    assert sorted(qwyc_order(values, scores, 0.0, np.ones(4), alpha=0.0)) == [0, 1, 2, 3]
    assert qwyc_order(values[:, :0], scores, 0.0, np.ones(0), alpha=0.0).size == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.ones(5)}, r"values \(N, U\)"),
        ({"scores": np.ones(4)}, r"values \(N, U\)"),
        ({"costs": np.ones(3)}, r"values \(N, U\)"),
        ({"costs": [1.0, 0.0]}, "costs of qwyc_order"),
        ({"costs": [1.0, np.nan]}, "costs of qwyc_order"),
        ({"values": np.full((5, 2), np.nan)}, "finite values"),
        ({"threshold": np.inf}, "finite values"),
        ({"alpha": 1.0}, "'alpha' parameter of qwyc_order"),
    ],
)
def test_arguments_are_checked(changes, message):
    good = {"values": np.ones((5, 2)), "scores": np.ones(5), "threshold": 0.0, "costs": np.ones(2), "alpha": 0.0}
    with pytest.raises(ValueError, match=message):
        qwyc_order(**(good | changes))
