"""The greedy order takes, at every step, the unit that explains most of the scores per cost."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan.cases import correlated, moments_of, one_each

from wald.plan.order import greedy_order, sorted_order

BRIEF = settings(max_examples=25)


def left_over(X, scores, terms):
    """Residual variance of least squares on these terms, as a share of each output's variance."""
    seen = np.column_stack([np.ones(len(X)), X[:, list(terms)]])
    residual = scores - seen @ np.linalg.lstsq(seen, scores, rcond=None)[0]
    return float((residual.var(axis=0) / scores.var(axis=0)).sum())


def plain(X, scores, units, costs):
    """Forward selection as a loop over regressions."""
    order, seen = [], []
    while len(order) < len(units):
        before = left_over(X, scores, seen)
        fall = {
            u: (before - left_over(X, scores, [*seen, *units[u]])) / costs[u]
            for u in range(len(units))
            if u not in order
        }
        best = max(fall, key=lambda u: fall[u])
        order.append(best)
        seen.extend(units[best])
    return order


def problem(seed, n=80, d=7, n_outputs=2):
    rng = np.random.default_rng(seed)
    X = correlated(n, d, seed)
    return X, X @ rng.normal(size=(d, n_outputs)) + rng.normal(size=(n, n_outputs)), rng.uniform(0.5, 2.0, size=d)


@BRIEF
@given(seed=st.integers(0, 10_000))
def test_every_pick_is_the_best_regression_that_one_more_term_gives(seed):
    X, scores, costs = problem(seed)
    found = greedy_order(moments_of(X, scores), one_each(7), costs, 7)
    assert found.tolist() == plain(X, scores, one_each(7), costs)


@BRIEF
@given(seed=st.integers(0, 10_000))
def test_units_of_several_terms_are_judged_as_a_whole(seed):
    X, scores, costs = problem(seed)
    units = [np.array(u) for u in ([4], [1, 6], [0, 2, 3], [5])]
    found = greedy_order(moments_of(X, scores), units, costs[:4], 4)
    assert found.tolist() == plain(X, scores, units, costs)


@pytest.mark.parametrize("seed", range(5))
def test_of_uncorrelated_terms_every_prefix_is_the_best_subset(seed):
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.normal(size=(50, 7)))[0]
    X = np.linalg.qr(np.column_stack([np.ones(50), X]))[0][:, 1:]  # uncorrelated, of mean 0
    scores = X @ rng.normal(size=(7, 1)) + 0.01 * rng.normal(size=(50, 1))
    order = greedy_order(moments_of(X, scores), one_each(7), np.ones(7), 7)
    for m in range(1, 7):
        best = min(itertools.combinations(range(7), m), key=lambda terms: left_over(X, scores, terms))
        assert set(order[:m].tolist()) == set(best)


def test_rows_may_come_in_any_order():
    X, scores, costs = problem(0)
    mixed = np.random.default_rng(1).permutation(len(X))
    one, other = (greedy_order(moments_of(X[r], scores[r]), one_each(7), costs, 7) for r in (slice(None), mixed))
    assert one.tolist() == other.tolist()


def test_units_of_features_and_outputs_do_not_matter():
    X, scores, costs = problem(3)
    size = 10.0 ** np.array([-6, 5, 0, 3, -2, 1, 8])
    one = greedy_order(moments_of(X, scores), one_each(7), costs, 7)
    other = greedy_order(moments_of(X * size, scores * [1e6, 1e-3]), one_each(7), costs * 7.0, 7)
    assert one.tolist() == other.tolist()


