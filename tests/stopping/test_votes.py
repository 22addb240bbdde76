"""The rule of votes: exact probabilities, the cheapest policy, and the disagreement that it allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog
from scipy.special import comb

from wald.stopping import VoteBoundary, check_stopping_rule
from wald.stopping.papers.vote_counts import VoteCounts
from wald.stopping.rules.checks import example_votes, example_walk


def played(n_members: int, counts: np.ndarray, stages, costs, low, high) -> tuple[float, float]:
    """Disagreement and cost of a policy, over all orders of all votes."""
    error = cost = 0.0
    for votes in product((0, 1), repeat=n_members):
        n = sum(votes)
        share = counts[n] / comb(n_members, n)
        for t, i in enumerate(stages):
            seen = sum(votes[:i])
            if seen <= low[t] or seen >= high[t]:
                error += share * ((seen >= high[t]) != (2 * n > n_members))
                cost += share * costs[t]
                break
        else:
            cost += share * costs[-1]
    return error, cost


@pytest.mark.parametrize("n_members", [5, 8])
@pytest.mark.parametrize("seed", range(4))
def test_probabilities_are_those_of_all_orders(n_members: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.dirichlet(np.ones(n_members + 1))
    stages = np.sort(rng.choice(np.arange(1, n_members), 3, replace=False))
    costs = np.cumsum(rng.random(4) + 0.1)
    problem = VoteCounts(counts, stages, costs)
    low = np.array([int(rng.integers(-1, i // 2 + 1)) for i in stages])
    high = np.array([int(rng.integers(k + 1, i + 2)) for i, k in zip(stages, low, strict=True)])
    assert problem.evaluate(low, high) == pytest.approx(played(n_members, counts, stages, costs, low, high))
    policy = problem.best(0.05)
    again = played(n_members, counts, stages, costs, policy.low, policy.high)
    assert (policy.error, policy.cost) == pytest.approx(again)


@pytest.mark.parametrize("sides", [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("seed", range(3))
def test_no_other_boundary_is_cheaper(seed: int, sides: tuple[bool, bool]) -> None:
    rng = np.random.default_rng(seed)
    counts, stages = rng.dirichlet(np.full(7, 0.7)), np.array([2, 3, 5])
    problem = VoteCounts(counts, stages, np.array([2.0, 3.0, 5.0, 6.0]))
    for alpha in (1e-6, 0.02, 0.1):
        policy = problem.best(alpha, *sides)
        assert policy.error <= alpha
        each = [
            [
                (a, b)
                for a in range(-1, i + 1)
                for b in range(a + 1, i + 2)
                if (sides[0] or a < 0) and (sides[1] or b > i)
            ]
            for i in stages
        ]
        costs = []
        for pairs in product(*each):
            error, cost = problem.evaluate(*np.array(pairs).T)
            if error <= policy.error + 1e-12:
                costs.append(cost)
        assert policy.cost == pytest.approx(min(costs))


def linear_programme(n_members: int, counts: np.ndarray, alpha: float) -> float:
    """Least expected number of votes of any policy, also of random ones (Kalman and Moscovich, stages everywhere)."""
    states = [(i, j) for i in range(n_members + 1) for j in range(i + 1)]
    number = {state: k for k, state in enumerate(states)}
    # variables: the share that stops with answer 0, that stops with answer 1, and that goes on
    rows, columns, values, right = [], [], [], []
    for (i, j), k in number.items():
        terms = [(3 * k, 1.0), (3 * k + 1, 1.0), (3 * k + 2, 1.0)]
        if j <= i - 1:
            terms.append((3 * number[i - 1, j] + 2, -(i - j) / i))
        if i > 0 and j > 0:
            terms.append((3 * number[i - 1, j - 1] + 2, -j / i))
        rows += [k] * len(terms)
        columns += [c for c, _ in terms]
        values += [v for _, v in terms]
        right.append(1.0 if i == 0 else 0.0)
    cost, wrong = np.zeros(3 * len(states)), np.zeros(3 * len(states))
    upper = np.full(3 * len(states), np.inf)
    for (i, j), k in number.items():
        for n, share in enumerate(counts):
            reached = share * comb(n, j) * comb(n_members - n, i - j) / comb(n_members, i)
            cost[3 * k : 3 * k + 2] += i * reached
            wrong[3 * k + (0 if 2 * n > n_members else 1)] += reached
        if i == n_members:
            upper[3 * k + 2] = 0.0
    equal = sparse.csr_matrix((values, (rows, columns)))
    found = linprog(cost, wrong[None], [alpha], equal, right, np.column_stack([np.zeros_like(upper), upper]))
    assert found.success
    return float(found.fun)


@pytest.mark.parametrize("seed", range(3))
def test_not_even_a_random_policy_is_cheaper(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_members = 11
    counts = np.bincount(rng.binomial(n_members, rng.beta(0.3, 0.3, 500)), minlength=n_members + 1) / 500
    problem = VoteCounts(counts, np.arange(1, n_members), np.arange(1.0, n_members + 1))
    for alpha in (0.001, 0.01, 0.05):
        policy = problem.best(alpha)
        assert policy.error <= alpha
        assert policy.cost == pytest.approx(linear_programme(n_members, counts, policy.error), rel=1e-6)


def test_two_hundred_members_are_exact_in_floating_point() -> None:
    counts = np.full(201, 1 / 201)
    stages = np.unique(np.geomspace(1, 199, 30).astype(int))
    problem = VoteCounts(counts, stages, np.r_[stages, 200.0])
    never = problem.evaluate(np.full(len(stages), -1), stages + 1)
    assert never == pytest.approx((0.0, 200.0))
    policy = problem.best(0.001)
    assert 0.0005 < policy.error <= 0.001
    assert policy.cost < 60


@pytest.mark.parametrize("alpha", [0.001, 0.01, 0.05])
def test_simulated_disagreement_is_at_most_alpha(alpha: float) -> None:
    rng = np.random.default_rng(0)

    def walk(n_rows: int):
        n_members, stages = 101, np.array([*range(1, 101, 5), 101])
        share = rng.beta(0.3, 0.5, size=(n_rows, 1))
        sums = np.where(rng.random((n_rows, n_members)) < share, 1.0, -1.0).cumsum(axis=1)[:, stages - 1] / n_members
        return replace(
            example_votes(),
            full=(sums[:, -1] > 0).astype(np.int32),
            full_scores=sums[:, -1:],
            stages=stages,
            stage_costs=stages.astype(float),
            margins=sums[:, :-1],
            imputed=np.zeros(len(stages) - 1),
            remainder_low=None,
            remainder_high=None,
            slack=None,
        )

    boundary = VoteBoundary(alpha).boundary(walk(20_000))
    fresh = walk(100_000)
    codes, stage = fresh.stage_scores.leave(*boundary.thresholds(1.0, np.float64))
    wrong = np.count_nonzero(codes != fresh.full)
    assert 0.3 * alpha < wrong / 100_000 < 1.25 * alpha  # the counts of the plan rows are a sample
    assert fresh.stage_costs[stage].mean() < 30
    cautious = fresh.stage_scores.leave(*boundary.thresholds(2.0, np.float64))[0]
    assert np.count_nonzero(cautious != fresh.full) < wrong


def test_thresholds_are_those_of_the_policy() -> None:
    walk = example_votes()
    counts = np.round((walk.full_scores[:, 0] * 24 + 24) / 2).astype(int)
    weighed = np.bincount(counts, minlength=25) + 1 / 25
    policy = VoteCounts(weighed / weighed.sum(), walk.stages[:-1], walk.stage_costs).best(0.02)
    low, high = VoteBoundary(0.02).boundary(walk).thresholds(1.0, np.float64)
    for t, i in enumerate(walk.stages[:-1]):
        votes = np.arange(i + 1)
        z = (2 * votes - i) / 24 + walk.imputed[t]
        assert votes[z > high[t]].tolist() == list(range(policy.high[t], i + 1))
        assert votes[z < low[t]].tolist() == list(range(policy.low[t] + 1))


def test_the_contract_of_rules() -> None:
    check_stopping_rule(VoteBoundary())
    check_stopping_rule(VoteBoundary(alpha=0.3, sides="negative"))


def test_walks_that_are_no_votes_are_refused() -> None:
    votes = example_votes()
    for walk, words in (
        (example_walk(), "these scores are no means of votes"),
        (example_walk(n_classes=3), "is for votes on two classes"),
        (replace(votes, threshold=0.25), "these scores are no means of votes"),
        (replace(votes, stages=np.array([2, 6, 12, 18, 201])), "at most 200 members. Got 201"),
    ):
        with pytest.raises(ValueError, match=words):
            VoteBoundary().boundary(walk)
    for params in ({"alpha": 0}, {"alpha": 1.0}, {"sides": "left"}):
        with pytest.raises(ValueError, match="parameter of VoteBoundary"):
            VoteBoundary(**params)