def test_what_gains_nothing_is_never_bought():
    """A constant term, a copy of a term, and a sum of other terms are never bought."""
    rng = np.random.default_rng(0)
    base = rng.normal(size=(200, 3))
    X = np.column_stack([np.full(200, 5.0), base, base[:, 1], base @ [1.0, 1.0, 1.0]])
    scores = base @ np.array([[3.0], [2.0], [1.0]]) + rng.normal(size=(200, 1))
    order = greedy_order(moments_of(X, scores), one_each(6), np.ones(6), 6).tolist()
    assert 0 not in order
    assert len({2, 4} & set(order)) <= 1
    assert len(order) == 3  # the others span all of it
    assert greedy_order(moments_of(X, scores), [np.array([0]), np.array([2, 4])], np.ones(2), 2).tolist() == [1]


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_scores_that_do_not_vary_buy_nothing(size):
    X, scores, costs = problem(0)
    flat = np.full_like(scores, 3.0 * size)
    assert greedy_order(moments_of(X, flat), one_each(7), costs, 7).size == 0
    one_varies = np.column_stack([flat[:, 0], scores[:, 0] * size])
    expected = greedy_order(moments_of(X, scores[:, :1]), one_each(7), costs, 7)
    assert greedy_order(moments_of(X, one_varies), one_each(7), costs, 7).tolist() == expected.tolist()


def test_one_row_buys_nothing_and_no_purchase_is_no_order():
    X, scores, costs = problem(0)
    assert greedy_order(moments_of(X[:1], scores[:1]), one_each(7), costs, 7).size == 0
    assert greedy_order(moments_of(X, scores), one_each(7), costs, 0).size == 0


def test_no_units_have_an_empty_order():
    moments = moments_of(np.empty((10, 0)), correlated(10, 2))
    assert greedy_order(moments, [], np.empty(0), 5).tolist() == []


def test_equal_gains_come_in_the_order_given():
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=4)))  # every gain is exactly the same
    assert greedy_order(moments_of(X, X.sum(axis=1, keepdims=True)), one_each(4), np.ones(4), 4).tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert sorted_order(np.ones(4), moments_of(X, X), one_each(4), np.ones(4)).tolist() == [0, 1, 2, 3]


def test_selection_ends_at_the_number_wanted_and_starts_with_those_set():
    X, scores, costs = problem(1)
    moments = moments_of(X, scores)
    free = greedy_order(moments, one_each(7), costs, 7).tolist()
    assert greedy_order(moments, one_each(7), costs, 3).tolist() == free[:3]
    last = free[-2:]
    led = greedy_order(moments, one_each(7), costs, 7, first=last).tolist()
    assert led[:2] == last
    assert sorted(led) == list(range(7))
    tail = {u: left_over(X, scores, [*last, u]) for u in free[:-2]}
    gain = {u: (left_over(X, scores, last) - left) / costs[u] for u, left in tail.items()}
    assert led[2] == max(gain, key=lambda u: gain[u])


def test_later_picks_in_blocks_are_the_same_where_terms_are_uncorrelated():
    n = 700
    gains = np.random.default_rng(0).permutation(np.linspace(1.0, 2.0, n))
    X = np.sqrt(n + 1.0) * np.linalg.qr(np.column_stack([np.ones(n + 1), np.eye(n + 1)[:, :n]]))[0][:, 1:]
    order = greedy_order(moments_of(X, X @ gains[:, None]), one_each(n), np.ones(n), n)
    np.testing.assert_array_equal(order, np.argsort(-gains))


def test_cost_divides_the_gain():
    X, scores, _ = problem(2)
    moments = moments_of(X, scores)
    favourite = int(greedy_order(moments, one_each(7), np.ones(7), 1)[0])
    costs = np.ones(7)
    costs[favourite] = 1e6
    assert greedy_order(moments, one_each(7), costs, 7)[-1] == favourite


@BRIEF
@given(seed=st.integers(0, 10_000))
def test_sorted_units_fall_by_spread_of_their_contribution_per_cost(seed):
    X, _, costs = problem(seed)
    coef = np.random.default_rng(seed).normal(size=7)
    units = [np.array(u) for u in ([4], [1, 6], [0, 2, 3], [5])]
    order = sorted_order(np.abs(coef), moments_of(X, X), units, costs[:4])
    worth = [sum(np.std(coef[j] * X[:, j]) for j in units[u]) / costs[u] for u in order]
    assert sorted(order) == [0, 1, 2, 3]
    assert worth == sorted(worth, reverse=True)
